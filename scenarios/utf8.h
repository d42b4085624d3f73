#pragma once

// Whether a text is UTF-8 (RFC 3629), which YAML files have to be and JSON files are.

#include <optional>
#include <string>
#include <string_view>

namespace gradhaul {

// The first byte that cannot be.
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

// With a question mark for each byte that cannot be.
std::string as_utf8(std::string_view text);

}  // namespace gradhaul
