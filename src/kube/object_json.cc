#include "kube/object_json.h"

#include <simdjson.h>

#include <array>
#include <utility>

#include "base/text.h"

namespace tessera {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;

// simdjson reads whole blocks: this much behind the text must be ours.
constexpr std::size_t kPadding = simdjson::SIMDJSON_PADDING;

tl::unexpected<Error> malformed(error_code error) {
    return fail(ErrorKind::invalid, "this is not valid JSON: {}", simdjson::error_message(error));
}

// The text of an object without the space behind it. simdjson counts brackets without looking at
// their kind, so that of a broken document it may take "{...]" for one.
error_code raw_text(ondemand::object& object, std::string_view& out) {
    std::string_view raw;
    if (const auto error = object.raw_json().get(raw)) {
        return error;
    }
    raw = raw.substr(0, raw.find_last_not_of(" \t\r\n") + 1);
    if (!raw.ends_with('}')) {
        return simdjson::TAPE_ERROR;
    }
    out = raw;
    return simdjson::SUCCESS;
}

// Calls `read` for each member until it says false or fails; the key is unescaped.
template <class Read>
error_code each_member(ondemand::object object, const Read& read) {
    for (auto found : object) {
        ondemand::field field;
        if (const auto error = std::move(found).get(field)) {
            return error;
        }
        std::string_view key;
        if (const auto error = field.unescaped_key().get(key)) {
            return error;
        }
        bool more = true;
        if (const auto error = read(key, field.value(), more)) {
            return error;
        }
        if (!more) {
            break;
        }
    }
    return simdjson::SUCCESS;
}

error_code as_text(ondemand::value value, std::string_view& out) {
    return value.get_string().get(out);
}

// metadata.resourceVersion, empty when absent.
error_code version_of(ondemand::object object, std::string_view& version) {
    return each_member(object, [&](std::string_view key, ondemand::value value, bool& more) {
        if (key != "metadata") {
            return simdjson::SUCCESS;
        }
        more = false;
        ondemand::object metadata;
        if (const auto error = value.get_object().get(metadata)) {
            return error;
        }
        return each_member(metadata, [&](std::string_view name, ondemand::value text, bool& rest) {
            if (name != "resourceVersion") {
                return simdjson::SUCCESS;
            }
            rest = false;
            return as_text(text, version);
        });
    });
}

std::optional<WatchKind> kind_of(std::string_view type) {
    constexpr std::array<std::pair<std::string_view, WatchKind>, 5> kKinds{{
        {"ADDED", WatchKind::added},
        {"MODIFIED", WatchKind::modified},
        {"DELETED", WatchKind::deleted},
        {"BOOKMARK", WatchKind::bookmark},
        {"ERROR", WatchKind::error},
    }};
    for (const auto& [name, kind] : kKinds) {
        if (name == type) {
            return kind;
        }
    }
    return std::nullopt;
}

error_code read_page_metadata(ondemand::value value, ListPage& page) {
    ondemand::object metadata;
    if (const auto error = value.get_object().get(metadata)) {
        return error;
    }
    return each_member(metadata, [&](std::string_view key, ondemand::value text, bool&) {
        if (key != "resourceVersion" && key != "continue") {
            return simdjson::SUCCESS;
        }
        std::string_view found;
        const auto error = as_text(text, found);
        (key == "continue" ? page.next : page.resource_version) = found;
        return error;
    });
}

error_code read_items(ondemand::value value, ListPage& page,
                      const FunctionRef<void(std::string_view)>& item) {
    ondemand::json_type type{};
    if (const auto error = value.type().get(type)) {
        return error;
    }
    if (type == ondemand::json_type::null) {
        return simdjson::SUCCESS;  // how Go writes an empty list that was never made
    }
    ondemand::array items;
    if (const auto error = value.get_array().get(items)) {
        return error;
    }
    for (auto found : items) {
        ondemand::object object;
        if (const auto error = found.get_object().get(object)) {
            return error;
        }
        std::string_view raw;
        if (const auto error = raw_text(object, raw)) {
            return error;
        }
        ++page.items;
        item(raw);
    }
    return simdjson::SUCCESS;
}

error_code read_status_member(std::string_view key, ondemand::value value, ApiStatus& status) {
    std::string_view text;
    if (key == "message" || key == "reason") {
        const auto error = as_text(value, text);
        (key == "message" ? status.message : status.reason) = text;
        return error;
    }
    std::int64_t number = 0;
    if (key == "code") {
        const auto error = value.get_int64().get(number);
        status.code = number > 0 && number < 1000 ? static_cast<int>(number) : 0;
        return error;
    }
    if (key != "details") {
        return simdjson::SUCCESS;
    }
    ondemand::object details;
    if (value.get_object().get(details) != simdjson::SUCCESS) {
        return simdjson::SUCCESS;
    }
    return each_member(details, [&](std::string_view name, ondemand::value detail, bool&) {
        if (name != "retryAfterSeconds") {
            return simdjson::SUCCESS;
        }
        const auto error = detail.get_int64().get(number);
        if (error == simdjson::SUCCESS && number >= 0) {
            status.retry_after_seconds = number;
        }
        return error;
    });
}

}  // namespace

