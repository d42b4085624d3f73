#pragma once

// How ranks come together: rank 0 listens, the others connect to it and say who they are.

#include <poll.h>

#include <chrono>
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
};

// Of rank 0. Strangers at the port are dropped: who does not say within some seconds, in our
// language, which rank it is, and whoever says it wrongly.
class RankReception {
 public:
  RankReception(Socket listener, Rank ranks);

  // Whom to wait for with poll(): readable.
  void add_to(std::vector<pollfd>& waiting) const;
  // Takes in who came, never waiting.
  void admit();
  // The link to a rank from 1 on, once it has joined. Where it is over and taken away, the rank may
  // join again.
  std::optional<RecordLink>& link(Rank rank) { return joined_[static_cast<std::size_t>(rank)]; }
  std::vector<Rank> missing() const;
  // One sentence: who did not come within that time, and who came and was sent away.
  std::string who_is_missing(std::chrono::milliseconds after) const;

 private:
  struct Stranger {
    RecordLink link;
    std::string from;
    std::chrono::steady_clock::time_point until;
  };
  // Whether it is a rank by now, or has been sent away.
  bool is_settled(Stranger& stranger);
  bool greet(Stranger& stranger, const Greeting& greeting);
  bool refuse(Stranger& stranger, const std::string& why);

  Socket listener_;
  std::vector<std::optional<RecordLink>> joined_;  // by rank
  std::list<Stranger> strangers_;
  std::vector<std::string> refusals_;
};

// Of another rank: a link to rank 0, which may come later. Throws ExchangeError.
RecordLink join_rank0(const SocketAddress& rank0, const RendezvousSettings& settings);

}  // namespace gradhaul
