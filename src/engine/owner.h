// Who holds shares: a pod, a device claim (which may outlive its pods) or a foreigner.
//
// A foreigner is whoever took a part of a node or a device without asking us: a pod placed by
// another scheduler, a claim allocated by another allocator. Each kind has its own dense indices,
// given out at the edge:
//   OwnerId::pod(7) != OwnerId::claim(7)
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace tessera {

enum class OwnerKind : std::uint8_t { pod, claim, foreign };
inline constexpr std::size_t kOwnerKinds = 3;

class OwnerId {
  public:
    constexpr OwnerId() = default;  // none()

    static constexpr OwnerId none() { return OwnerId(); }
    static constexpr OwnerId pod(std::uint32_t index) { return OwnerId(OwnerKind::pod, index); }
    static constexpr OwnerId claim(std::uint32_t index) { return OwnerId(OwnerKind::claim, index); }
    static constexpr OwnerId foreign(std::uint32_t index) {
        return OwnerId(OwnerKind::foreign, index);
    }

    constexpr bool valid() const { return value_ != kNone; }
    constexpr OwnerKind kind() const { return static_cast<OwnerKind>(value_ >> kIndexBits); }
    constexpr std::uint32_t index() const { return value_ & kMaxIndex; }
    constexpr std::uint32_t value() const { return value_; }

    friend constexpr auto operator<=>(OwnerId, OwnerId) = default;

    static constexpr int kIndexBits = 30;
    static constexpr std::uint32_t kMaxIndex = (std::uint32_t{1} << kIndexBits) - 1;

  private:
    constexpr OwnerId(OwnerKind kind, std::uint32_t index)
        : value_(static_cast<std::uint32_t>(kind) << kIndexBits | (index & kMaxIndex)) {}

    static constexpr std::uint32_t kNone = UINT32_MAX;
    std::uint32_t value_ = kNone;
};

// "pod 7": for messages; the edge puts the name in front where it knows it.
std::string describe(OwnerId owner);

// See the drawing in ledger.h.
enum class OwnerState : std::uint8_t { assumed, confirmed, terminating };
const char* to_string(OwnerState state);

}  // namespace tessera
