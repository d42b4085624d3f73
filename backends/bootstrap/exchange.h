#pragma once

// What ranks tell each other out of band, before and between collectives: addresses, settings that
// must agree, results. Its first implementation is the TCP rendezvous beside it.

#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/communication.h"

namespace gradhaul {

// A peer is gone, does not speak our language, or did not come within the deadline. The message
// names it.
class ExchangeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The first thing that went wrong on a rank, as it is told to all others.
struct RankFailure {
  Rank rank = 0;     // who saw it
  Rank peer = -1;    // whom it concerns; -1: nobody else
  std::string what;  // one sentence
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual Rank rank() const = 0;
  virtual Rank ranks() const = 0;

  // Each rank gives a record of any length and gets all of them, in rank order. Every rank calls it
  // as often as every other. Throws ExchangeError.
  virtual std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> record) = 0;

  // Tells all others, wherever they are, that this rank gives up. Does not wait for them.
  virtual void abort(const RankFailure& failure) = 0;
  // Whether another rank gave up or is gone; cheap enough to ask while polling. Does not block.
  virtual std::optional<RankFailure> aborted() = 0;
  // Once this rank or another gave up: what all of them have to say of it, the likeliest cause
  // first (backends/bootstrap/failure_order.h). Waits for them, within a deadline of its own;
  // nothing can be exchanged afterwards.
  virtual std::vector<RankFailure> failures() {
    const std::optional<RankFailure> first = aborted();
    return first ? std::vector<RankFailure>{*first} : std::vector<RankFailure>{};
  }
};

}  // namespace gradhaul
