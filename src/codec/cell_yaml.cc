#include "codec/cell_yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <set>
#include <string>

#include "base/text.h"
#include "codec/yaml_fault.h"

namespace tessera {
namespace {

constexpr std::size_t kFileBytesMax = 16U << 20;

int line_of(const YAML::Node& node) { return node.Mark().line + 1; }

// A map's entries with known keys, each at most once.
class Fields {
  public:
    static Expected<Fields> read(const YAML::Node& map, std::string_view where,
                                 std::initializer_list<std::string_view> known) {
        if (!map.IsMap()) {
            return fail(ErrorKind::invalid, "line {}: {} is not a map of keys and values",
                        line_of(map), where);
        }
        std::set<std::string, std::less<>> seen;
        for (const auto& entry : map) {
            const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
            if (std::ranges::find(known, key) == known.end()) {
                return fail(ErrorKind::invalid, "line {}: {} has no key {}; it may have {}",
                            line_of(entry.first), where, in_quotes(key), fmt::join(known, ", "));
            }
            if (!seen.insert(key).second) {
                return fail(ErrorKind::invalid, "line {}: {}.{} is there twice",
                            line_of(entry.first), where, key);
            }
        }
        return Fields(map, std::string(where));
    }

    // Absent and null are the same, as in KubeShare.
    YAML::Node find(const char* key) const {
        const YAML::Node value = map_[key];
        return value && !value.IsNull() ? value : YAML::Node(YAML::NodeType::Undefined);
    }

    Expected<std::string> text(const char* key) const {
        const YAML::Node value = find(key);
        if (!value.IsDefined()) {
            return std::string();
        }
        if (!value.IsScalar()) {
            return fail(ErrorKind::invalid, "line {}: {}.{} is not a single text", line_of(value),
                        where_, key);
        }
        return value.Scalar();
    }

    Expected<std::optional<std::int64_t>> integer(const char* key) const {
        const YAML::Node value = find(key);
        if (!value.IsDefined()) {
            return std::nullopt;
        }
        const std::string text = value.IsScalar() ? value.Scalar() : "";
        std::int64_t number = 0;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, number);
        if (error != std::errc() || stop != end) {
            return fail(ErrorKind::invalid, "line {}: {}.{}: {} is not a whole number",
                        line_of(value), where_, key,
                        value.IsScalar() ? in_quotes(text) : "a list or map");
        }
        return number;
    }

    Expected<bool> flag(const char* key) const {
        const YAML::Node value = find(key);
        bool result = false;
        if (value.IsDefined() && !YAML::convert<bool>::decode(value, result)) {
            return fail(ErrorKind::invalid, "line {}: {}.{} is neither true nor false",
                        line_of(value), where_, key);
        }
        return result;
    }

  private:
    Fields(YAML::Node map, std::string where) : map_(std::move(map)), where_(std::move(where)) {}

    const YAML::Node map_;
    std::string where_;
};

class Reader {
  public:
    explicit Reader(const CellLimits& limits) : limits_(limits) {}

    Expected<CellConfig> read(const YAML::Node& root) {
        TESSERA_TRY(const Fields fields, Fields::read(root, "the file", {"cellTypes", "cells"}));
        const YAML::Node types = fields.find("cellTypes");
        const YAML::Node cells = fields.find("cells");
        if (!types.IsDefined() || !types.IsMap()) {
            return fail(ErrorKind::invalid, "line {}: cellTypes is missing or not a map of types",
                        line_of(types.IsDefined() ? types : root));
        }
        if (!cells.IsDefined() || !cells.IsSequence()) {
            return fail(ErrorKind::invalid, "line {}: cells is missing or not a list of cells",
                        line_of(cells.IsDefined() ? cells : root));
        }
        CellConfig config;
        for (const auto& entry : types) {
            TESSERA_TRY(CellType type, read_type(entry.first, entry.second));
            config.types.push_back(std::move(type));
        }
        TESSERA_TRY(config.cells, read_cells(cells, "cells", 1));
        return config;
    }

  private:
    static Expected<CellType> read_type(const YAML::Node& key, const YAML::Node& value) {
        CellType type;
        type.line = line_of(key);
        type.name = key.IsScalar() ? key.Scalar() : "";
        TESSERA_TRY(const Fields fields, Fields::read(value, "cell type " + in_quotes(type.name),
                                                      {"childCellType", "childCellNumber",
                                                       "childCellPriority", "isNodeLevel"}));
        TESSERA_TRY(type.child, fields.text("childCellType"));
        TESSERA_TRY(const auto count, fields.integer("childCellNumber"));
        if (!count) {
            return fail(ErrorKind::invalid, "line {}: cell type {} has no childCellNumber",
                        type.line, in_quotes(type.name));
        }
        type.child_count = *count;
        TESSERA_TRY(type.child_priority, fields.integer("childCellPriority"));
        TESSERA_TRY(type.node_level, fields.flag("isNodeLevel"));
        return type;
    }

    // Aliases let a few lines stand for millions of cells, so what is read is counted.
    Expected<std::vector<CellSpec>> read_cells(const YAML::Node& list, std::string_view where,
                                               int level) {
        if (level > limits_.levels) {
            return fail(ErrorKind::invalid, "line {}: cells are nested more than {} deep",
                        line_of(list), limits_.levels);
        }
        if (!list.IsSequence()) {
            return fail(ErrorKind::invalid, "line {}: {} is not a list of cells", line_of(list),
                        where);
        }
        std::vector<CellSpec> cells;
        for (const YAML::Node& item : list) {
            if (++cells_read_ > limits_.cells) {
                return fail(ErrorKind::invalid, "line {}: the file has more than {} cells",
                            line_of(item), limits_.cells);
            }
            TESSERA_TRY(CellSpec cell, read_cell(item, level));
            cells.push_back(std::move(cell));
        }
        return cells;
    }

    Expected<CellSpec> read_cell(const YAML::Node& item, int level) {
        CellSpec cell;
        cell.line = line_of(item);
        if (item.IsNull()) {
            return cell;  // "-" alone: all by default
        }
        TESSERA_TRY(const Fields fields,
                    Fields::read(item, "a cell", {"cellType", "cellId", "cellChildren"}));
        TESSERA_TRY(cell.type, fields.text("cellType"));
        TESSERA_TRY(cell.id, fields.text("cellId"));
        const YAML::Node children = fields.find("cellChildren");
        if (children.IsDefined()) {
            TESSERA_TRY(cell.children, read_cells(children, "cellChildren", level + 1));
        }
        return cell;
    }

    const CellLimits& limits_;
    std::int64_t cells_read_ = 0;
};

}  // namespace

Expected<CellConfig> parse_cell_yaml(std::string_view text, const CellLimits& limits) {
    if (text.size() > kFileBytesMax) {
        return fail(ErrorKind::invalid, "the file has {} bytes; at most {} are read", text.size(),
                    kFileBytesMax);
    }
    if (const auto fault = nul_byte(text)) {
        return fail(ErrorKind::invalid, "line {}: {}", fault->line, fault->reason);
    }
    try {
        const YAML::Node root = YAML::Load(std::string(text));
        return Reader(limits).read(root);
    } catch (const YAML::Exception& error) {
        const YamlFault fault = yaml_fault(error, text);
        return fail(ErrorKind::invalid, "line {}: {}", fault.line, fault.reason);
    }
}

}  // namespace tessera
