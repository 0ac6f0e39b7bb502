#include "codec/spare_json.h"

#include <cstdint>

namespace tessera {

Expected<SpareAmounts> read_spare(JsonObject& object) {
    constexpr std::int64_t kAmountMax = std::int64_t{1} << 40;
    SpareAmounts spare{};
    TESSERA_TRY(const auto* items, object.array("spare"));
    if (items == nullptr) {
        return spare;
    }
    if (items->size() != spare.size()) {
        return fail(ErrorKind::invalid, "{}.spare: {} amounts are not accepted: {} are",
                    object.where(), items->size(), spare.size());
    }
    for (std::size_t i = 0; i < spare.size(); ++i) {
        TESSERA_TRY(spare[i],
                    whole_number((*items)[i], fmt::format("{}.spare[{}]", object.where(), i), 0,
                                 kAmountMax));
    }
    return spare;
}

void write_spare(const SpareAmounts& spare, JsonWriter& json) {
    if (spare == SpareAmounts{}) {
        return;
    }
    json.key("spare");
    json.begin_array();
    for (const std::int64_t amount : spare) {
        json.value(amount);
    }
    json.end_array();
}

}  // namespace tessera
