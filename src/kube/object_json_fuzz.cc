// Any bytes are a page, an event, a Status, or an error; what is told lies in what was given.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/text.h"
#include "kube/object_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    ObjectReader reader;
    const auto is_object = [](std::string_view raw) {
        return raw.size() >= 2 && raw.front() == '{' && raw.back() == '}' && valid_utf8(raw);
    };
    for (int round = 0; round < 2; ++round) {
        const auto event = reader.event(text);
        if (event) {
            TESSERA_ASSERT(is_object(event->object), "an event holds an object");
            TESSERA_ASSERT(event->object.size() < size, "which is a part of the line");
            TESSERA_ASSERT(event->kind == WatchKind::error || !event->resource_version.empty(),
                           "which has a version");
        } else {
            TESSERA_ASSERT(!event.error().message.empty(), "an error has a sentence");
        }
    }
    std::string body(text);
    std::size_t items = 0;
    std::size_t bytes = 0;
    const auto page = reader.page(body, [&](std::string_view item) {
        TESSERA_ASSERT(is_object(item), "an item is an object");
        TESSERA_ASSERT(
            item.data() >= body.data() && item.data() + item.size() <= body.data() + size,
            "an item lies in the page");
        ++items;
        bytes += item.size();
    });
    TESSERA_ASSERT(bytes <= size, "items do not overlap");
    if (page) {
        TESSERA_ASSERT(page->items == items, "items are counted");
        TESSERA_ASSERT(!page->resource_version.empty(), "a list has a version");
    }
    if (const auto status = read_status(text)) {
        TESSERA_ASSERT(valid_utf8(status->message), "a message is text");
    }
    return 0;
}
