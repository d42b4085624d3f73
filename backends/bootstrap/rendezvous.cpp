#include "backends/bootstrap/rendezvous.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "backends/bootstrap/exchange_records.h"
#include "core/assert.h"

namespace gradhaul {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// Who has connected has so long to say who it is; and no more than so many may be unknown at once.
constexpr auto kGreetingDeadline = 5s;
constexpr std::size_t kMostStrangers = 256;
constexpr std::size_t kMostTold = 8;
constexpr auto kStep = 100ms;

bool is_over(RecordLink& link) {
  link.pull();
  return link.over();
}

// A connection to rank 0, which may not be there yet.
Socket reach(const SocketAddress& rank0, Clock::time_point until) {
  milliseconds pause = 20ms;
  int error = 0;
  while (Clock::now() < until) {
    if (auto socket = begin_connect(rank0)) {
      const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
      if (wait_for(*socket, Waiting::kWrite, std::clamp<milliseconds>(left, 1ms, 3000ms))) {
        error = connect_error(*socket);
        if (error == 0) return std::move(*socket);
      }
    }
    std::this_thread::sleep_for(pause);
    pause = std::min<milliseconds>(pause * 2, 1000ms);
  }
  throw ExchangeError("can't reach rank 0 at " + text_of(rank0) +
                      (error == 0 ? "" : ": " + std::string(std::strerror(error))) +
                      "; is it started, and is that its address and port?");
}

}  // namespace

RankReception::RankReception(Socket listener, Rank ranks)
    : listener_(std::move(listener)), joined_(static_cast<std::size_t>(ranks)) {}

std::vector<Rank> RankReception::missing() const {
  std::vector<Rank> missing;
  for (std::size_t rank = 1; rank < joined_.size(); ++rank) {
    if (!joined_[rank]) missing.push_back(static_cast<Rank>(rank));
  }
  return missing;
}

void RankReception::add_to(std::vector<pollfd>& waiting) const {
  waiting.push_back({listener_.descriptor(), POLLIN, 0});
  for (const Stranger& stranger : strangers_) {
    waiting.push_back({stranger.link.socket().descriptor(), POLLIN, 0});
  }
}

void RankReception::admit() {
  while (auto socket = accept_from(listener_)) {
    // Whoever has kept silent longest makes room.
    if (strangers_.size() >= kMostStrangers) strangers_.pop_front();
    std::string from = text_of(peer_address(*socket));
    strangers_.push_back({RecordLink(std::move(*socket), kLongestGreeting), std::move(from),
                          Clock::now() + kGreetingDeadline});
  }
  std::erase_if(strangers_, [this](Stranger& stranger) { return is_settled(stranger); });
}

bool RankReception::is_settled(Stranger& stranger) {
  stranger.link.pull();
  try {
    const auto record = stranger.link.next();
    if (!record) {
      if (stranger.link.over()) return true;  // nothing was said
      return Clock::now() >= stranger.until && refuse(stranger, "it does not say who it is");
    }
    if (record->kind != RecordKind::kHello) return refuse(stranger, "it does not greet first");
    return greet(stranger, greeting_in(record->body));
  } catch (const WireError& error) {
    return refuse(stranger, error.what());
  }
}

bool RankReception::greet(Stranger& stranger, const Greeting& greeting) {
  const auto ranks = static_cast<Rank>(joined_.size());
  const std::string rank = "rank " + std::to_string(greeting.rank);
  if (greeting.ranks != ranks) {
    return refuse(stranger, rank + " counts " + std::to_string(greeting.ranks) + " ranks, rank 0 " +
                                std::to_string(ranks));
  }
  if (greeting.rank < 1 || greeting.rank >= ranks) {
    return refuse(stranger, "there is no " + rank + " to join");
  }
  auto& place = joined_[static_cast<std::size_t>(greeting.rank)];
  if (place && !is_over(*place)) {
    return refuse(stranger, rank + " has joined already: two processes say they are it");
  }
  place = std::move(stranger.link);
  place->send(RecordKind::kWelcome, {});
  return true;
}

bool RankReception::refuse(Stranger& stranger, const std::string& why) {
  stranger.link.send(RecordKind::kRefused, body_of_text(why));
  if (refusals_.size() < kMostTold) refusals_.push_back(stranger.from + ": " + why);
  return true;
}

std::string RankReception::who_is_missing(milliseconds after) const {
  const std::vector<Rank> missing = this->missing();
  std::string text = missing.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(missing.size(), kMostTold); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(missing[i]);
  }
  if (missing.size() > kMostTold) {
    text += " and " + std::to_string(missing.size() - kMostTold) + " more";
  }
  text += " did not come to the rendezvous at " + text_of(local_address(listener_)) + " within " +
          std::to_string(after.count() / 1000) + " s";
  for (const std::string& refusal : refusals_) text += "; sent away: " + refusal;
  return text;
}

RecordLink join_rank0(const SocketAddress& rank0, const RendezvousSettings& settings) {
  GRADHAUL_ASSERT(settings.rank > 0 && settings.rank < settings.ranks, "rank 0 is the host");
  const Clock::time_point until = Clock::now() + settings.join_deadline;
  Socket socket = reach(rank0, until);
  RecordLink link(std::move(socket), kLongestRecord);
  link.send(RecordKind::kHello, body_of(Greeting{settings.rank, settings.ranks}));
  const std::string where = "rank 0 at " + text_of(rank0);
  try {
    std::optional<Record> answer = link.next();
    while (!answer) {
      if (link.over()) throw ExchangeError(where + " closed the connection without a word");
      if (Clock::now() >= until) throw ExchangeError(where + " does not answer");
      wait_for(link.socket(), Waiting::kRead, kStep);
      link.pull();
      answer = link.next();
    }
    if (answer->kind == RecordKind::kRefused) {
      throw ExchangeError(where + " sends rank " + std::to_string(settings.rank) +
                          " away: " + text_in(answer->body));
    }
    if (answer->kind != RecordKind::kWelcome) throw WireError("it does not welcome us");
  } catch (const WireError& error) {
    throw ExchangeError(where + " can't be understood: " + error.what());
  }
  return link;
}

}  // namespace gradhaul
