#pragma once

// What stands in the records of the rendezvous.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/bootstrap/exchange.h"
#include "backends/bootstrap/record.h"

namespace gradhaul {

// Who is not known yet is given no more room than a greeting takes.
inline constexpr std::size_t kLongestGreeting = 256;
inline constexpr std::size_t kLongestToken = 128;
inline constexpr std::size_t kLongestRecord = std::size_t{256} << 20;

struct Greeting {
  Rank rank = 0;
  Rank ranks = 0;
  std::string token = {};  // what the ranks of one run know; empty: nothing
};

std::vector<std::byte> body_of(const Greeting& greeting);
std::vector<std::byte> body_of(const std::vector<RankFailure>& failures);
std::vector<std::byte> body_of(const std::vector<std::vector<std::byte>>& parts);
std::vector<std::byte> body_of_number(std::uint64_t number);
std::vector<std::byte> body_of_text(std::string_view text);

// All throw WireError.
Greeting greeting_in(std::span<const std::byte> body);
// At least one; of each text so much as a terminal shows without harm.
std::vector<RankFailure> failures_in(std::span<const std::byte> body);
std::vector<std::vector<std::byte>> parts_in(std::span<const std::byte> body, Rank ranks);
std::uint64_t number_in(std::span<const std::byte> body);
std::string text_in(std::span<const std::byte> body);

}  // namespace gradhaul
