#include "codec/placement_annotation.h"

#include <algorithm>
#include <charconv>

#include "base/json_writer.h"
#include "base/text.h"
#include "codec/json_value.h"
#include "codec/spare_json.h"

namespace tessera {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kAmountMax = std::int64_t{1} << 40;
constexpr std::int64_t kMemoryMibMax = std::int64_t{1} << 30;
constexpr std::size_t kGrantsMax = 4096;

Expected<GrantRecord> read_grant(const JsonValue& value, std::string where) {
    TESSERA_TRY(JsonObject object, JsonObject::of(value, std::move(where)));
    GrantRecord grant;
    TESSERA_TRY(grant.request, object.text("request", true));
    TESSERA_TRY(const std::int64_t gpu, object.number("gpu", {0, kMaxGpusPerNode - 1, 0}, true));
    TESSERA_TRY(grant.uuid, object.text("uuid", false));
    TESSERA_TRY(const std::int64_t milli, object.number("milli", {0, 1000, 0}, true));
    TESSERA_TRY(const std::int64_t limit, object.number("limitMilli", {0, 1000, 1000}));
    TESSERA_TRY(grant.memory_mib, object.number("memoryMib", {0, kMemoryMibMax, 0}, true));
    TESSERA_TRY(grant.spare, read_spare(object));
    TESSERA_CHECK(object.done());
    grant.gpu = static_cast<std::int32_t>(gpu);
    grant.milli = static_cast<std::int32_t>(milli);
    grant.limit_milli = static_cast<std::int32_t>(limit);
    return grant;
}

Expected<void> read_grants(const std::vector<JsonValue>& items, PlacementRecord& record) {
    if (items.size() > kGrantsMax) {
        return fail(ErrorKind::invalid, "grants: {} are not accepted: up to {} are", items.size(),
                    kGrantsMax);
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
        TESSERA_TRY(GrantRecord grant, read_grant(items[i], fmt::format("grants[{}]", i)));
        record.grants.push_back(std::move(grant));
    }
    return {};
}

bool granted(const PlacementRecord& record, std::string_view request) {
    return std::any_of(record.grants.begin(), record.grants.end(),
                       [&](const GrantRecord& grant) { return grant.request == request; });
}

Expected<void> read_containers(const JsonValue& value, PlacementRecord& record) {
    if (value.kind != JsonValue::Kind::object) {
        return fail(ErrorKind::invalid, "containers: {} is not accepted: an object is",
                    describe(value));
    }
    for (const auto& [name, requests] : value.members) {
        std::vector<std::string>& used = record.containers[name];
        for (const JsonValue& request : requests.items) {
            if (request.kind != JsonValue::Kind::string || !granted(record, request.text)) {
                return fail(ErrorKind::invalid,
                            "containers.{}: {} is not accepted: a request with a grant is",
                            in_quotes(name), describe(request));
            }
            used.push_back(request.text);
        }
        if (requests.kind != JsonValue::Kind::array) {
            return fail(ErrorKind::invalid, "containers.{}: {} is not accepted: a list is",
                        in_quotes(name), describe(requests));
        }
    }
    return {};
}

Expected<PlacementRecord> read_within(std::string_view text) {
    TESSERA_TRY(const JsonValue root, parse_json(text));
    TESSERA_TRY(JsonObject object, JsonObject::of(root, "the annotation"));
    PlacementRecord record;
    TESSERA_CHECK(object.number("version", {kVersion, kVersion, 0}, true));
    TESSERA_TRY(record.owner, object.text("owner", true));
    TESSERA_TRY(record.node, object.text("node", true));
    TESSERA_TRY(record.dialect, object.text("dialect", false));
    TESSERA_TRY(record.cpu_milli, object.number("cpuMilli", {0, kAmountMax, 0}));
    TESSERA_TRY(record.memory_mib, object.number("memoryMib", {0, kAmountMax, 0}));
    TESSERA_TRY(const std::int64_t alternative, object.number("alternative", {0, 255, 0}));
    TESSERA_TRY(record.admin_access, object.boolean("adminAccess"));
    TESSERA_TRY(const auto* grants, object.array("grants"));
    const JsonValue* containers = object.find("containers");
    TESSERA_CHECK(object.done());
    record.alternative = static_cast<std::int32_t>(alternative);
    if (grants != nullptr) {
        TESSERA_CHECK(read_grants(*grants, record));
    }
    if (containers != nullptr) {
        TESSERA_CHECK(read_containers(*containers, record));
    }
    return record;
}

void write_grant(const GrantRecord& grant, JsonWriter& json) {
    json.begin_object();
    json.member("request", grant.request);
    json.member("gpu", grant.gpu);
    if (!grant.uuid.empty()) {
        json.member("uuid", grant.uuid);
    }
    json.member("milli", grant.milli);
    json.member("limitMilli", grant.limit_milli);
    json.member("memoryMib", grant.memory_mib);
    write_spare(grant.spare, json);
    json.end_object();
}

Expected<std::int64_t> index_of(std::string_view key) {
    std::int64_t index = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (error != std::errc() || end != key.data() + key.size() || index < 0 ||
        index >= kMaxGpusPerNode) {
        return fail(ErrorKind::invalid, "{} is not accepted: a GPU's index from 0 to {} is",
                    in_quotes(key), kMaxGpusPerNode - 1);
    }
    return index;
}

Expected<std::vector<DeviceUnits>> read_allocation_within(std::string_view text) {
    TESSERA_TRY(const JsonValue root, parse_json(text));
    TESSERA_TRY(const JsonObject containers, JsonObject::of(root, "the annotation"));
    std::vector<DeviceUnits> result;
    for (const auto& [container, devices] : root.members) {
        TESSERA_TRY(const JsonObject checked,
                    JsonObject::of(devices, fmt::format("container {}", in_quotes(container))));
        for (const auto& [key, units] : devices.members) {
            TESSERA_TRY(const std::int64_t gpu, index_of(key));
            TESSERA_TRY(const std::int64_t amount,
                        whole_number(units, fmt::format("{}, GPU {}", checked.where(), key), 0,
                                     kMemoryMibMax));
            result.push_back({gpu, amount});
        }
    }
    return result;
}

}  // namespace

