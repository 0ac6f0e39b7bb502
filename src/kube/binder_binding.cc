#include "kube/binder_binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "base/text.h"
#include "codec/kube_json.h"
#include "kube/paths.h"

namespace tessera {
namespace {

void write_map(JsonWriter& json, std::string_view key, const StringMap& map) {
    if (map.empty()) {
        return;
    }
    json.key(key);
    json.begin_object();
    for (const auto& [name, value] : map) {
        json.member(name, value);
    }
    json.end_object();
}

std::string pod_path(const BindRequest& request, std::string_view sub) {
    return ObjectPath{.resource = "pods", .space = request.space, .name = request.name, .sub = sub}
        .text();
}

bool same_record(const BindRequest& request, const StringMap& found) {
    const auto same = [&](const std::string& key, const std::string& value) {
        const auto there = found.find(key);
        return there != found.end() && there->second == value;
    };
    if (!request.record.empty()) {
        const auto ours = request.annotations.find(request.record);
        return ours == request.annotations.end() ? !found.contains(request.record)
                                                 : same(ours->first, ours->second);
    }
    return std::all_of(request.annotations.begin(), request.annotations.end(),
                       [&](const auto& entry) { return same(entry.first, entry.second); });
}

// One bind on its way. It is kept alive by the call, or the timer, that it waits for.
class BindingAttempt : public std::enable_shared_from_this<BindingAttempt> {
  public:
    BindingAttempt(std::shared_ptr<BindingTools> tools, std::shared_ptr<const BindRequest> request,
                   bool touched)
        : tools_(std::move(tools)),
          request_(std::move(request)),
          backoff_(tools_->backoff),
          may_have_landed_(touched) {}
    BindingAttempt(const BindingAttempt&) = delete;
    BindingAttempt& operator=(const BindingAttempt&) = delete;
    // A client that is closed forgets its timers.
    ~BindingAttempt() {
        if (done_ != nullptr) {
            refuse("the client was closed; before that: " + last_);
        }
    }

    void begin(Nanoseconds until, WriteDone done) {
        until_ = until;
        done_ = std::move(done);
        post();
    }

  private:
    // Without a deadline, so that the client repeats nothing by itself: each POST comes through
    // here.
    void post() {
        if (tools_->may_write && !tools_->may_write()) {
            refuse("this copy is not the leader any more; try again");
            return;
        }
        ApiCall call = ApiCall::create(pod_path(*request_, "binding"), binding_json(*request_));
        call.http.timeout = std::clamp(left(), Nanoseconds(1), tools_->call_timeout);
        send(std::move(call), &BindingAttempt::posted);
    }

    void send(ApiCall call, void (BindingAttempt::*then)(ApiResult<std::string>)) {
        tools_->api.send(std::move(call),
                         [self = shared_from_this(), then](ApiResult<std::string> got) {
                             (self.get()->*then)(std::move(got));
                         });
    }
    void posted(ApiResult<std::string> got) {
        if (got) {
            finish({WriteEnd::done, {}});
            return;
        }
        const ApiError& error = got.error();
        last_ = error.error.message;
        const bool sent = error.status != 0 || error.error.kind != ErrorKind::invalid;
        if (error.status == 404) {
            finish({WriteEnd::refused, gone()});
        } else if (error.status == 409) {
            look();
        } else if (error.unsure || (error.status == 0 && sent)) {
            may_have_landed_ = true;
            look();
        } else if (error.status == 429) {
            again(error.retry_after);
        } else if (error.status == 403) {
            refuse("the role of this program lacks create on pods/binding: " + last_);
        } else {
            refuse(last_);
        }
    }

