#include "codec/gpu_annotation.h"

#include <set>

#include "base/json_writer.h"
#include "base/text.h"
#include "codec/device_json.h"
#include "codec/device_words.h"
#include "codec/json_value.h"
#include "codec/spare_json.h"

namespace tessera {
namespace {

constexpr std::int64_t kVersion = 1;

Expected<GpuSpec> read_gpu(const JsonValue& value, std::string where, Vocabulary& names) {
    TESSERA_TRY(JsonObject object, JsonObject::of(value, std::move(where)));
    TESSERA_TRY(GpuSpec gpu, read_device(object, DeviceMemory::known, names));
    TESSERA_CHECK(object.done());
    return gpu;
}

Expected<void> read_gpus(const std::vector<JsonValue>& items, Vocabulary& names,
                         GpuInventory& inventory) {
    if (items.size() > kMaxGpusPerNode) {
        return fail(ErrorKind::invalid, "gpus: {} GPUs are not accepted: up to {} are",
                    items.size(), kMaxGpusPerNode);
    }
    std::set<std::string> uuids;
    for (std::size_t i = 0; i < items.size(); ++i) {
        TESSERA_TRY(GpuSpec gpu, read_gpu(items[i], fmt::format("gpus[{}]", i), names));
        if (!gpu.uuid.empty() && !uuids.insert(gpu.uuid).second) {
            return fail(ErrorKind::invalid, "gpus[{}].uuid: {} is there twice", i,
                        in_quotes(gpu.uuid));
        }
        inventory.gpus.push_back(std::move(gpu));
    }
    return {};
}

Expected<GpuInventory> read_within(std::string_view text, Vocabulary& names) {
    TESSERA_TRY(const JsonValue root, parse_json(text));
    TESSERA_TRY(JsonObject object, JsonObject::of(root, "the annotation"));
    TESSERA_CHECK(object.number("version", {kVersion, kVersion, 0}, true));
    TESSERA_TRY(const auto* gpus, object.array("gpus"));
    TESSERA_TRY(const auto* links, object.array("links"));
    TESSERA_CHECK(object.done());
    GpuInventory inventory;
    if (gpus == nullptr) {
        return fail(ErrorKind::invalid, "gpus is missing: a list of the node's GPUs is accepted");
    }
    TESSERA_CHECK(read_gpus(*gpus, names, inventory));
    if (links != nullptr) {
        TESSERA_TRY(inventory.links, read_links(*links, "links", inventory.gpus.size()));
    }
    return inventory;
}

void write_gpu(const GpuSpec& gpu, const Vocabulary& names, JsonWriter& json) {
    json.begin_object();
    if (!gpu.uuid.empty()) {
        json.member("uuid", gpu.uuid);
    }
    if (gpu.model.valid()) {
        json.member("model", names.models.name(gpu.model));
    }
    json.member("memoryMib", gpu.memory.value());
    json.member("numa", gpu.numa);
    json.member("health", kHealthWords[static_cast<std::size_t>(gpu.health)]);
    json.member("slots", gpu.slots);
    if (gpu.mode != AllocatorMode::annotation) {
        json.member("allocator", kAllocatorWords[static_cast<std::size_t>(gpu.mode)]);
    }
    write_spare(gpu.spare, json);
    json.end_object();
}

void write_links(const LinkMatrix& links, JsonWriter& json) {
    json.key("links");
    json.begin_array();
    for (int a = 0; a < links.gpus(); ++a) {
        for (int b = a + 1; b < links.gpus(); ++b) {
            const Link link = links.at(a, b);
            if (link == Link{}) {
                continue;
            }
            json.begin_object();
            json.member("a", a);
            json.member("b", b);
            json.member("level", kLinkWords[static_cast<std::size_t>(link.level)]);
            json.member("lanes", link.lanes);
            json.end_object();
        }
    }
    json.end_array();
}

}  // namespace

Expected<GpuInventory> read_gpu_annotation(std::string_view text, Vocabulary& names) {
    auto inventory = read_within(text, names);
    if (!inventory) {
        return tl::unexpected(std::move(inventory.error()).within("tessera.dev/gpus"));
    }
    return inventory;
}

std::string write_gpu_annotation(const GpuInventory& inventory, const Vocabulary& names) {
    JsonWriter json;
    json.begin_object();
    json.member("version", kVersion);
    json.key("gpus");
    json.begin_array();
    for (const GpuSpec& gpu : inventory.gpus) {
        write_gpu(gpu, names, json);
    }
    json.end_array();
    if (!inventory.links.empty()) {
        write_links(inventory.links, json);
    }
    json.end_object();
    return json.take();
}

}  // namespace tessera
