// Who is told what a reflector learns of one kind of object, as raw JSON, in order.
#pragma once

#include <string_view>

namespace tessera {

class ObjectSink {
  public:
    virtual ~ObjectSink() = default;

    // A list begins: what it does not hold is gone when it ends. A list that breaks off begins
    // again; only a whole one ends.
    virtual void list_begins() = 0;
    virtual void listed(std::string_view object_json) = 0;
    virtual void list_ends() = 0;

    virtual void changed(std::string_view object_json) = 0;  // ADDED or MODIFIED
    virtual void deleted(std::string_view object_json) = 0;
};

}  // namespace tessera
