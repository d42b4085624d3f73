#include "backends/bootstrap/rendezvous.h"

#include <sys/random.h>

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

// Who has connected has so long to say who it is, and as long to answer its welcome; and no more
// than so many may be unknown at once.
constexpr auto kGreetingDeadline = 5s;
constexpr std::size_t kMostStrangers = 256;
constexpr std::size_t kMostTold = 8;
constexpr auto kStep = 100ms;

bool has_gone(const RecordLink& link) { return link.over() || other_end_left(link.socket()); }

// In a time that does not tell how far they are alike.
bool is_same(const std::string& one, const std::string& other) {
  if (one.size() != other.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  }
  return difference == 0;
}

// That nobody guesses who does not listen.
std::uint64_t drawn_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) {
    number = static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
  }
  return number;
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

RankReception::RankReception(Socket listener, Rank ranks, std::string token)
    : listener_(std::move(listener)),
      token_(std::move(token)),
      joined_(static_cast<std::size_t>(ranks)) {}

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

void RankReception::give_places_back() {
  for (std::size_t rank = 1; rank < joined_.size(); ++rank) {
    if (!joined_[rank] || !has_gone(*joined_[rank])) continue;
    joined_[rank].reset();
    if (gone_.size() < kMostTold) gone_.push_back(static_cast<Rank>(rank));
  }
}

bool RankReception::is_settled(Stranger& stranger) {
  stranger.link.pull();
  try {
    // A welcome may be answered along with what comes after it, which is the rank's.
    while (const auto record = stranger.link.next()) {
      if (take(stranger, *record)) return true;
    }
  } catch (const WireError& error) {
    return refuse(stranger, error.what());
  }
  if (stranger.link.over()) return true;  // nothing was said, or nothing more
  if (Clock::now() < stranger.until) return false;
  return refuse(stranger, stranger.rank == 0
                              ? "it does not say who it is"
                              : "it says that it is rank " + std::to_string(stranger.rank) +
                                    ", and does not answer its welcome");
}

bool RankReception::take(Stranger& stranger, const Record& record) {
  if (stranger.rank == 0) {
    if (record.kind != RecordKind::kHello) return refuse(stranger, "it does not greet first");
    return greet(stranger, greeting_in(record.body));
  }
  if (record.kind != RecordKind::kPresent) {
    return refuse(stranger, "it does not answer its welcome first");
  }
  return seat(stranger, number_in(record.body));
}

bool RankReception::greet(Stranger& stranger, const Greeting& greeting) {
  const auto ranks = static_cast<Rank>(joined_.size());
  const std::string rank = "rank " + std::to_string(greeting.rank);
  if (!is_same(greeting.token, token_)) {
    const std::string brought = greeting.token.empty() ? "brings no token" : "brings another token";
    note(stranger, rank + " " + (token_.empty() ? "brings a token, and rank 0 has none" : brought));
    return true;
  }
  if (greeting.ranks != ranks) {
    return refuse(stranger, rank + " counts " + std::to_string(greeting.ranks) + " ranks, rank 0 " +
                                std::to_string(ranks));
  }
  if (greeting.rank < 1 || greeting.rank >= ranks) {
    return refuse(stranger, "there is no " + rank + " to join");
  }
  if (is_taken(greeting.rank)) return refuse_second(stranger, greeting.rank);
  stranger.rank = greeting.rank;
  stranger.welcome = drawn_number();
  stranger.until = Clock::now() + kGreetingDeadline;
  stranger.link.send(RecordKind::kWelcome, body_of_number(stranger.welcome));
  return false;
}

bool RankReception::seat(Stranger& stranger, std::uint64_t welcome) {
  if (welcome != stranger.welcome) return refuse(stranger, "it answers another welcome");
  if (is_taken(stranger.rank)) return refuse_second(stranger, stranger.rank);
  joined_[static_cast<std::size_t>(stranger.rank)] = std::move(stranger.link);
  return true;
}

bool RankReception::is_taken(Rank rank) {
  const auto& place = joined_[static_cast<std::size_t>(rank)];
  return place && !has_gone(*place);
}

bool RankReception::refuse_second(Stranger& stranger, Rank rank) {
  const RecordLink& first = *joined_[static_cast<std::size_t>(rank)];
  return refuse(stranger, "rank " + std::to_string(rank) + " has joined already, from " +
                              text_of(peer_address(first.socket())) +
                              ": two processes say they are it");
}

void RankReception::note(const Stranger& stranger, const std::string& why) {
  if (refusals_.size() < kMostTold) refusals_.push_back(stranger.from + ": " + why);
}

bool RankReception::refuse(Stranger& stranger, const std::string& why) {
  stranger.link.send(RecordKind::kRefused, body_of_text(why));
  note(stranger, why);
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
  for (const Rank rank : gone_) text += "; rank " + std::to_string(rank) + " came and went again";
  for (const std::string& refusal : refusals_) text += "; sent away: " + refusal;
  return text;
}

RecordLink join_rank0(const SocketAddress& rank0, const RendezvousSettings& settings) {
  GRADHAUL_ASSERT(settings.rank > 0 && settings.rank < settings.ranks, "rank 0 is the host");
  const Clock::time_point until = Clock::now() + settings.join_deadline;
  Socket socket = reach(rank0, until);
  RecordLink link(std::move(socket), kLongestRecord);
  link.send(RecordKind::kHello, body_of(Greeting{settings.rank, settings.ranks, settings.token}));
  const std::string where = "rank 0 at " + text_of(rank0);
  try {
    std::optional<Record> answer = link.next();
    while (!answer) {
      if (link.over()) {
        throw ExchangeError(where + " closed the connection without a word" +
                            "; is it of the same run, with the same token?");
      }
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
    link.send(RecordKind::kPresent, body_of_number(number_in(answer->body)));
  } catch (const WireError& error) {
    throw ExchangeError(where + " can't be understood: " + error.what());
  }
  return link;
}

}  // namespace gradhaul
