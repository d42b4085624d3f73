#include "backends/measure/measure_pairs.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "backends/measure/write_stream.h"
#include "core/tournament.h"

namespace gradhaul {
namespace {

using std::chrono::nanoseconds;
constexpr int kRepeats = 2;

using Pairs = std::vector<std::pair<int, int>>;  // from, to

Pairs turned(const Pairs& pairs) {
  Pairs other;
  for (const auto& [from, to] : pairs) other.emplace_back(to, from);
  return other;
}

// What of a round writes at once.
std::vector<Pairs> together(const Pairs& there, Duration PairTime::*field) {
  const Pairs back = turned(there);
  if (field == &PairTime::one_way) return {there, back};
  Pairs both = there;
  both.insert(both.end(), back.begin(), back.end());
  return {both};
}

class PairMeasurement {
 public:
  PairMeasurement(const MeasureRequest& request, const RankResources& rank)
      : request_(request), rank_(rank) {}

  // Whether it was not interrupted.
  bool run() {
    for (int nic = 0; nic < request_.pairs->nics; ++nic) {
      for (const Pairs& pairs : tournament(request_.cluster.nodes)) {
        if (!run_round(nic, pairs)) return false;
      }
    }
    for (int again = 0; again < kRepeats; ++again) {
      if (!run_slow_again(&PairTime::one_way) || !run_slow_again(&PairTime::both_ways))
        return false;
    }
    return true;
  }

  std::vector<PairTime> times() const {
    std::vector<PairTime> times;
    for (const auto& [key, time] : times_) times.push_back(time);
    return times;
  }

 private:
  bool run_round(int nic, const Pairs& pairs) {
    for (const auto field : {&PairTime::one_way, &PairTime::both_ways}) {
      for (const Pairs& each : together(pairs, field)) {
        if (!run_stream(nic, each, field)) return false;
      }
    }
    return true;
  }

  // The same rounds as far as one in them is slow: all ranks know the same times.
  bool run_slow_again(Duration PairTime::*field) {
    const std::vector<PairTime> all = times();
    const std::vector<bool> slow = slow_pairs(all, field);
    const auto is_slow = [&](int nic, const std::pair<int, int>& pair) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (slow[i] && all[i].nic == nic && all[i].from == pair.first && all[i].to == pair.second) {
          return true;
        }
      }
      return false;
    };
    for (int nic = 0; nic < request_.pairs->nics; ++nic) {
      for (const Pairs& there : tournament(request_.cluster.nodes)) {
        for (const Pairs& pairs : together(there, field)) {
          const bool any = std::any_of(pairs.begin(), pairs.end(),
                                       [&](const auto& pair) { return is_slow(nic, pair); });
          if (any && !run_stream(nic, pairs, field)) return false;
        }
      }
    }
    return true;
  }

  bool run_stream(int nic, const Pairs& pairs, Duration PairTime::*field) {
    const int per_node = request_.cluster.ranks_per_node;
    WriteStreamSettings settings;
    for (const auto& [from, to] : pairs) {
      settings.writes.push_back(
          {.channel = nic, .source = from * per_node, .destination = to * per_node});
    }
    settings.size = request_.pairs->size;
    settings.slice = std::min(settings.size, request_.communication.slot_size);
    settings.slots = request_.pairs->slots;
    settings.queue_pairs = streams_of(request_.communication);
    settings.timeout = request_.timeout;
    WriteStream stream(settings, rank_.exchange, rank_.endpoints, rank_.memory);
    const auto by_iteration = stream.times(request_.series, request_.interrupted);
    if (!by_iteration) return false;
    for (const auto& [from, to] : pairs) {
      std::vector<nanoseconds> times;
      for (const std::vector<nanoseconds>& iteration : *by_iteration) {
        times.push_back(std::max(iteration[static_cast<std::size_t>(from * per_node)],
                                 iteration[static_cast<std::size_t>(to * per_node)]));
      }
      PairTime& time = times_[{nic, from, to}];
      time.nic = nic;
      time.from = from;
      time.to = to;
      const Duration median = summary_of(times).p50;
      if ((time.*field).ps == 0) {
        time.*field = median;
        continue;
      }
      time.*field = std::min(time.*field, median);
      if (field == &PairTime::one_way) ++time.repeats;
    }
    return true;
  }

  const MeasureRequest& request_;
  const RankResources& rank_;
  std::map<std::tuple<int, int, int>, PairTime> times_;
};

}  // namespace

std::optional<std::vector<PairTime>> measure_pairs(const MeasureRequest& request,
                                                   const RankResources& rank) {
  PairMeasurement pairs(request, rank);
  if (!pairs.run()) return std::nullopt;
  return pairs.times();
}

}  // namespace gradhaul
