// What a pod asks for in KubeShare's words: labels sharedgpu/* (2.0), annotations kubeshare/*
// (1.0). Only reads and checks; kubeshare.h makes a demand of it.
//
// Shares are decimals of a GPU. KubeShare 2.0 takes only some spellings ("10.0" but not "10", "0.5"
// but not ".5"); here every plain decimal is read. What it lets pass to the user's surprise is an
// error: a limit above 1 without a request (a shared pod with no share), a group without its size
// (silently no group), half a GPU more than one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/units.h"
#include "model/demand.h"
#include "model/pod.h"

namespace tessera {

// A plain decimal: digits, with a point before, between or behind them.
struct Decimal {
    std::int64_t whole = 0;
    std::int64_t nano = 0;  // below one, rounded down
    bool more = false;      // something beyond nano

    bool zero() const { return whole == 0 && nano == 0 && !more; }
    bool integral() const { return nano == 0 && !more; }
    std::int64_t milli_up() const;
    std::int64_t milli_down() const { return whole * 1000 + nano / 1'000'000; }
    std::int64_t ppm_down() const { return whole * 1'000'000 + nano / 1'000; }

    friend auto operator<=>(const Decimal&, const Decimal&) = default;
};
Expected<Decimal> parse_decimal(std::string_view key, std::string_view text);

struct KubeshareGroup {
    std::string name;
    std::int32_t headcount = 1;
    std::int32_t minimum = 1;

    // How long a member is held for the others before all give up their places.
    Nanoseconds wait() const { return Nanoseconds(2'000'000'000 * std::int64_t{headcount}); }
};

struct KubeshareAsk {
    Decimal request;
    Decimal limit;
    Bytes memory;  // 0 = not given: the request's part of the card
    std::string model;
    std::optional<std::int32_t> priority{};  // -1..100; absent is 0
    std::optional<KubeshareGroup> group{};

    bool several() const { return limit.whole > 1 || (limit.whole == 1 && !limit.integral()); }
    // Opportunistic pods pack and may be preempted; guaranteed ones (1..100) are kept apart.
    ServiceClass service() const {
        return priority.value_or(0) > 0 ? ServiceClass::guaranteed : ServiceClass::opportunistic;
    }
};

// The key by which the pod asks for a GPU, empty when it does not. A limit and request of 0 ask
// for none.
std::string kubeshare_asks(const Pod& pod);

// Group, priority and model are read of any pod; without a GPU request and limit are 0.
Expected<KubeshareAsk> read_kubeshare(const Pod& pod);

// Members that must be there before any starts: the threshold's part of the headcount, rounded to
// the nearest.
std::int64_t gang_minimum(const Decimal& threshold, std::int64_t headcount);

// Memory of a pod that names none: its request's part of the card, rounded down.
Bytes default_memory(const Decimal& request, Bytes card);

}  // namespace tessera
