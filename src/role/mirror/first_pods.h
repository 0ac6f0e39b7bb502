// Pods that were told of before a mirror could start: the last word on each.
#pragma once

#include <tsl/robin_map.h>

#include <string>
#include <utility>
#include <vector>

#include "model/pod.h"

namespace tessera {

class FirstPods {
  public:
    explicit FirstPods(std::vector<Pod> list) : pods_(std::move(list)) {}

    void put(const Pod& pod) {
        look_up();
        const auto [known, is_new] = places_.try_emplace(pod.uid, pods_.size());
        if (is_new) {
            pods_.push_back(pod);
        } else {
            pods_[known->second] = pod;
        }
    }

    void erase(const std::string& uid) {
        look_up();
        const auto known = places_.find(uid);
        if (known == places_.end()) {
            return;
        }
        const std::size_t place = known->second;
        places_.erase(known);
        if (place + 1 < pods_.size()) {
            pods_[place] = std::move(pods_.back());
            places_[pods_[place].uid] = place;
        }
        pods_.pop_back();
    }

    const std::vector<Pod>& pods() const { return pods_; }

  private:
    // Mostly nothing happens between the lists, and the table is not needed.
    void look_up() {
        if (!places_.empty() || pods_.empty()) {
            return;
        }
        std::vector<Pod> list = std::exchange(pods_, {});
        for (Pod& pod : list) {
            const auto [known, is_new] = places_.try_emplace(pod.uid, pods_.size());
            if (is_new) {
                pods_.push_back(std::move(pod));
            } else {
                pods_[known->second] = std::move(pod);
            }
        }
    }

    std::vector<Pod> pods_;
    tsl::robin_map<std::string, std::size_t> places_;  // by uid
};

}  // namespace tessera
