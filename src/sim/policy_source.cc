#include "sim/policy_source.h"

#include "codec/policy_yaml.h"
#include "policy/composed_policy.h"
#include "sim/file.h"

namespace tessera {

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
    return spec;
}

}  // namespace tessera