Expected<PlacementRecord> read_placement_annotation(std::string_view text) {
    auto record = read_within(text);
    if (!record) {
        return tl::unexpected(std::move(record.error()).within("tessera.dev/placement"));
    }
    return record;
}

std::string write_placement_annotation(const PlacementRecord& record) {
    JsonWriter json;
    json.begin_object();
    json.member("version", kVersion);
    json.member("owner", record.owner);
    json.member("node", record.node);
    if (!record.dialect.empty()) {
        json.member("dialect", record.dialect);
    }
    json.member("cpuMilli", record.cpu_milli);
    json.member("memoryMib", record.memory_mib);
    if (record.alternative != 0) {
        json.member("alternative", record.alternative);
    }
    if (record.admin_access) {
        json.member("adminAccess", true);
    }
    json.key("grants");
    json.begin_array();
    for (const GrantRecord& grant : record.grants) {
        write_grant(grant, json);
    }
    json.end_array();
    json.key("containers");
    json.begin_object();
    for (const auto& [name, requests] : record.containers) {
        json.key(name);
        json.begin_array();
        for (const std::string& request : requests) {
            json.value(request);
        }
        json.end_array();
    }
    json.end_object();
    json.end_object();
    return json.take();
}

Expected<std::vector<DeviceUnits>> read_gpushare_allocation(std::string_view text) {
    auto result = read_allocation_within(text);
    if (!result) {
        return tl::unexpected(
            std::move(result.error()).within("scheduler.framework.gpushare.allocation"));
    }
    return result;
}

}  // namespace tessera
