// What kube-scheduler sends to an extender, read in place, and what it gets back.
//
//   ExtenderReader reader;                    // keeps its buffers from call to call
//   ExtenderArgs args;
//   TESSERA_CHECK(reader.args(body, args));   // names are views into the body
//   std::string answer = write_filter_result({args, refused, texts, ""});
//
// In: keys in any case, as Go matches them; of a key that is there twice the last counts, as in Go
// (whole: Go would merge two pods); null is the same as absent; unknown keys are passed over; more
// after the document is refused, which Go does not look at. Inside of a pod or a node the keys have
// Kubernetes' own spelling, save those on the way to a node's name. A part that is passed over is
// checked for its brackets, its strings and its UTF-8; of whole nodes, which go back as they came,
// everything is (1,024 levels deep at most). Nothing here is recursive, and what no cluster needs
// is refused: memory is some few times the body's.
// Out: Go's spelling and order of fields. A node is named by the bytes that the request named it
// by, so that no other node can be named, and runs of nodes that fit are copied as they stand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tessera {

// Of a request: clusters end at some ten thousand nodes of a hundred pods, and the API server
// at 1.5 MiB for a pod or a node.
inline constexpr std::size_t kMostNodesAsked = 65'536;
inline constexpr std::size_t kMostVictimsAsked = 1'048'576;  // on all nodes together
inline constexpr std::size_t kMostObjectBytes = std::size_t{4} << 20;

enum class NodesForm : std::uint8_t {
    none,     // neither was sent
    names,    // NodeNames: the extender said nodeCacheCapable
    objects,  // Nodes
};

// Views into the body: valid as long as it is, and until the next read.
struct ExtenderArgs {
    std::string_view pod;  // its JSON; empty when absent
    NodesForm form = NodesForm::none;
    // Each node's name as it was written, with its quotes; a name that is null is so.
    std::vector<std::string_view> quoted;
    std::vector<std::string_view> items;  // each node's JSON; only for `objects`
    // Names that were written otherwise than they read (escapes, null), by place, ascending.
    std::vector<std::pair<std::size_t, std::string>> unescaped;
    // What follows the pod, to the body's end, where that alone tells the nodes; else empty.
    std::string_view rest;

    std::size_t size() const { return quoted.size(); }
    std::string_view name(std::size_t at) const {
        const std::string_view written = quoted[at];
        return unescaped.empty() ? written.substr(1, written.size() - 2) : unescaped_name(at);
    }

  private:
    std::string_view unescaped_name(std::size_t at) const;
};

struct ExtenderBinding {
    std::string pod_name;
    std::string pod_space;
    std::string pod_uid;
    std::string node;
};

struct NodeVictims {
    std::string node;
    std::vector<std::string> uids;
    std::int64_t pdb_violations = 0;
};

struct ExtenderPreemption {
    std::string_view pod;            // as above
    std::vector<NodeVictims> nodes;  // by name, each once; of either form
};

class ExtenderReader {
  public:
    ExtenderReader();
    ~ExtenderReader();
    ExtenderReader(ExtenderReader&&) noexcept;
    ExtenderReader& operator=(ExtenderReader&&) noexcept;

    // The body may be moved, if it has no padding behind it (kBodyPadding); it is not changed.
    Expected<void> args(std::string& body, ExtenderArgs& out);
    // The pod of a body that ends in the same bytes as one that was read before (`known.rest`), and
    // so names the same nodes: only what is before them is read. Empty: that cannot be told so.
    std::string_view pod_before(std::string& body, const ExtenderArgs& known);
    Expected<ExtenderBinding> binding(std::string& body);
    Expected<ExtenderPreemption> preemption(std::string& body);

  private:
    class Inner;
    std::unique_ptr<Inner> inner_;
};

// Why nodes were refused, said once for all of them.
struct RefusalText {
    std::string text;
    bool never = false;  // FailedAndUnresolvableNodes: no preemption could help
};

struct FilterResult {
    const ExtenderArgs& args;
    std::span<const std::uint8_t> refused;  // by node: 0 fits, else 1 + the place of its text
    std::span<const RefusalText> texts;
    std::string_view error{};  // not empty: nothing else is told
};
std::string write_filter_result(const FilterResult& result);

// [{"Host":"gpu-a","Score":7}]; a score is 0..10.
std::string write_host_priorities(const ExtenderArgs& args, std::span<const std::uint8_t> scores);

std::string write_binding_result(std::string_view error);
std::string write_preemption_result(std::span<const NodeVictims> nodes);

}  // namespace tessera
