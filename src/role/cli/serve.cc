// tessera serve: the extender and the scheduler against a Kubernetes cluster.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <variant>

#include "base/file_error.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/wording.h"
#include "codec/placement_signature.h"
#include "kube/access.h"
#include "role/cli/command.h"
#include "role/cli/serve_flags.h"
#include "role/intake/live_policies.h"
#include "role/serve/service.h"
#include "role/serve/stop_signals.h"
#include "sim/file.h"

namespace tessera::cli {
namespace {

constexpr std::int64_t kBodyMost = std::int64_t{1} << 30;

Expected<void> set_server(const ServeFlags& flags, HttpServerOptions& server) {
    TESSERA_TRY(const ListenAddress listen, parse_listen(flags.listen));
    server.address = listen.address;
    server.port = listen.port;
    server.threads = static_cast<int>(flags.threads);
    server.tls = {.certificate_file = flags.tls_cert,
                  .key_file = flags.tls_key,
                  .client_ca_file = flags.client_ca};
    const auto body = Quantity::parse(flags.max_body);
    const auto bytes = body.and_then([](const Quantity& size) { return size.value_down(); });
    if (!bytes || *bytes < 1024 || *bytes > kBodyMost) {
        return fail(ErrorKind::invalid,
                    "--max-body: {} is not accepted; a size from 1Ki to 1Gi such as 64Mi is",
                    in_quotes(flags.max_body));
    }
    server.max_body_bytes = static_cast<std::size_t>(*bytes);
    server.max_connections = flags.max_connections;
    TESSERA_TRY(server.body_timeout, parse_duration("--request-timeout", flags.request_timeout));
    server.header_timeout = std::min(server.header_timeout, server.body_timeout);
    server.write_timeout = server.body_timeout;
    TESSERA_TRY(server.idle_timeout, parse_duration("--idle-timeout", flags.idle_timeout));
    return {};
}

// By name or as a file, of which `flag` speaks; it is good now.
Expected<void> add_policy(std::string_view flag, const std::string& given, LivePolicies& policies) {
    if (auto added = policies.add(given); !added) {
        Error error = std::move(added.error());
        error.kind = error.kind == ErrorKind::environment ? error.kind : ErrorKind::invalid;
        return tl::unexpected(std::move(error).within(flag));
    }
    return {};
}

// "DIALECT=POLICY", the policy by name or as a file; opened once to see that it is good.
Expected<void> set_policies(const ServeFlags& flags, ServiceOptions& service) {
    service.policies = std::make_shared<LivePolicies>();
    std::vector<std::string_view> names;
    for (const Dialect& dialect : dialects()) {
        names.push_back(dialect.name);
    }
    for (const std::string& text : flags.policies) {
        const std::size_t equals = text.find('=');
        const std::string name = text.substr(0, equals);
        const Dialect* dialect = find_dialect(name);
        if (equals == std::string::npos || dialect == nullptr) {
            return fail(ErrorKind::invalid,
                        "--policy: {} is not accepted;{} DIALECT=POLICY is, such as "
                        "gpushare=binpack; the dialects are {}",
                        in_quotes(text), did_you_mean(name, names), fmt::join(names, ", "));
        }
        const std::string given = text.substr(equals + 1);
        TESSERA_CHECK(add_policy("--policy", given, *service.policies));
        if (!service.mirror.policies.emplace(dialect->name, given).second) {
            return fail(ErrorKind::invalid, "--policy: {} is there more than once", dialect->name);
        }
    }
    return {};
}

Expected<void> set_mirror(const ServeFlags& flags, MirrorOptions& mirror) {
    TESSERA_TRY(mirror.hold_for, parse_duration("--hold-for", flags.hold_for));
    if (!flags.gpushare_unit.empty()) {
        mirror.gpushare_unit = flags.gpushare_unit == "MiB" ? MemoryUnit::mib : MemoryUnit::gib;
    }
    if (!flags.signing_key_file.empty()) {
        TESSERA_TRY(const std::string text, read_file(flags.signing_key_file));
        auto key = read_signing_key(text);
        if (!key) {
            return tl::unexpected(in_file(flags.signing_key_file, std::move(key.error())));
        }
        mirror.signing_key = std::move(*key);
    }
    return {};
}

// The ancestors' schedulers, whose pods find us by their names, and our own.
StringMap usual_scheduler_names() {
    return {{"tessera", ""},
            {"kubeshare-scheduler", "kubeshare"},
            {"gpu-scheduler", "keti"},
            {"custom-scheduler", "tessera"}};
}

// As the API server accepts it in spec.schedulerName.
bool is_scheduler_name(std::string_view name) {
    const auto good = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    };
    return !name.empty() && std::all_of(name.begin(), name.end(), good);
}

// "NAME" or "NAME=POLICY", the policy by name or as a file.
Expected<void> set_scheduler(const ServeFlags& flags, ServiceOptions& service) {
    const StringMap usual = usual_scheduler_names();
    SchedulerOptions scheduler;
    for (const std::string& text : flags.scheduler_names) {
        const std::size_t equals = text.find('=');
        const std::string name = text.substr(0, equals);
        if (!is_scheduler_name(name)) {
            return fail(ErrorKind::invalid,
                        "--scheduler-name: {} is not accepted; NAME or NAME=POLICY is, such as "
                        "batch=binpack, the name of letters, digits, dots and dashes",
                        in_quotes(text));
        }
        const std::string* known = find(usual, name);
        std::string policy = known == nullptr ? "" : *known;
        if (equals != std::string::npos) {
            policy = text.substr(equals + 1);
            TESSERA_CHECK(add_policy("--scheduler-name", policy, *service.policies));
        }
        if (!scheduler.names.emplace(name, policy).second) {
            return fail(ErrorKind::invalid, "--scheduler-name: {} is there more than once",
                        in_quotes(name));
        }
    }
    if (scheduler.names.empty()) {
        scheduler.names = usual;
    }
    service.scheduler = std::move(scheduler);
    return {};
}

Expected<LeaseOptions> lease_options(const ServeFlags& flags, const std::string& own_space) {
    constexpr std::int64_t kSecond = 1'000'000'000;
    LeaseOptions lease;
    lease.space = flags.lease_namespace.empty() ? own_space : flags.lease_namespace;
    lease.name = flags.lease_name;
    lease.identity = process_identity();
    TESSERA_TRY(lease.duration, parse_duration("--lease-duration", flags.lease_duration));
    if (lease.duration.value() % kSecond != 0 || lease.duration.value() < 2 * kSecond) {
        return fail(ErrorKind::invalid,
                    "--lease-duration: {} is not accepted; whole seconds, at least 2s, are",
                    in_quotes(flags.lease_duration));
    }
    lease.renew_deadline = Nanoseconds(lease.duration.value() * 7 / 10);
    lease.retry = Nanoseconds(lease.duration.value() / 5);
    if (!flags.lease_renew_deadline.empty()) {
        TESSERA_TRY(lease.renew_deadline,
                    parse_duration("--lease-renew-deadline", flags.lease_renew_deadline));
    }
    if (!flags.lease_retry.empty()) {
        TESSERA_TRY(lease.retry, parse_duration("--lease-retry", flags.lease_retry));
    }
    if (lease.renew_deadline >= lease.duration || lease.retry * 2 >= lease.renew_deadline) {
        return fail(
            ErrorKind::invalid,
            "--lease-duration has to be longer than --lease-renew-deadline, and that longer "
            "than twice --lease-retry: 10s, 7s and 2s for instance");
    }
    return lease;
}

struct Plan {
    ServiceOptions service;
    LogOptions log;
    Nanoseconds stop_patience{};
    std::string access;  // for people
};

Expected<Plan> plan_of(const ServeFlags& flags) {
    if (!flags.extender && !flags.scheduler) {
        return fail(ErrorKind::invalid,
                    "serve: which door? --extender answers a stock kube-scheduler, --scheduler "
                    "schedules by itself; tessera serve --help explains the flags");
    }
    Plan plan;
    plan.service.extender = flags.extender;
    TESSERA_TRY(plan.log.level, parse_log_level(flags.log_level));
    TESSERA_TRY(plan.log.format, parse_log_format(flags.log_format));
    TESSERA_TRY(plan.stop_patience, parse_duration("--stop-timeout", flags.stop_timeout));
    TESSERA_CHECK(set_server(flags, plan.service.server));
    TESSERA_CHECK(set_mirror(flags, plan.service.mirror));
    TESSERA_CHECK(set_policies(flags, plan.service));
    if (flags.scheduler) {
        TESSERA_CHECK(set_scheduler(flags, plan.service));
    }
    TESSERA_TRY(KubeAccess access, find_kube_access({flags.kubeconfig, flags.context, {}}));
    plan.service.api = std::move(access.http);
    plan.access = std::move(access.source);
    // Copies that start together must not draw the same waits.
    plan.service.seed = std::random_device()();
    plan.service.binder.seed = plan.service.seed;
    plan.service.version = std::string(program_version());
    if (flags.leader_elect) {
        TESSERA_TRY(plan.service.election, lease_options(flags, access.space));
        plan.service.election->seed = plan.service.seed;
    }
    return plan;
}

std::string shown_address(const HttpServerOptions& server, std::uint16_t port) {
    const bool six = server.address.find(':') != std::string::npos;
    return fmt::format("{}://{}{}{}:{}", server.tls.certificate_file.empty() ? "http" : "https",
                       six ? "[" : "", server.address, six ? "]" : "", port);
}

int run(Plan plan) {
    StopSignals signals;
    Log log(std::move(plan.log));
    if (plan.service.mirror.signing_key.empty()) {
        log.warning(
            "placement records are not signed: whoever may annotate pods can forge them; "
            "give --signing-key-file");
    }
    const HttpServerOptions server = plan.service.server;
    const std::string_view doors = !plan.service.scheduler ? "extender"
                                   : plan.service.extender ? "scheduler and extender"
                                                           : "scheduler";
    log.info("starting", {{"api", plan.service.api.base_url}, {"by", plan.access}});
    auto service = Service::start(std::move(plan.service), log);
    if (!service) {
        return report_error(service.error());
    }
    fmt::print("tessera: {}, listening on {}\n", doors, shown_address(server, (*service)->port()));
    std::fflush(stdout);
    const int signal = signals.wait();
    log.info("stopping", {{"signal", signal}});
    const bool whole = (*service)->stop(plan.stop_patience);
    log.write(whole ? LogLevel::info : LogLevel::warning,
              whole ? "stopped" : "stopped; something was cut off");
    return kExitFine;
}

}  // namespace

int run_serve(const Arguments& arguments) {
    auto flags = parse_serve_flags(arguments);
    if (const int* code = std::get_if<int>(&flags)) {
        return *code;
    }
    auto plan = plan_of(std::get<ServeFlags>(flags));
    return plan ? run(std::move(*plan)) : report_error(plan.error());
}

}  // namespace tessera::cli
