#pragma once

// Near misses: what a user most likely meant by a name that is not known.

#include <string>
#include <string_view>
#include <vector>

namespace gradhaul {

// Insertions, deletions, substitutions and swaps of neighbours that turn one into the other
// (optimal string alignment); letters differing only in case count half a step, in halves.
int edit_distance_in_halves(std::string_view a, std::string_view b);

// The nearest of `known`, where it is near enough to be worth offering; else empty. Ties: the
// first.
std::string nearest(std::string_view given, const std::vector<std::string>& known);

// `, did you mean "x"?` without the question mark's sentence: ` (did you mean "x"?)`, or nothing.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& known);

// "a", "a or b", "a, b or c"
std::string join_or(const std::vector<std::string>& names);

}  // namespace gradhaul
