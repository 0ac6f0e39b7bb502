// Keyed signatures of placement records: who may say where a pod's share is.
//
// The signature is an annotation of its own beside tessera.dev/placement:
//   tessera.dev/placement-signature: "v1:9f86d081…"     HMAC-SHA256 of the record's text, in hex
// The record names pod (with its uid) and node, so that a copy on another pod proves nothing.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace tessera {

// A key file's text: 16 bytes or more, white space at both ends not counted.
Expected<std::string> read_signing_key(std::string_view text);

std::string sign_placement(std::string_view key, std::string_view record);
// In a time that does not depend on where the two differ.
bool signature_matches(std::string_view key, std::string_view record, std::string_view signature);

}  // namespace tessera
