#include "role/cli/serve_flags.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "base/file_error.h"
#include "base/text.h"
#include "base/wording.h"
#include "codec/settings_yaml.h"
#include "role/cli/arguments.h"
#include "role/cli/wrong_use.h"
#include "sim/file.h"

namespace tessera::cli {
namespace {

constexpr const char* kFooter =
    "examples:\n"
    "  tessera serve --extender --kubeconfig ~/.kube/config\n"
    "  tessera serve --scheduler --scheduler-name tessera --scheduler-name batch=binpack\n"
    "  tessera serve --extender --listen 0.0.0.0:39999 --leader-elect \\\n"
    "      --signing-key-file /etc/tessera/signing.key --log-format json\n"
    "  tessera serve --config /etc/tessera/serve.yaml\n\n"
    "A file has the same keys (listen: 0.0.0.0:39999); flags win over it. Within a pod neither\n"
    "file nor kubeconfig is needed. The port is gpushare's, so that a kube-scheduler configured\n"
    "for it finds us; only this machine is listened to unless --listen says otherwise, since\n"
    "without --client-ca whoever reaches the port is answered.\n\n"
    "SIGTERM and SIGINT: binds under way end, then the program does; twice: at once.\n"
    "Exit codes: 0 stopped as asked, 2 wrong use or a file that is not good, 3 the port is taken\n"
    "or a file cannot be read. An API server that is away is waited for.";

CLI::Option* file_option(CLI::App& app, const char* name, std::string& target, const char* about) {
    return app.add_option(name, target, about)->type_name("FILE");
}
CLI::Option* time_option(CLI::App& app, const char* name, std::string& target, const char* about) {
    return app.add_option(name, target, about)->type_name("TIME");
}

void define_access(CLI::App& app, ServeFlags& flags) {
    file_option(app, "--config", flags.config, "a YAML file with these flags as keys");
    file_option(app, "--kubeconfig", flags.kubeconfig,
                "how to reach the API server (KUBECONFIG, ~/.kube/config, the pod's account)");
    app.add_option("--context", flags.context, "a context of that file (its current one)")
        ->type_name("NAME");
    app.add_option("--listen", flags.listen, "where to listen (127.0.0.1:39999)")
        ->type_name("ADDRESS:PORT");
    auto* cert = file_option(app, "--tls-cert", flags.tls_cert, "serve TLS with this chain, PEM");
    auto* key = file_option(app, "--tls-key", flags.tls_key, "and this key");
    cert->needs(key);
    key->needs(cert);
    file_option(app, "--client-ca", flags.client_ca,
                "demand client certificates of this authority, except for probes")
        ->needs(cert);
}

void define_decisions(CLI::App& app, ServeFlags& flags) {
    file_option(app, "--signing-key-file", flags.signing_key_file,
                "sign placement records with this key, shared by all copies");
    app.add_option("--policy", flags.policies,
                   "the policy for pods of a dialect: gpushare=binpack, elastic=mine.yaml")
        ->type_name("DIALECT=POLICY")
        ->expected(1)
        ->take_all();
    one_of(app.add_option("--gpushare-unit", flags.gpushare_unit,
                          "unit of aliyun.com/gpu-mem (as the nodes show it)"),
           {"MiB", "GiB"});
    time_option(app, "--hold-for", flags.hold_for,
                "how long a share waits to be bound, longer than kube-scheduler takes (20s)");
}

void define_election(CLI::App& app, ServeFlags& flags) {
    auto* elect = app.add_flag("--leader-elect", flags.leader_elect,
                               "of several copies one decides, the others stand by");
    app.add_option("--lease-namespace", flags.lease_namespace, "where the Lease is (our own)")
        ->type_name("NAMESPACE")
        ->needs(elect);
    app.add_option("--lease-name", flags.lease_name, "its name (tessera-extender)")
        ->type_name("NAME")
        ->needs(elect);
    time_option(app, "--lease-duration", flags.lease_duration,
                "a leader not heard of for so long is replaced (10s)")
        ->needs(elect);
    time_option(app, "--lease-renew-deadline", flags.lease_renew_deadline,
                "one that could not renew for so long stops (7/10 of it)")
        ->needs(elect);
    time_option(app, "--lease-retry", flags.lease_retry, "how often it is looked after (1/5)")
        ->needs(elect);
}

void define_limits(CLI::App& app, ServeFlags& flags) {
    app.add_option("--max-body", flags.max_body, "largest request (64Mi)")->type_name("SIZE");
    whole_number(app.add_option("--max-connections", flags.max_connections,
                                "connections at once; more wait (1024)"),
                 1, 65'536);
    whole_number(app.add_option("--threads", flags.threads, "threads that answer (2)"), 1, 256);
    time_option(app, "--request-timeout", flags.request_timeout,
                "for a request to arrive, and an answer to be taken (30s)");
    time_option(app, "--idle-timeout", flags.idle_timeout, "between requests (120s)");
    time_option(app, "--stop-timeout", flags.stop_timeout,
                "for what is under way when asked to stop (10s)");
    one_of(app.add_option("--log-level", flags.log_level, "what is logged (info)"),
           {"debug", "info", "warning", "error", "off"});
    one_of(app.add_option("--log-format", flags.log_format, "how, on standard error (text)"),
           {"text", "json"});
}

void define(CLI::App& app, ServeFlags& flags) {
    app.footer(kFooter);
    app.add_flag("--extender", flags.extender, "answer a stock kube-scheduler's extender calls");
    auto* scheduler = app.add_flag("--scheduler", flags.scheduler,
                                   "schedule pods that name us, without kube-scheduler");
    app.add_option("--scheduler-name", flags.scheduler_names,
                   "a name that pods call us by, and its policy (tessera, kubeshare-scheduler, "
                   "gpu-scheduler, custom-scheduler)")
        ->type_name("NAME[=POLICY]")
        ->expected(1)
        ->take_all()
        ->needs(scheduler);
    define_access(app, flags);
    define_decisions(app, flags);
    define_election(app, flags);
    define_limits(app, flags);
}

constexpr const char* kAbout = "Run doors of the scheduler against a Kubernetes cluster.";
constexpr const char* kName = "tessera serve";

// The file's settings as arguments, those left out that the command line gives.
Expected<Arguments> arguments_of(const std::string& file, const CLI::App& given) {
    TESSERA_TRY(const std::string text, read_file(file));
    auto settings = read_settings_yaml(text);
    if (!settings) {
        return tl::unexpected(in_file(file, std::move(settings.error())));
    }
    std::vector<std::string_view> known;
    for (const CLI::Option* option : given.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            if (name != "help" && name != "config") {
                known.push_back(name);
            }
        }
    }
    Arguments arguments;
    for (const Setting& setting : *settings) {
        if (std::find(known.begin(), known.end(), setting.key) == known.end()) {
            return fail(ErrorKind::invalid,
                        "{}:{}: {}: no such setting;{} the flags of tessera serve are the settings",
                        file, setting.line, in_quotes(setting.key),
                        did_you_mean(setting.key, known));
        }
        if (given.get_option("--" + setting.key)->count() == 0) {
            for (const std::string& value : setting.values) {
                arguments.push_back(fmt::format("--{}={}", setting.key, value));
            }
        }
    }
    return arguments;
}

}  // namespace

std::variant<ServeFlags, int> parse_serve_flags(const Arguments& arguments) {
    ServeFlags flags;
    CLI::App app(kAbout, kName);
    define(app, flags);
    // What the command line leaves out the file may have: what belongs together is checked then.
    const bool whole = std::none_of(arguments.begin(), arguments.end(), [](const auto& word) {
        return word == "--config" || word.starts_with("--config=");
    });
    if (!whole) {
        for (CLI::Option* option : app.get_options()) {
            for (CLI::Option* needed : std::set<CLI::Option*>(option->get_needs())) {
                option->remove_needs(needed);
            }
        }
    }
    if (const auto code = parse(app, arguments)) {
        return *code;
    }
    if (whole) {
        return flags;
    }
    auto from_file = arguments_of(flags.config, app);
    if (!from_file) {
        return report_error(from_file.error());
    }
    from_file->insert(from_file->end(), arguments.begin(), arguments.end());
    ServeFlags both;
    CLI::App joined(kAbout, kName);
    define(joined, both);
    try {
        joined.parse(std::vector<std::string>(from_file->rbegin(), from_file->rend()));
    } catch (const CLI::ParseError& error) {
        return report_error(
            in_file(flags.config, Error{ErrorKind::invalid, wrong_use(joined, error)}));
    }
    return both;
}

Expected<Nanoseconds> parse_duration(std::string_view flag, std::string_view text) {
    struct Unit {
        std::string_view name;
        std::int64_t nanoseconds;
    };
    constexpr std::array<Unit, 4> kUnits{
        {{"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}}};
    constexpr std::int64_t kMost = 24 * 3'600'000'000'000;
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    for (const Unit& unit : kUnits) {
        if (error == std::errc() && number > 0 && std::string_view(stop, end) == unit.name &&
            number <= kMost / unit.nanoseconds) {
            return Nanoseconds(number * unit.nanoseconds);
        }
    }
    return fail(ErrorKind::invalid,
                "{}: {} is not accepted; a time such as 500ms, 20s or 5m, up to 24h, is", flag,
                in_quotes(text));
}

Expected<ListenAddress> parse_listen(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    std::string_view address = text.substr(0, colon == std::string_view::npos ? 0 : colon);
    const std::string_view port = colon == std::string_view::npos ? "" : text.substr(colon + 1);
    const bool bracketed = address.starts_with('[') && address.ends_with(']');
    std::uint16_t number = 0;
    const char* end = port.data() + port.size();
    const auto [stop, error] = std::from_chars(port.data(), end, number);
    if (port.empty() || error != std::errc() || stop != end ||
        (!bracketed && address.find(':') != std::string_view::npos)) {
        return fail(ErrorKind::invalid,
                    "--listen: {} is not accepted; 127.0.0.1:39999, [::1]:39999 or, for all "
                    "addresses, 0.0.0.0:39999 is",
                    in_quotes(text));
    }
    if (bracketed) {
        address = address.substr(1, address.size() - 2);
    }
    return ListenAddress{std::string(address.empty() ? "0.0.0.0" : address), number};
}

}  // namespace tessera::cli
