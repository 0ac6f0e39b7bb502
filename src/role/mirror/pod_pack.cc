#include "role/mirror/pod_pack.h"

#include <cstring>
#include <type_traits>

#include "base/assert.h"

namespace tessera {
namespace {

// kubectl's copy of the whole manifest, often larger than all else; no vocabulary reads it.
constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

class Writer {
  public:
    template <class T>
    void raw(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void size(std::size_t value) {  // seven bits a byte
        for (; value > 0x7f; value >>= 7) {
            text_.push_back(static_cast<char>(0x80 | (value & 0x7f)));
        }
        text_.push_back(static_cast<char>(value));
    }
    void text(const std::string& value) {
        size(value.size());
        text_.append(value);
    }
    std::string take() {
        text_.shrink_to_fit();
        return std::move(text_);
    }

  private:
    std::string text_;
};

class Reader {
  public:
    explicit Reader(std::string_view text) : left_(text) {}
    template <class T>
    void raw(T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        std::memcpy(&value, bytes(sizeof value).data(), sizeof value);
    }
    std::size_t size() {
        std::size_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto byte = static_cast<unsigned char>(bytes(1).front());
            value |= std::size_t{byte & 0x7fU} << shift;
            if (byte < 0x80) {
                return value;
            }
        }
    }
    void text(std::string& value) { value = bytes(size()); }
    bool done() const { return left_.empty(); }

  private:
    std::string_view bytes(std::size_t count) {
        TESSERA_ASSERT(count <= left_.size(), "a packed pod is whole");
        const std::string_view found = left_.substr(0, count);
        left_.remove_prefix(count);
        return found;
    }
    std::string_view left_;
};

void pack(Writer& out, const std::string& text) { out.text(text); }
void pack(Writer& out, const Quantity& amount) { out.raw(amount); }
void unpack(Reader& in, std::string& text) { in.text(text); }
void unpack(Reader& in, Quantity& amount) { in.raw(amount); }

template <class Value>
void pack(Writer& out, const std::map<std::string, Value, std::less<>>& map) {
    out.size(map.size() - map.count(kLastApplied));
    for (const auto& [key, value] : map) {
        if (key != kLastApplied) {
            out.text(key);
            pack(out, value);
        }
    }
}

template <class Value>
void unpack(Reader& in, std::map<std::string, Value, std::less<>>& map) {
    for (std::size_t count = in.size(); count > 0; --count) {
        std::string key;
        in.text(key);
        unpack(in, map.emplace_hint(map.end(), std::move(key), Value())->second);
    }
}

void pack(Writer& out, const Container& container) {
    pack(out, container.name);
    pack(out, container.requests);
    pack(out, container.limits);
    out.raw(container.restartable);
    out.raw(container.state);
}

void unpack(Reader& in, Container& container) {
    unpack(in, container.name);
    unpack(in, container.requests);
    unpack(in, container.limits);
    in.raw(container.restartable);
    in.raw(container.state);
}

template <class Value>
void pack(Writer& out, const std::vector<Value>& list) {
    out.size(list.size());
    for (const Value& value : list) {
        pack(out, value);
    }
}

template <class Value>
void unpack(Reader& in, std::vector<Value>& list) {
    list.resize(in.size());
    for (Value& value : list) {
        unpack(in, value);
    }
}

// The fields in the order in which they are written and read.
template <class Some, class Visit>
void each_field(Some& pod, Visit visit) {
    visit(pod.space);
    visit(pod.name);
    visit(pod.uid);
    visit(pod.node_name);
    visit(pod.labels);
    visit(pod.annotations);
    visit(pod.init_containers);
    visit(pod.containers);
    visit(pod.overhead);
    visit(pod.requests);
    visit(pod.limits);
    visit(pod.scheduler_name);
    visit(pod.priority_class);
    visit(pod.resource_claims);
}

}  // namespace

std::string pack_bound(const Pod& pod) {
    Writer out;
    each_field(pod, [&](const auto& field) { pack(out, field); });
    out.raw(pod.priority.has_value());
    out.raw(pod.priority.value_or(0));
    out.raw(pod.phase);
    out.raw(pod.deleting);
    return out.take();
}

Pod unpack_bound(std::string_view packed) {
    Pod pod;
    Reader in(packed);
    each_field(pod, [&](auto& field) { unpack(in, field); });
    bool has_priority = false;
    std::int32_t priority = 0;
    in.raw(has_priority);
    in.raw(priority);
    if (has_priority) {
        pod.priority = priority;
    }
    in.raw(pod.phase);
    in.raw(pod.deleting);
    TESSERA_ASSERT(in.done(), "a packed pod has no more");
    return pod;
}

}  // namespace tessera
