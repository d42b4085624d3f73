#pragma once

// What ranks of one run know, so that nobody else takes a rank's place at the rendezvous.

#include <cstddef>
#include <optional>
#include <string>

#include "scenarios/launched_rank.h"

namespace gradhaul {

// The environment variable in which it is handed on. Other users do not see it, as they do see
// command lines.
inline constexpr const char* kTokenVariable = "GRADHAUL_TOKEN";

// A greeting at the rendezvous has room for as much (kLongestToken).
inline constexpr std::size_t kMostOfToken = 128;

struct GivenToken {
  std::string option = {};       // --token
  std::string environment = {};  // kTokenVariable
};

// What --token says; else the environment; else what the launcher calls its job, which keeps jobs
// apart and is no secret; else nothing. `inherited`: the environment before all, since the command
// line is that of whoever started this process. Throws ConfigError where it is too long.
std::string rendezvous_token(const GivenToken& given, const std::optional<LaunchedRank>& launched,
                             bool inherited = false);

// 128 bits that nobody guesses, as hexadecimal digits.
std::string drawn_token();

}  // namespace gradhaul
