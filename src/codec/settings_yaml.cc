#include "codec/settings_yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "base/text.h"
#include "codec/yaml_fault.h"

namespace tessera {
namespace {

constexpr std::size_t kFileBytesMax = 1U << 20;

int line_of(const YAML::Node& node) { return std::max(0, node.Mark().line) + 1; }

Expected<std::string> word(const YAML::Node& node, const std::string& key) {
    if (!node.IsScalar()) {
        return fail(ErrorKind::invalid, "line {}: {}: a word or a number is accepted here",
                    line_of(node), key);
    }
    return node.Scalar();
}

Expected<std::vector<std::string>> values_of(const YAML::Node& node, const std::string& key) {
    std::vector<std::string> values;
    if (node.IsSequence()) {
        for (const auto& item : node) {
            TESSERA_TRY(std::string value, word(item, key));
            values.push_back(std::move(value));
        }
    } else if (node.IsMap()) {
        for (const auto& entry : node) {
            TESSERA_TRY(const std::string name, word(entry.first, key));
            TESSERA_TRY(const std::string value, word(entry.second, key));
            values.push_back(fmt::format("{}={}", name, value));
        }
    } else {
        TESSERA_TRY(std::string value, word(node, key));
        values.push_back(std::move(value));
    }
    return values;
}

Expected<std::vector<Setting>> read_map(const YAML::Node& root) {
    std::vector<Setting> settings;
    if (root.IsNull()) {
        return settings;  // an empty file, or one of comments
    }
    if (!root.IsMap()) {
        return fail(ErrorKind::invalid, "line {}: settings are a map of keys and values",
                    line_of(root));
    }
    for (const auto& entry : root) {
        if (!entry.first.IsScalar()) {
            return fail(ErrorKind::invalid, "line {}: a key is a word", line_of(entry.first));
        }
        Setting setting{entry.first.Scalar(), {}, line_of(entry.first)};
        const auto same = [&](const Setting& other) { return other.key == setting.key; };
        if (std::any_of(settings.begin(), settings.end(), same)) {
            return fail(ErrorKind::invalid, "line {}: {} is there twice", setting.line,
                        in_quotes(setting.key));
        }
        TESSERA_TRY(setting.values, values_of(entry.second, in_quotes(setting.key)));
        settings.push_back(std::move(setting));
    }
    return settings;
}

}  // namespace

Expected<std::vector<Setting>> read_settings_yaml(std::string_view text) {
    if (text.size() > kFileBytesMax) {
        return fail(ErrorKind::invalid, "the file has {} bytes; at most {} are read", text.size(),
                    kFileBytesMax);
    }
    if (const auto fault = nul_byte(text)) {
        return fail(ErrorKind::invalid, "line {}: {}", fault->line, fault->reason);
    }
    try {
        return read_map(YAML::Load(std::string(text)));
    } catch (const YAML::Exception& error) {
        const YamlFault fault = yaml_fault(error, text);
        return fail(ErrorKind::invalid, "line {}: this is not valid YAML: {}", fault.line,
                    fault.reason);
    }
}

}  // namespace tessera
