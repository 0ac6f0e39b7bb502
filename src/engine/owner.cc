#include "engine/owner.h"

#include <fmt/format.h>

#include <array>

namespace tessera {

std::string describe(OwnerId owner) {
    static constexpr std::array<const char*, kOwnerKinds> kNames{"pod", "claim", "foreigner"};
    if (!owner.valid()) {
        return "nobody";
    }
    return fmt::format("{} {}", kNames.at(static_cast<std::size_t>(owner.kind())), owner.index());
}

const char* to_string(OwnerState state) {
    switch (state) {
        case OwnerState::assumed:
            return "assumed";
        case OwnerState::confirmed:
            return "confirmed";
        case OwnerState::terminating:
            return "terminating";
    }
    return "unknown";
}

}  // namespace tessera
