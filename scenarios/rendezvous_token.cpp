#include "scenarios/rendezvous_token.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cstdint>
#include <stdexcept>

#include "scenarios/config_error.h"

namespace gradhaul {

std::string rendezvous_token(const GivenToken& given, const std::optional<LaunchedRank>& launched,
                             bool inherited) {
  if (inherited) return given.environment;
  const std::string& token = given.option.empty() ? given.environment : given.option;
  if (token.size() > kMostOfToken) {
    refuse(given.option.empty() ? kTokenVariable : "--token",
           fmt::format("has {} characters, at most {} are sent", token.size(), kMostOfToken));
  }
  if (!token.empty() || !launched) return token;
  return launched->token.substr(0, kMostOfToken);
}

std::string drawn_token() {
  std::array<std::uint64_t, 2> drawn{};
  if (getrandom(drawn.data(), sizeof drawn, 0) != sizeof drawn) {
    throw std::runtime_error("the system gives no random numbers for a token of the rendezvous");
  }
  return fmt::format("{:016x}{:016x}", drawn[0], drawn[1]);
}

}  // namespace gradhaul
