#include "role/scheduler/pod_reports.h"

#include <fmt/format.h>

#include <utility>

#include "base/hash.h"
#include "base/json_writer.h"
#include "kube/paths.h"

namespace tessera {
namespace {

constexpr std::string_view kRefusedReason = "FailedScheduling";
// The API's bounds.
constexpr std::size_t kMostName = 253;
constexpr std::size_t kMostMessage = 1024;

std::string_view short_enough(std::string_view text, std::size_t most) {
    return text.substr(0, std::min(text.size(), most));
}

// The same for the same pod and reason, by whichever copy: an event that is there is not doubled.
std::string event_name(const PodKey& pod, std::string_view reason) {
    Hash hash;
    for (std::string_view part : {std::string_view(pod.uid), reason}) {
        for (char c : part) {
            hash.add(static_cast<unsigned char>(c));
        }
    }
    const std::string suffix = fmt::format(".{:016x}", hash.value());
    return std::string(short_enough(pod.name, kMostName - suffix.size())) + suffix;
}

struct EventText {
    std::string_view type;
    std::string_view reason;
    std::string_view message;
};

std::string event_path(const PodKey& pod, std::string_view name) {
    return ObjectPath{.resource = "events", .space = pod.space, .name = name}.text();
}

struct EventTimes {
    std::string first;
    std::string last;
    std::uint32_t count = 1;
};

std::string event_json(const PodKey& pod, const EventText& text, const EventTimes& times,
                       std::string_view component) {
    JsonWriter json;
    json.begin_object();
    json.member("apiVersion", "v1");
    json.member("kind", "Event");
    json.key("metadata");
    json.begin_object();
    json.member("name", event_name(pod, text.reason));
    json.member("namespace", pod.space);
    json.end_object();
    json.key("involvedObject");
    json.begin_object();
    json.member("apiVersion", "v1");
    json.member("kind", "Pod");
    json.member("namespace", pod.space);
    json.member("name", pod.name);
    json.member("uid", pod.uid);
    json.end_object();
    json.member("type", text.type);
    json.member("reason", text.reason);
    json.member("message", short_enough(text.message, kMostMessage));
    json.key("source");
    json.begin_object();
    json.member("component", component);
    json.end_object();
    json.member("reportingComponent", component);
    json.member("firstTimestamp", times.first);
    json.member("lastTimestamp", times.last);
    json.member("count", times.count);
    json.end_object();
    return json.take();
}

std::string event_patch(std::string_view message, const EventTimes& times) {
    JsonWriter json;
    json.begin_object();
    json.member("message", short_enough(message, kMostMessage));
    json.member("lastTimestamp", times.last);
    json.member("count", times.count);
    json.end_object();
    return json.take();
}

// A strategic merge: the list of conditions is merged by their types. The uid is a precondition.
std::string condition_patch(const PodKey& pod, const PodRefusal& why, const std::string& now) {
    JsonWriter json;
    json.begin_object();
    json.key("metadata");
    json.begin_object();
    json.member("uid", pod.uid);
    json.end_object();
    json.key("status");
    json.begin_object();
    json.key("conditions");
    json.begin_array();
    json.begin_object();
    json.member("type", "PodScheduled");
    json.member("status", "False");
    json.member("reason", why.reason);
    json.member("message", why.message);
    json.member("lastTransitionTime", now);
    json.end_object();
    json.end_array();
    json.end_object();
    json.end_object();
    return json.take();
}

}  // namespace

PodReports::PodReports(BackgroundWriter& writer, PodReportsOptions options)
    : writer_(writer), options_(std::move(options)) {}

void PodReports::placed(const PodKey& pod, std::string_view node) {
    forget(pod.uid);
    const std::string now = micro_time(options_.wall());
    const std::string message =
        fmt::format("Successfully assigned {}/{} to {}", pod.space, pod.name, node);
    writer_.write(ApiCall::create(
        event_path(pod, {}),
        event_json(pod, {"Normal", "Scheduled", message}, {now, now, 1}, options_.component)));
}

bool PodReports::listens(std::string_view uid) const {
    const std::lock_guard lock(mutex_);
    const auto told = told_.find(uid);
    return told == told_.end() || told->second.at + options_.again_after <= options_.clock();
}

void PodReports::refused(const PodKey& pod, const PodRefusal& why) {
    const Nanoseconds now = options_.clock();
    Told copy;
    bool same = false;
    {
        const std::lock_guard lock(mutex_);
        Told& told = told_[pod.uid];
        same = told.message == why.message;
        const Nanoseconds wait = same ? options_.repeat_after : options_.again_after;
        if (told.count > 0 && now < told.at + wait) {
            return;
        }
        if (told.count == 0) {
            told.first_wall = options_.wall();
        }
        told.message = why.message;
        told.at = now;
        ++told.count;
        copy = told;
    }
    if (!same) {
        tell_condition(pod, why);
    }
    tell_event(pod, copy, copy.count == 1 ? Way::create : Way::update);
}

// An event that another copy made is brought up to date, one that has run out is made again.
void PodReports::tell_event(const PodKey& pod, const Told& told, Way way) {
    const EventTimes times{micro_time(told.first_wall), micro_time(options_.wall()), told.count};
    const std::string name = event_name(pod, kRefusedReason);
    ApiCall call =
        way == Way::create
            ? ApiCall::create(event_path(pod, {}),
                              event_json(pod, {"Warning", kRefusedReason, told.message}, times,
                                         options_.component))
            : ApiCall::merge_patch(event_path(pod, name), event_patch(told.message, times));
    writer_.write(std::move(call), [this, pod, told, way](const ApiResult<std::string>& result) {
        if (result) {
            return;
        }
        const int status = result.error().status;
        if (way == Way::create && status == 409 && result.error().reason == "AlreadyExists") {
            tell_event(pod, told, Way::update);
        } else if (way == Way::update && status == 404) {
            tell_event(pod, told, Way::create);
        }
    });
}

void PodReports::tell_condition(const PodKey& pod, const PodRefusal& why) {
    const std::string path =
        ObjectPath{.resource = "pods", .space = pod.space, .name = pod.name, .sub = "status"}
            .text();
    writer_.write(
        ApiCall::strategic_patch(path, condition_patch(pod, why, micro_time(options_.wall()))));
}

void PodReports::forget(std::string_view uid) {
    const std::lock_guard lock(mutex_);
    if (const auto told = told_.find(uid); told != told_.end()) {
        told_.erase(told);
    }
}

std::size_t PodReports::remembered() const {
    const std::lock_guard lock(mutex_);
    return told_.size();
}

}  // namespace tessera
