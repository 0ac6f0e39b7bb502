#include "model/model_name.h"

#include "base/text.h"

namespace tessera {

std::string canonical_model(std::string_view name) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
    std::string result;
    bool gap = false;
    for (const char c : name) {
        if (blank(c)) {
            gap = !result.empty();
            continue;
        }
        if (gap) {
            result.push_back('-');
            gap = false;
        }
        result.push_back(c);
    }
    return result;
}

Expected<ModelIndex> intern_model(std::string_view written, Interner<ModelIndex>& models,
                                  std::size_t most) {
    const std::string name = canonical_model(written);
    if (name.empty()) {
        return ModelIndex::none();
    }
    const ModelIndex known = models.find(name);
    if (!known.valid() && models.used() >= most) {
        return fail(ErrorKind::invalid, "GPU model {} is one too many; {} are possible",
                    in_quotes(name), most);
    }
    return known.valid() ? known : models.intern(name);
}

}  // namespace tessera