    void look() {
        ++tools_->looked;
        if (left() <= Nanoseconds(0)) {
            unknown("there was no time left to look at the pod");
            return;
        }
        ApiCall call = ApiCall::get(pod_path(*request_, ""));
        call.http.timeout = tools_->call_timeout;
        call.backoff = tools_->backoff;
        send(std::move(call).within(left()), &BindingAttempt::seen);
    }
    void seen(ApiResult<std::string> got) {
        if (!got) {
            const ApiError& error = got.error();
            if (error.status == 404) {
                finish({WriteEnd::refused, gone()});
            } else if (error.status == 403) {
                unknown("the role of this program lacks get on pods: " + error.error.message);
            } else {
                unknown(error.error.message);
            }
            return;
        }
        auto pod = read_pod_json(*got);
        if (!pod) {
            unknown("the pod cannot be read: " + pod.error().message);
            return;
        }
        judge(std::move(*pod));
    }
    // Everything refused here stays so whatever of ours is still under way: the server compares the
    // uid, and neither moves a bound pod nor binds one that is being deleted.
    void judge(Pod pod) {
        if (pod.uid != request_->uid) {
            finish({WriteEnd::refused,
                    fmt::format("{} is another pod now: its uid is {}, not {}", who(),
                                in_quotes(pod.uid), in_quotes(request_->uid))});
        } else if (pod.node_name.empty() && !pod.deleting) {
            again();
        } else if (pod.node_name.empty()) {
            finish({WriteEnd::refused, who() + " is being deleted"});
        } else if (pod.node_name != request_->node) {
            finish({WriteEnd::refused,
                    fmt::format("{} is bound elsewhere, to node {}", who(), pod.node_name),
                    std::make_shared<const Pod>(std::move(pod))});
        } else if (!same_record(*request_, pod.annotations)) {
            finish({WriteEnd::refused,
                    fmt::format("{} is bound to node {} already, with another placement", who(),
                                pod.node_name),
                    std::make_shared<const Pod>(std::move(pod))});
        } else {
            finish({WriteEnd::done, {}});
        }
    }
    void again(std::optional<Nanoseconds> asked = std::nullopt) {
        const Nanoseconds wait = backoff_.next(tools_->rng, asked);
        if (wait >= left()) {
            refuse(last_);
            return;
        }
        tools_->http.later(wait, [self = shared_from_this()] { self->post(); });
    }

    // Nothing was done by this attempt; one before it may yet arrive.
    void refuse(const std::string& why) {
        if (may_have_landed_) {
            unknown(why);
        } else {
            finish({WriteEnd::refused, why});
        }
    }
    void unknown(const std::string& why) {
        finish(
            {WriteEnd::unknown, fmt::format("nobody knows yet whether {} was bound to node {}: {}",
                                            who(), request_->node, why)});
    }
    void finish(WriteOutcome outcome) { std::exchange(done_, nullptr)(std::move(outcome)); }

    std::string who() const { return fmt::format("pod {}/{}", request_->space, request_->name); }
    std::string gone() const { return who() + " is gone"; }
    Nanoseconds left() const { return until_ - tools_->clock(); }

    const std::shared_ptr<BindingTools> tools_;
    const std::shared_ptr<const BindRequest> request_;
    Nanoseconds until_{};
    WriteDone done_;
    Backoff backoff_;
    bool may_have_landed_;  // a POST without an answer may have been, or still be, carried out
    std::string last_;      // what the last POST got
};

}  // namespace

std::string binding_json(const BindRequest& request) {
    JsonWriter json;
    json.begin_object();
    json.member("apiVersion", "v1");
    json.member("kind", "Binding");
    json.key("metadata");
    json.begin_object();
    json.member("name", request.name);
    json.member("namespace", request.space);
    json.member("uid", request.uid);
    write_map(json, "annotations", request.annotations);
    write_map(json, "labels", request.labels);
    json.end_object();
    json.key("target");
    json.begin_object();
    json.member("apiVersion", "v1");
    json.member("kind", "Node");
    json.member("name", request.node);
    json.end_object();
    json.end_object();
    return json.take();
}

Write binding_write(std::shared_ptr<BindingTools> tools, std::shared_ptr<const BindRequest> request,
                    bool touched) {
    return {.name = "binding",
            .run = [tools = std::move(tools), request = std::move(request), touched](
                       Nanoseconds until, WriteDone done) {
                std::make_shared<BindingAttempt>(tools, request, touched)
                    ->begin(until, std::move(done));
            }};
}

}  // namespace tessera