std::optional<ApiStatus> read_status(std::string_view body) {
    const simdjson::padded_string padded(body);
    ondemand::parser parser;
    ondemand::document document;
    ondemand::object object;
    if (parser.iterate(padded).get(document) != simdjson::SUCCESS ||
        document.get_object().get(object) != simdjson::SUCCESS) {
        return std::nullopt;
    }
    ApiStatus status;
    bool is_status = false;
    const auto error = each_member(object, [&](std::string_view key, ondemand::value value, bool&) {
        if (key == "kind") {
            std::string_view kind;
            const auto wrong = as_text(value, kind);
            is_status = kind == "Status";
            return wrong;
        }
        return read_status_member(key, value, status);
    });
    if (error != simdjson::SUCCESS || !is_status) {
        return std::nullopt;
    }
    return status;
}

struct ObjectReader::Inner {
    ondemand::parser parser;
    std::string line;
};

ObjectReader::ObjectReader() : inner_(std::make_unique<Inner>()) {}
ObjectReader::~ObjectReader() = default;

Expected<WatchEvent> ObjectReader::event(std::string_view line) {
    std::string& text = inner_->line;
    text.assign(line);
    text.append(kPadding, '\0');
    ondemand::document document;
    if (const auto error =
            inner_->parser.iterate(text.data(), line.size(), text.size()).get(document)) {
        return malformed(error);
    }
    ondemand::object outer;
    if (const auto error = document.get_object().get(outer)) {
        return malformed(error);
    }
    WatchEvent event;
    std::string_view type;
    const auto error = each_member(outer, [&](std::string_view key, ondemand::value value, bool&) {
        if (key == "type") {
            return as_text(value, type);
        }
        if (key != "object" || !event.object.empty()) {
            return key == "object" ? simdjson::TAPE_ERROR : simdjson::SUCCESS;
        }
        ondemand::object object;
        if (const auto wrong = value.get_object().get(object)) {
            return wrong;
        }
        if (const auto wrong = raw_text(object, event.object)) {
            return wrong;
        }
        bool any = false;
        if (const auto wrong = object.reset().get(any)) {
            return wrong;
        }
        return any ? version_of(object, event.resource_version) : simdjson::SUCCESS;
    });
    if (error) {
        return malformed(error);
    }
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
        return fail(ErrorKind::invalid, "something follows the JSON document");
    }
    const auto kind = kind_of(type);
    if (!kind || event.object.empty()) {
        return fail(ErrorKind::invalid, "a watch event of type {} {} an object is not understood",
                    in_quotes(type), event.object.empty() ? "without" : "with");
    }
    event.kind = *kind;
    if (event.kind != WatchKind::error && event.resource_version.empty()) {
        return fail(ErrorKind::invalid, "the object of a watch event has no resourceVersion");
    }
    return event;
}

Expected<ListPage> ObjectReader::page(std::string& body, FunctionRef<void(std::string_view)> item) {
    // A parser for each page: it needs several times the page's size, and lists are rare.
    ondemand::parser parser;
    const std::size_t size = body.size();
    body.append(kPadding, '\0');
    ondemand::document document;
    if (const auto error = parser.iterate(body.data(), size, body.size()).get(document)) {
        return malformed(error);
    }
    ondemand::object outer;
    if (const auto error = document.get_object().get(outer)) {
        return malformed(error);
    }
    ListPage page;
    bool listed = false;
    const auto error = each_member(outer, [&](std::string_view key, ondemand::value value, bool&) {
        if (key == "metadata") {
            return read_page_metadata(value, page);
        }
        if (key != "items") {
            return simdjson::SUCCESS;
        }
        return std::exchange(listed, true) ? simdjson::TAPE_ERROR : read_items(value, page, item);
    });
    if (error) {
        return malformed(error);
    }
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
        return fail(ErrorKind::invalid, "something follows the JSON document");
    }
    if (!listed || page.resource_version.empty()) {
        return fail(ErrorKind::invalid, "a list has no {}", listed ? "resourceVersion" : "items");
    }
    return page;
}

}  // namespace tessera
