#include "sim/policy_source.h"

#include <algorithm>

#include "base/text.h"
#include "codec/policy_yaml.h"
#include "policy/composed_policy.h"
#include "sim/file.h"

namespace tessera {
namespace {

bool is_shipped(std::string_view name) {
    const auto known = known_policies();
    return std::any_of(known.begin(), known.end(),
                       [&](const PolicyInfo& info) { return info.name == name; });
}

}  // namespace

bool PolicySource::is_file(std::string_view name) {
    return name.find('/') != std::string_view::npos || name.ends_with(".yaml") ||
           name.ends_with(".yml");
}

Expected<PolicySource> PolicySource::open(const std::string& name) {
    PolicySource source;
    source.given_ = name;
    source.name_ = name;
    if (is_file(name)) {
        TESSERA_TRY(source.spec_, read_policy_file(name));
        source.name_ = source.spec_->name.value;
    }
    return source;
}

std::string_view PolicySource::shipped() const {
    if (!spec_) {
        return name_;
    }
    return spec_->base ? std::string_view(spec_->base->value) : std::string_view();
}

Expected<std::unique_ptr<Policy>> PolicySource::make(const PolicyContext& context) const {
    return spec_ ? build_policy(*spec_, context) : make_policy(name_, context);
}

Expected<PolicySpec> read_policy_file(const std::string& path) {
    TESSERA_TRY(const std::string text, read_file(path));
    TESSERA_TRY(PolicySpec spec, parse_policy_yaml(text, path));
    TESSERA_CHECK(check_policy(spec));
    if (is_shipped(spec.name.value)) {
        return fail(ErrorKind::invalid,
                    "{}:{}: name: {} is a shipped policy's name; give this policy one of its own, "
                    "such as my-{}",
                    path, spec.name.line, in_quotes(spec.name.value), spec.name.value);
    }
    return spec;
}

Expected<void> check_names_differ(std::span<const PolicySource> policies) {
    for (std::size_t i = 0; i < policies.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const PolicySource& one = policies[j];
            const PolicySource& other = policies[i];
            if (one.given() == other.given()) {
                return fail(ErrorKind::invalid, "--policy: {} is there twice; name it once",
                            one.given());
            }
            if (one.name() == other.name()) {
                return fail(ErrorKind::invalid,
                            "--policy: {} and {} both have the name {}; results go by name, so "
                            "give one of them another, in its file after name:",
                            one.given(), other.given(), in_quotes(one.name()));
            }
        }
    }
    return {};
}

}  // namespace tessera
