// The little that a reflector looks at in what the API server sends: where objects begin and end,
// and their versions. What is inside is for others, as raw JSON in the received bytes themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/function_ref.h"

namespace tessera {

enum class WatchKind : std::uint8_t { added, modified, deleted, bookmark, error };

struct WatchEvent {
    WatchKind kind = WatchKind::error;
    std::string_view object;            // raw JSON
    std::string_view resource_version;  // of the object; of an error empty
};

struct ListPage {
    std::string resource_version;
    std::string next;  // the token of the next page; empty: this was the last
    std::size_t items = 0;
};

// A Status object: why the API server refused.
struct ApiStatus {
    int code = 0;
    std::string reason;
    std::string message;
    std::optional<std::int64_t> retry_after_seconds;
};
// Nothing when the text is no Status.
std::optional<ApiStatus> read_status(std::string_view body);

class ObjectReader {
  public:
    ObjectReader();
    ~ObjectReader();
    ObjectReader(const ObjectReader&) = delete;
    ObjectReader& operator=(const ObjectReader&) = delete;

    // A line of a watch. What it holds is valid until the next call.
    Expected<WatchEvent> event(std::string_view line);

    // A page of a list: tells the items as they are found, so that an error may come after some.
    // The text gets longer by the parser's padding.
    Expected<ListPage> page(std::string& body, FunctionRef<void(std::string_view)> item);

  private:
    struct Inner;
    std::unique_ptr<Inner> inner_;
};

}  // namespace tessera
