// However Go, or anybody, may write a request: names and whole nodes give the same result, and
// nothing is named that was not asked about.
#include <gtest/gtest.h>

#include <set>

#include "base/rng.h"
#include "codec/extender_json.h"
#include "role/extender/test_extender.h"

namespace tessera {
namespace {

using namespace tessera::testing;

class Writer {
  public:
    explicit Writer(Rng& rng) : rng_(rng) {}

    std::string key(std::string_view name) {
        std::string result = "\"";
        for (char c : name) {
            const bool upper = rng_.below(2) == 0;
            result += static_cast<char>(upper ? std::toupper(static_cast<unsigned char>(c))
                                              : std::tolower(static_cast<unsigned char>(c)));
        }
        return result + '"' + space() + ':' + space();
    }
    std::string text(std::string_view value) {
        std::string result = "\"";
        for (char c : value) {
            result += rng_.below(40) == 0 ? fmt::format("\\u{:04x}", c) : std::string(1, c);
        }
        return result + '"';
    }
    std::string space() { return rng_.below(4) == 0 ? " \n" : ""; }
    // Members in any order, unknown ones and doubles among them; of a double the last counts.
    std::string object(std::vector<std::string> members) {
        for (std::size_t i = members.size(); i > 1; --i) {
            std::swap(members[i - 1], members[rng_.below(i)]);
        }
        std::string result = "{" + space();
        if (rng_.below(3) == 0) {
            result += R"("other":[{"NodeNames":["no"]},null,1.5e3],)";
        }
        for (std::size_t i = 0; i < members.size(); ++i) {
            result += (i == 0 ? "" : ",") + members[i] + space();
        }
        return result + "}";
    }
    std::string list(const std::vector<std::string>& elements) {
        std::string result = "[" + space();
        for (std::size_t i = 0; i < elements.size(); ++i) {
            result += (i == 0 ? "" : "," + space()) + elements[i] + space();
        }
        return result + "]";
    }

  private:
    Rng& rng_;
};

struct Answer {
    std::vector<std::string> names;
    std::string failed;  // FailedNodes and FailedAndUnresolvableNodes, as written
};

Answer read_answer(std::string body, NodesForm form) {
    ExtenderReader reader;
    ExtenderArgs args;
    EXPECT_TRUE(reader.args(body, args)) << body;
    EXPECT_EQ(args.form, form) << body;
    Answer answer;
    for (std::size_t at = 0; at < args.size(); ++at) {
        answer.names.emplace_back(args.name(at));
    }
    answer.failed = body.substr(body.find("\"FailedNodes\""));
    return answer;
}

class Story {
  public:
    explicit Story(std::uint64_t seed) : rng_(seed), write_(rng_) {
        std::vector<std::string> nodes;
        for (std::uint64_t n = 1 + rng_.below(12); n > 0; --n) {
            names_.push_back(fmt::format("node-{}", n));
            nodes.push_back(rng_.below(5) == 0
                                ? node_json(names_.back(), R"("ephemeral-storage":"1Gi")")
                                : gpushare_node(names_.back(), 32, 2));
        }
        rig_.list(nodes);
        names_.emplace_back("stranger");
    }

    void step(int number) {
        const std::string pod =
            gpushare_pod(fmt::format("p{}", number), static_cast<int>(1 + rng_.below(17)));
        change_nodes();
        if (rng_.below(2) == 0) {  // else those of the last pod: their list is known
            asked_.clear();
            for (std::uint64_t n = rng_.below(names_.size() + 4); n > 0; --n) {
                asked_.push_back(names_[rng_.below(names_.size())]);
            }
        }
        const std::vector<std::string>& asked = asked_;
        const Answer plain =
            read_answer(rig_.post("/tessera/filter", names_body(pod, asked)), NodesForm::names);
        // The same once more is the same, since the pod's own share does not stand in its way.
        const Answer fancy =
            read_answer(rig_.post("/tessera/filter", names(pod, asked)), NodesForm::names);
        const Answer whole =
            read_answer(rig_.post("/tessera/filter", nodes(pod, asked)), NodesForm::objects);
        EXPECT_EQ(fancy.names, plain.names);
        EXPECT_EQ(whole.names, plain.names);
        EXPECT_EQ(whole.failed, plain.failed);
        const std::set<std::string> known(asked.begin(), asked.end());
        for (const std::string& name : plain.names) {
            EXPECT_TRUE(known.contains(name)) << name;
        }
        if (!plain.names.empty() && rng_.below(3) != 0) {
            const std::string& node = plain.names[rng_.below(plain.names.size())];
            EXPECT_EQ(rig_.post("/tessera/bind", bind_body(fmt::format("p{}", number), node)),
                      R"({"Error":""})");
        }
        EXPECT_EQ(rig_.mirror.cluster().over_committed_gpus(), 0);
    }

  private:
    void change_nodes() {
        const std::string& name = names_[rng_.below(names_.size())];
        switch (rng_.below(8)) {
            case 0:
                return rig_.mirror.node_gone(name);
            case 1:
                return rig_.mirror.node_changed(read_node_json(gpushare_node(name, 32, 2)).value());
            default:
                return;
        }
    }
    std::string names(const std::string& pod, const std::vector<std::string>& asked) {
        std::vector<std::string> list;
        for (const std::string& name : asked) {
            list.push_back(write_.text(name));
        }
        return write_.object({write_.key("Pod") + pod, write_.key("Nodes") + "null",
                              write_.key("NodeNames") + write_.list(list)});
    }
    std::string nodes(const std::string& pod, const std::vector<std::string>& asked) {
        std::vector<std::string> list;
        for (const std::string& name : asked) {
            const std::string metadata = write_.object(
                {write_.key("name") + '"' + name + '"', write_.key("labels") + R"({"name":"no"})"});
            list.push_back(
                write_.object({write_.key("metadata") + metadata, write_.key("spec") + "{}"}));
        }
        return write_.object(
            {write_.key("Pod") + pod, write_.key("NodeNames") + "null",
             write_.key("Nodes") + write_.object({write_.key("items") + write_.list(list)})});
    }

    Rng rng_;
    Writer write_;
    Rig rig_;
    std::vector<std::string> names_;
    std::vector<std::string> asked_;
};

TEST(ExtenderProperty, NamesAndWholeNodesGiveTheSameResult) {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(seed);
        Story story(seed);
        for (int number = 0; number < 25; ++number) {
            story.step(number);
        }
        if (::testing::Test::HasFailure()) {
            return;
        }
    }
}

}  // namespace
}  // namespace tessera
