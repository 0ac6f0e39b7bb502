// bind: the share that is held, or one found now, written with the Binding itself. The answer comes
// when the API server's has.
#include <atomic>
#include <utility>

#include "role/extender/verbs.h"

namespace tessera {
namespace {

// kube-scheduler repeats a bind that it has given up; more than a few are no repeats.
constexpr std::size_t kMostWaiting = 16;

// The end of one bind, told once: by the port, or by its having dropped the call.
class Ending {
  public:
    Ending(Desk& desk, PodKey pod, std::string owner, Refuse refuse)
        : desk_(desk), pod_(std::move(pod)), owner_(std::move(owner)), refuse_(refuse) {}
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    ~Ending() { tell({WriteEnd::unknown, "the bind was dropped: whether it was made is unknown"}); }

    void tell(WriteOutcome ending) {
        // First of all: a port may keep what it has told of for longer than there is a desk.
        if (told_.exchange(true)) {
            return;
        }
        std::vector<Responder> waiting;
        {
            const auto mirror = desk_.hold();
            mirror->bind_ended(pod_, ending, desk_.now());
            if (auto bind = desk_.binds.extract(owner_); !bind.empty()) {
                waiting = std::move(bind.mapped().waiting);
            }
        }
        if (ending.end != WriteEnd::done && ending.message.empty()) {
            ending.message = "the API server did not say why the pod was not bound";
        }
        const bool bound = ending.end == WriteEnd::done;
        for (Responder& respond : waiting) {
            respond(bound ? error_answer(200, "") : refuse_(200, ending.message));
        }
    }

  private:
    Desk& desk_;
    const PodKey pod_;
    const std::string owner_;
    const Refuse refuse_;
    std::atomic<bool> told_ = false;
};

}  // namespace

void bind(Desk& desk, Call& call, Responder respond) {
    const auto asked = Scratch::of_thread().reader.binding(call.request.body);
    if (!asked) {
        return respond(call.refuse(400, asked.error().message));
    }
    if (asked->pod_name.empty() || asked->pod_space.empty() || asked->node.empty()) {
        return respond(call.refuse(400, "PodName, PodNamespace and Node are needed to bind a pod"));
    }
    PodKey pod{asked->pod_space, asked->pod_name, asked->pod_uid};
    Expected<BindPlan> plan = fail(ErrorKind::internal, "");
    std::string owner;
    {
        const auto mirror = desk.hold();
        owner = fmt::format("{}/{}/{}", pod.space, pod.name, pod.uid);
        if (const auto running = desk.binds.find(owner);
            running != desk.binds.end() && running->second.node == asked->node &&
            running->second.waiting.size() < kMostWaiting) {
            running->second.waiting.push_back(std::move(respond));
            return;
        }
        plan = mirror->prepare_bind(pod, asked->node, desk.now());
        if (plan && !plan->bound_already) {
            pod.uid = plan->uid;
            owner = fmt::format("{}/{}/{}", pod.space, pod.name, pod.uid);
            Desk::Bind& started = desk.binds[owner];
            started.node = asked->node;
            started.waiting.push_back(std::move(respond));
        }
    }
    if (!plan) {
        return respond(call.refuse(200, plan.error().message));
    }
    if (plan->bound_already) {
        return respond(error_answer(200, ""));
    }
    const auto ending =
        std::make_shared<Ending>(desk, std::move(pod), std::move(owner), call.refuse);
    desk.ports().bind(std::move(*plan),
                      [ending](WriteOutcome how) { ending->tell(std::move(how)); });
}

}  // namespace tessera
