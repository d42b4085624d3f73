#pragma once

// How ranks come together: rank 0 listens, the others connect to it and say who they are.

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "backends/bootstrap/exchange_records.h"
#include "backends/bootstrap/record_link.h"
#include "core/communication.h"

namespace gradhaul {

struct RendezvousSettings {
  Rank rank = 0;
  Rank ranks = 2;
  std::chrono::milliseconds join_deadline{30'000};  // until all are there
  std::chrono::milliseconds deadline{30'000};       // until all came to the same point
  // Asked now and then while ranks are awaited: why there is no hope, if that is known.
  std::function<std::optional<std::string>()> hopeless;
  // What the ranks of this run know, and nobody else; at most kLongestToken bytes. Empty: nothing.
  std::string token = {};
};

// Of rank 0. Strangers at the port are dropped: who does not say within some seconds, in our
// language, which rank it is, whoever says it wrongly, and who does not answer its welcome; before
// that nobody has a rank's place. Who brings another token is told nothing. Where there is no token
// nothing tells a rank from whoever joins as one does: the first has the place as long as it stays,
// and of a second the addresses of both are told. Tokens are sent as they are, so that who listens
// on the way has them.
class RankReception {
 public:
  RankReception(Socket listener, Rank ranks, std::string token = {});

  // Whom to wait for with poll(): readable.
  void add_to(std::vector<pollfd>& waiting) const;
  // Takes in who came, never waiting.
  void admit();
  // The link to a rank from 1 on, once it has joined. Where it is over and taken away, the rank may
  // join again.
  std::optional<RecordLink>& link(Rank rank) { return joined_[static_cast<std::size_t>(rank)]; }
  std::vector<Rank> missing() const;
  // Who came and went again is missing from now on.
  void give_places_back();
  // From where, and why; the first of them.
  const std::vector<std::string>& sent_away() const { return refusals_; }
  // One sentence: who did not come within that time, who came and went again or was sent away.
  std::string who_is_missing(std::chrono::milliseconds after) const;

 private:
  struct Stranger {
    RecordLink link;
    std::string from;
    std::chrono::steady_clock::time_point until;
    Rank rank = 0;  // as which it was welcomed; 0: not yet
    std::uint64_t welcome = 0;
  };
  // Whether it is a rank by now, or has been sent away.
  bool is_settled(Stranger& stranger);
  bool take(Stranger& stranger, const Record& record);
  bool greet(Stranger& stranger, const Greeting& greeting);
  bool seat(Stranger& stranger, std::uint64_t welcome);
  bool is_taken(Rank rank);
  bool refuse_second(Stranger& stranger, Rank rank);
  void note(const Stranger& stranger, const std::string& why);
  bool refuse(Stranger& stranger, const std::string& why);

  Socket listener_;
  std::string token_;
  std::vector<std::optional<RecordLink>> joined_;  // by rank
  std::list<Stranger> strangers_;
  std::vector<std::string> refusals_;
  std::vector<Rank> gone_;  // that have given their places back
};

// Of another rank: a link to rank 0, which may come later. Throws ExchangeError.
RecordLink join_rank0(const SocketAddress& rank0, const RendezvousSettings& settings);

}  // namespace gradhaul
