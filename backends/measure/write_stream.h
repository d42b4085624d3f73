#pragma once

// Writes between pairs of ranks over a real transport: slices into receive slots, each of which is
// given back as soon as its slice has come, and nothing done with what came. So what is timed is
// the transport alone, without reductions and copies; sim/pair_write.h predicts the same.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "backends/measure/endpoint_maker.h"
#include "backends/measure/iteration_series.h"
#include "backends/measure/rank_memory.h"

namespace gradhaul {

struct WriteStreamSettings {
  std::vector<ConnectionKey> writes;  // of all ranks; those of this one are its part
  Bytes size;                         // written on each
  Bytes slice;
  int slots = 8;
  int queue_pairs = 1;
  std::chrono::nanoseconds timeout{};  // without any progress
  // To and fro: a slice is written when the one before it has come, which went the other way. The
  // first of `writes` begins; the other one leads back.
  bool in_turns = false;
  // A sender is done when its slots have come back: what it then knows to have arrived, and when,
  // is by its own clock and start alone.
  bool until_returned = false;
};

class WriteStream {
 public:
  // All outlive it.
  WriteStream(const WriteStreamSettings& settings, Exchange& exchange, EndpointMaker& endpoints,
              RankMemory& memory);

  // By iteration, what it took each rank from its start, which all agreed on, until it knew that
  // its writes were done and those of others had come; 0 for who took no part. Nothing where a rank
  // was interrupted. All ranks call it at once. Throws RankFailed, OthersFailed, ExchangeError,
  // std::bad_alloc.
  std::optional<std::vector<std::vector<std::chrono::nanoseconds>>> times(
      const SeriesSettings& series, const std::atomic<bool>* interrupted);
  // Of the endpoint, once it has been measured.
  const std::vector<std::pair<std::string, std::string>>& facts() const { return facts_; }

 private:
  std::vector<ConnectionEnd> ends() const;

  const WriteStreamSettings& settings_;
  Exchange& exchange_;
  EndpointMaker& endpoints_;
  RankMemory& memory_;
  std::vector<std::pair<std::string, std::string>> facts_;
};

}  // namespace gradhaul
