#pragma once

// Paragraphs for a terminal.

#include <cstddef>
#include <string>
#include <string_view>

namespace gradhaul {

inline constexpr std::size_t kTextWidth = 98;

// Broken between words into lines of at most kTextWidth characters where that is possible, each
// begun with the indent, the first with `first` instead; with a line end. A number keeps its unit
// beside it. Characters are those of
// UTF-8.
std::string wrapped(std::string_view text, std::string_view indent, std::string_view first);
std::string wrapped(std::string_view text, std::string_view indent = "");

}  // namespace gradhaul
