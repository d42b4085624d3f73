// Which station steps when, and how far. Each has a clock of its own. It is brought to a time when
// others need to know what it has done by then, and before events after which it may do something
// that they see; whatever feeds it is brought there first, earlier by what packets take from there.
// So a station is stepped for as long as possible at once, and not because of what others do: with
// a thousand NICs one of them has something to say every few nanoseconds.

#include <algorithm>
#include <utility>

#include "sim/packet_transport.h"
#include "sim/stations.h"

namespace gradhaul {
namespace {

// ps: so far apart clocks may be, so that what stations keep for each other stays little.
constexpr std::int64_t kFurthestApart = 2'000'000;

}  // namespace

// While stations step, the engine's time is theirs.
class Stations::Stepping {
 public:
  explicit Stepping(Stations& stations)
      : stations_(stations),
        now_(stations.engine_.now_),
        was_ahead_(std::exchange(stations.engine_.ahead_, true)) {
    stations.stepping_ = true;
  }
  Stepping(const Stepping&) = delete;
  Stepping& operator=(const Stepping&) = delete;
  ~Stepping() {
    stations_.stepping_ = false;
    stations_.engine_.ahead_ = was_ahead_;
    stations_.engine_.now_ = now_;
  }

 private:
  Stations& stations_;
  std::int64_t now_;
  bool was_ahead_;
};

void Stations::stretch_windows(int times) {
  for (CreditGate& gate : gates_) gate.stretch(times);
  if (waits_) return;
  for (std::vector<Input>& inputs : inputs_) {
    for (Input& input : inputs) input.ahead *= times;
  }
}

void Stations::advance(std::int64_t limit) {
  const Stepping stepping(*this);
  while (true) {
    const std::int64_t stop = std::min(limit, engine_.wheel_.next_time());
    const std::int64_t quiet = quiet_.time();
    if (quiet >= stop) break;
    const std::size_t station = quiet_.which();
    if (clocks_[station] > quiet) {
      look_again(station);
      continue;
    }
    // What is seen then has taken some time on a link.
    most_ = quiet + 1;
    bring(station, most_);
  }
  const std::int64_t next = std::min(limit, engine_.wheel_.next_time());
  if (next == limit || next - kFurthestApart > last_check_) bring_all(next);
}

// It has done nothing of what it was expected to by then: it waits for something else, as for its
// turn of a NIC's messages a second.
void Stations::look_again(std::size_t station) {
  const std::int64_t clock = clocks_[station];
  if (station < nics_.size()) {
    look_ahead(nics_[station], clock);
  } else {
    look_ahead(wires_[station - nics_.size()], clock);
  }
}

void Stations::catch_up() {
  if (stepping_) return;
  const Stepping stepping(*this);
  bring_all(engine_.now_);
}

void Stations::catch_up(LinkId link) {
  const std::int32_t station = station_of_[static_cast<std::size_t>(link)];
  if (stepping_ || station == kNone) return;
  if (clocks_[static_cast<std::size_t>(station)] >= engine_.now_) return;
  const Stepping stepping(*this);
  most_ = engine_.now_;
  bring(static_cast<std::size_t>(station), most_);
}

void Stations::bring_all(std::int64_t time) {
  most_ = time;
  for (std::size_t station = 0; station < clocks_.size(); ++station) bring(station, time);
  for (WireCredits* credits : watched_credits_) credits->check();
  last_check_ = std::max(last_check_, time);
}

// At least so far; and on, as far as all that feeds it has come. What it waits for is brought on
// no further than it takes, and so never waits for this one in turn.
void Stations::bring(std::size_t station, std::int64_t least) {
  while (clocks_[station] < least) {
    std::int64_t come = INT64_MAX;
    for (const Input& input : inputs_[station]) {
      come = std::min(come, bring_output(input.station, least - input.ahead) + input.ahead);
    }
    if (station < nics_.size()) {
      bring(nics_[station], std::min(most_, come));
    } else {
      bring(wires_[station - nics_.size()], come);
    }
    if (clocks_[station] < least) tell_credits(station);
  }
}

void Stations::bring(Wire& wire, std::int64_t come) {
  std::int64_t& clock = clocks_[number_of(wire)];
  const std::int64_t reached = *wire.next < most_
                                   ? step(wire, come, most_)
                                   : std::min(most_, std::max(come, wire.state->free));
  clock = std::max(clock, reached);
}

// All that leaves it by its wire, at least so long: until when that is known then.
std::int64_t Stations::bring_output(std::size_t station, std::int64_t least) {
  if (station >= nics_.size()) {
    bring(station, least);
    return clocks_[station];
  }
  Nic& nic = nics_[station];
  while (nic.out_clock < least) {
    const std::int64_t end = std::min({most_, nic.unlike, clocks_[station] + reading_});
    if (end > nic.out_clock) {
      const std::int64_t reached = step_out(nic, end);
      if (reached <= nic.out_clock) tell_credits(station);
      nic.out_clock = std::max(nic.out_clock, reached);
    } else {
      bring(station, std::min(least, nic.out_clock + 1));
    }
  }
  return nic.out_clock;
}

// Less far where it waits for credits of which too little is known.
void Stations::bring(Nic& nic, std::int64_t time) {
  std::int64_t& clock = clocks_[number_of(nic)];
  if (clock < time && *nic.next < time) {
    const bool all = step_apart(nic, time);
    look_ahead(nic, clock);
    if (!all) return;
  }
  clock = std::max(clock, time);
  nic.out_clock = std::max(nic.out_clock, clock);
}

// Where a NIC asks for nothing that is not plain, its wire is stepped for as long as no data come
// that it asks for meanwhile, and then the links to its GPU. Else it is stepped as a whole. Whether
// it came so far.
bool Stations::step_apart(Nic& nic, std::int64_t time) {
  std::int64_t& clock = clocks_[number_of(nic)];
  while (clock < time && *nic.next < time) {
    if (nic.out_clock > clock) {
      const std::int64_t end = std::min(time, nic.out_clock);
      step_up(nic, end);
      clock = end;
      continue;
    }
    const std::int64_t from = std::max(clock, *nic.next);
    const std::int64_t apart = std::min({time, nic.unlike, from + reading_});
    const std::int64_t end = std::min(time, std::max(apart, from + window_));
    if (end <= apart) {
      nic.out_clock = std::max(clock, step_out(nic, end));
    } else {
      clock = nic.out_clock = std::max(clock, step(nic, end));
    }
    if (nic.out_clock < end && nic.out_clock == clock) return false;
  }
  return true;
}

}  // namespace gradhaul
