#include "scenarios/utf8.h"

#include <cstdint>

namespace gradhaul {
namespace {

// The length of the character that begins `text`; 0: none does (RFC 3629, section 4).
std::size_t character_length(std::string_view text) {
  const auto byte = [&text](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
  };
  const auto tail = [&byte](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    // Neither overlong nor a surrogate.
    const bool second = first == 0xe0   ? byte(1) >= 0xa0 && byte(1) <= 0xbf
                        : first == 0xed ? byte(1) >= 0x80 && byte(1) <= 0x9f
                                        : tail(1);
    return second && tail(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool second = first == 0xf0   ? byte(1) >= 0x90 && byte(1) <= 0xbf
                        : first == 0xf4 ? byte(1) >= 0x80 && byte(1) <= 0x8f
                                        : tail(1);
    return second && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::optional<std::size_t> first_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::string as_utf8(std::string_view text) {
  std::string valid;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_length(text.substr(at));
    valid += length == 0 ? "?" : text.substr(at, length);
    at += length == 0 ? 1 : length;
  }
  return valid;
}

}  // namespace gradhaul
