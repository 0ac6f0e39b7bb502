#include "codec/device_json.h"

#include <cstdint>

#include "codec/device_words.h"
#include "codec/spare_json.h"
#include "model/model_name.h"

namespace tessera {
namespace {

Expected<void> read_link(const JsonValue& value, std::string where, LinkMatrix& links) {
    TESSERA_TRY(JsonObject object, JsonObject::of(value, std::move(where)));
    const std::int64_t last = links.gpus() - 1;
    TESSERA_TRY(const std::int64_t a, object.number("a", {0, last, 0}, true));
    TESSERA_TRY(const std::int64_t b, object.number("b", {0, last, 0}, true));
    TESSERA_TRY(const std::size_t level,
                object.word("level", {kLinkWords[0], kLinkWords[1], kLinkWords[2], kLinkWords[3],
                                      kLinkWords[4], kLinkWords[5]}));
    TESSERA_TRY(const std::int64_t lanes, object.number("lanes", {0, 255, 0}));
    TESSERA_CHECK(object.done());
    if (a == b) {
        return fail(ErrorKind::invalid, "{}: GPU {} is linked with itself", object.where(), a);
    }
    if (links.at(static_cast<int>(a), static_cast<int>(b)) != Link{}) {
        return fail(ErrorKind::invalid, "{}: GPUs {} and {} are linked twice", object.where(), a,
                    b);
    }
    links.set(static_cast<int>(a), static_cast<int>(b),
              {static_cast<LinkLevel>(level), static_cast<std::uint8_t>(lanes)});
    return {};
}

}  // namespace

Expected<GpuSpec> read_device(JsonObject& object, DeviceMemory memory, Vocabulary& names) {
    constexpr std::int64_t kMemoryMibMax = std::int64_t{1} << 30;
    const bool known = memory == DeviceMemory::known;
    GpuSpec gpu;
    TESSERA_TRY(gpu.uuid, object.text("uuid", false));
    TESSERA_TRY(const std::string model, object.text("model", false));
    TESSERA_TRY(const std::int64_t mib,
                object.number("memoryMib", {known ? 1 : 0, kMemoryMibMax, 0}, known));
    TESSERA_TRY(const std::int64_t numa, object.number("numa", {0, 255, 0}));
    TESSERA_TRY(const std::int64_t slots, object.number("slots", {0, 65'535, 0}));
    TESSERA_TRY(const std::size_t health,
                object.word("health", {kHealthWords[0], kHealthWords[1], kHealthWords[2]}));
    TESSERA_TRY(const std::size_t mode,
                object.word("allocator", {kAllocatorWords[0], kAllocatorWords[1]}));
    TESSERA_TRY(gpu.spare, read_spare(object));
    auto index = intern_model(model, names.models);
    if (!index) {
        return tl::unexpected(std::move(index.error()).within(object.where() + ".model"));
    }
    gpu.model = *index;
    gpu.memory = MemoryMib(mib);
    gpu.numa = static_cast<std::uint8_t>(numa);
    gpu.slots = static_cast<std::uint16_t>(slots);
    gpu.health = static_cast<Health>(health);
    gpu.mode = static_cast<AllocatorMode>(mode);
    return gpu;
}

Expected<LinkMatrix> read_links(const std::vector<JsonValue>& items, const std::string& where,
                                std::size_t gpus) {
    const LinkMatrix none(static_cast<int>(gpus));
    LinkMatrix links = none;
    for (std::size_t i = 0; i < items.size(); ++i) {
        TESSERA_CHECK(read_link(items[i], fmt::format("{}[{}]", where, i), links));
    }
    return links == none ? LinkMatrix() : links;
}

}  // namespace tessera
