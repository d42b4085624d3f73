#pragma once

// What must be the same on all ranks, as named values, and who differs. Ranks compare a hash first,
// so that many of them need not send each other whole scenarios.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/bootstrap/exchange.h"

namespace gradhaul {

// {"communication.slot_size", "512KiB"}, …
using AgreedValues = std::vector<std::pair<std::string, std::string>>;

// "rank 3 uses communication.slot_size 1MiB, rank 0 512KiB": the first value, in rank 0's order, in
// which `other` differs. Nothing where they are the same.
std::optional<std::string> first_difference(const AgreedValues& rank0, const AgreedValues& other,
                                            Rank rank);

// All ranks call it, and get the same answer: the difference of the lowest rank that has one.
// Throws ExchangeError.
std::optional<std::string> disagreement(Exchange& exchange, const AgreedValues& values);

}  // namespace gradhaul
