#include "analysis/wrapped_text.h"

#include <algorithm>

namespace gradhaul {
namespace {

// Continuation bytes of UTF-8 are no characters of their own.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

// The first word, or a number with its unit: "86 %", "49.7 GB/s".
std::size_t end_of_word(std::string_view text) {
  constexpr std::size_t kLongestUnit = 5;
  const std::size_t end = std::min(text.find(' '), text.size());
  if (end == 0 || end == text.size() || text[end - 1] < '0' || text[end - 1] > '9') return end;
  const std::size_t unit = std::min(text.find(' ', end + 1), text.size());
  return unit - end - 1 <= kLongestUnit ? unit : end;
}

}  // namespace

std::string wrapped(std::string_view text, std::string_view indent, std::string_view first) {
  std::string result(first);
  std::size_t width = characters(first);
  bool line_begun = false;
  while (!text.empty()) {
    const std::size_t end = end_of_word(text);
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t needed = characters(word);
    if (line_begun && width + 1 + needed > kTextWidth) {
      result += "\n";
      result += indent;
      width = characters(indent);
      line_begun = false;
    }
    if (line_begun) result += ' ';
    width += needed + (line_begun ? 1 : 0);
    result += word;
    line_begun = true;
  }
  return result + "\n";
}

std::string wrapped(std::string_view text, std::string_view indent) {
  return wrapped(text, indent, indent);
}

}  // namespace gradhaul
