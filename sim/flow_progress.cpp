#include "sim/flow_progress.h"

#include <algorithm>
#include <utility>

#include "sim/link_digest.h"

namespace gradhaul {
namespace {

// Of a ring's steps so many at least are compared with those before them.
constexpr std::int64_t kLeastCompared = 8;

std::int64_t share_of(std::int64_t whole, std::int64_t part, std::int64_t parts) {
  return static_cast<std::int64_t>(Int128{whole} * part / parts);
}

}  // namespace

FlowProgress::FlowProgress(const FlowPlan& plan, const FlowPaths& paths, FlowBlame& costs,
                           bool skip)
    : plan_(plan),
      paths_(paths),
      costs_(costs),
      skip_(skip && plan.ring),
      dates_(plan.conveyors.size()),
      states_(plan.conveyors.size()) {
  GRADHAUL_ASSERT(paths.paths.size() == plan.conveyors.size(), "each conveyor has its path");
  for (std::size_t i = 0; i < plan.conveyors.size(); ++i) {
    const auto number = static_cast<std::int32_t>(i);
    const Conveyor& conveyor = plan.conveyors[i];
    transfers_ += conveyor.transfers;
    for (const FlowInput& input : conveyor.inputs)
      state(input.conveyor).followers.push_back(number);
    if (conveyor.after >= 0) state(conveyor.after).followers.push_back(number);
    if (conveyor.follows >= 0) state(conveyor.follows).followers.push_back(number);
  }
  if (plan.ring && !plan.conveyors.empty()) {
    finished_.resize(static_cast<std::size_t>(plan.conveyors.front().transfers), 0);
  }
}

void FlowProgress::begin() {
  const ChainId start = blame_.start();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    blame_.hold(start);
    states_[i].ready_chain = start;
    due_.push_back(static_cast<std::int32_t>(i));
  }
  blame_.let_go(start);
  look_at_due();
}

void FlowProgress::on_end(std::int32_t conveyor, std::int64_t time) {
  now_ = time;
  state(conveyor).flow_end = time;
  due_.push_back(conveyor);
  look_at_due();
}

std::vector<FlowStart> FlowProgress::take_starts() { return std::exchange(starts_, {}); }

// In the order in which they became due.
void FlowProgress::look_at_due() {
  for (std::size_t i = 0; i < due_.size() && !complete(); ++i) {
    const std::int32_t conveyor = due_[i];
    if (try_settle(conveyor)) add_followers(conveyor);
    if (!complete() && try_start(conveyor)) add_followers(conveyor);
  }
  due_.clear();
}

void FlowProgress::add_followers(std::int32_t conveyor) {
  const std::vector<std::int32_t>& followers = state(conveyor).followers;
  due_.insert(due_.end(), followers.begin(), followers.end());
}

bool FlowProgress::may_start(std::int32_t conveyor, std::int64_t transfer) {
  const State& own = state(conveyor);
  if (own.started != own.settled || transfer == of(conveyor).transfers) return false;
  for (const FlowInput& input : of(conveyor).inputs) {
    if (state(input.conveyor).started <= transfer - input.behind) return false;
  }
  const std::int32_t follows = of(conveyor).follows;
  if (follows >= 0 && state(follows).settled < of(follows).transfers) return false;
  const std::int32_t after = of(conveyor).after;
  return after < 0 || state(after).started == of(after).transfers;
}

bool FlowProgress::try_start(std::int32_t conveyor) {
  State& own = state(conveyor);
  const std::int64_t transfer = own.started;
  if (!may_start(conveyor, transfer)) return false;
  Origin origin = start_of(conveyor, transfer);
  origin.time = std::max(origin.time, now_);
  replace(own.starts[transfer % kChains], start_chain(conveyor, origin));
  dates_.add_start(conveyor, transfer, origin.time);
  ++own.started;
  starts_.push_back({conveyor, of(conveyor).units_of(transfer), origin.time});
  return true;
}

FlowProgress::Origin FlowProgress::start_of(std::int32_t number, std::int64_t transfer) {
  const Conveyor& conveyor = of(number);
  Origin origin{state(number).ready, Event::kEnd, number, 0};
  if (conveyor.follows >= 0) {
    origin.offer({state(conveyor.follows).ready, Event::kEnd, conveyor.follows, 0});
  }
  for (const FlowInput& input : conveyor.inputs) {
    const std::int64_t needed = transfer - input.behind;
    if (needed < 0 || !dates_.keeps(input.conveyor, needed)) continue;
    const std::int64_t there = dates_.start(input.conveyor, needed) + of(input.conveyor).first.ps;
    origin.offer({there, Event::kSlice, input.conveyor, needed});
  }
  if (conveyor.after >= 0 && transfer == 0) {
    const std::int64_t last = of(conveyor.after).transfers - 1;
    origin.offer({dates_.start(conveyor.after, last), Event::kStart, conveyor.after, last});
  }
  const std::int64_t emptied = transfer - conveyor.window;
  if (conveyor.window > 0 && emptied >= 0 && dates_.keeps(number, emptied)) {
    const std::int64_t free =
        dates_.start(number, emptied) + (conveyor.first + conveyor.slot_return).ps;
    origin.offer({free, Event::kSlot, number, emptied});
  }
  return origin;
}

ChainId FlowProgress::start_chain(std::int32_t conveyor, const Origin& origin) {
  const State& own = state(conveyor);
  const State& before = state(origin.conveyor);
  Trace waiting;
  ChainId cause = before.ready_chain;
  std::int64_t from = before.ready;
  if (origin.event != Event::kEnd) {
    cause = kept(before.starts, origin.transfer, before.started);
    from = dates_.start(origin.conveyor, origin.transfer);
  }
  if (cause == kNoChain) {
    cause = own.ready_chain;
    from = own.ready;
  } else if (origin.event == Event::kSlice || origin.event == Event::kSlot) {
    waiting = costs_.first_slice(origin.conveyor);
  }
  // What is left: the slot's way back, or what came later than it could.
  const std::int64_t left = origin.time - from - waiting.total();
  if (origin.event == Event::kSlot) {
    waiting.add(kNoResource, Cause::kSlots, left);
  } else {
    waiting.add(costs_.narrow(origin.conveyor), Cause::kBusy, left);
  }
  return blame_.extend(cause, waiting);
}

bool FlowProgress::try_settle(std::int32_t conveyor) {
  State& own = state(conveyor);
  if (own.flow_end < 0) return false;
  const std::int64_t transfer = own.settled;
  const Origin flow{own.flow_end, Event::kEnd, conveyor, transfer};
  Origin input;  // the last of them
  for (const FlowInput& each : of(conveyor).inputs) {
    const std::int64_t needed = transfer - each.behind;
    if (needed < 0) continue;
    if (state(each.conveyor).settled <= needed) return false;
    if (!dates_.keeps(each.conveyor, needed)) continue;
    const std::int64_t last = dates_.arrival(each.conveyor, needed) + pace(conveyor);
    input.offer({last, Event::kSlice, each.conveyor, needed});
  }
  Origin origin = flow;
  origin.offer(input);
  const ChainId chain = end_chain(conveyor, transfer, origin);
  Trace rest = costs_.behind_slowest(conveyor);
  if (origin.event == Event::kEnd) {
    const std::int64_t took = flow.time - dates_.start(conveyor, transfer);
    const TracePart early = costs_.early(conveyor, of(conveyor).units_of(transfer), took);
    rest.add(early.resource, early.cause, -std::min(early.ps, flow.time - input.time));
  }
  const std::int64_t arrival = origin.time + rest.total();
  replace(own.arrivals[transfer % kChains], blame_.extend(chain, rest));
  replace(own.ready_chain, chain);
  own.ready = origin.time;
  own.flow_end = -1;
  ++own.settled;
  dates_.add_arrival(conveyor, transfer, arrival);
  on_settled(conveyor, transfer, arrival);
  return true;
}

// Of a transfer whose last slice follows another's, or whose flow came to its end.
ChainId FlowProgress::end_chain(std::int32_t conveyor, std::int64_t transfer,
                                const Origin& origin) {
  const std::int64_t units = of(conveyor).units_of(transfer);
  const State& before = state(origin.conveyor);
  if (origin.event == Event::kSlice) {
    const ChainId cause = kept(before.arrivals, origin.transfer, before.settled);
    const Trace last = costs_.flow(conveyor, units, pace(conveyor));
    if (cause != kNoChain) return blame_.extend(cause, last);
  }
  const std::int64_t flow = origin.time - dates_.start(conveyor, transfer);
  return blame_.extend(state(conveyor).starts[transfer % kChains],
                       costs_.flow(conveyor, units, flow));
}

ChainId FlowProgress::kept(const ChainId (&chains)[kChains], std::int64_t transfer,
                           std::int64_t count) const {
  return count - transfer <= kChains ? chains[transfer % kChains] : kNoChain;
}

void FlowProgress::replace(ChainId& place, ChainId chain) {
  if (place != kNoChain) blame_.let_go(place);
  place = chain;
}

void FlowProgress::on_settled(std::int32_t conveyor, std::int64_t transfer, std::int64_t arrival) {
  ++settled_;
  if (arrival > end_ || last_chain_ == kNoChain) {
    end_ = std::max(end_, arrival);
    const ChainId chain = state(conveyor).arrivals[transfer % kChains];
    blame_.hold(chain);
    replace(last_chain_, chain);
  }
  if (!plan_.ring) return;
  ++finished_[static_cast<std::size_t>(transfer)];
  const auto all = static_cast<std::int64_t>(states_.size());
  if (finished_[static_cast<std::size_t>(transfer)] < all) return;
  whole_steps_ = transfer + 1;
  if (!skip_ || whole_steps_ == steps()) return;
  if (const auto found = dates_.recurrence(whole_steps_, kLeastCompared)) {
    recurrence_ = *found;
    extrapolate();
  }
}

// Every conveyor's last arrival is that of the step as many periods before it that was simulated,
// and these periods.
void FlowProgress::extrapolate() {
  const std::int64_t left = steps() - whole_steps_;
  const std::int64_t periods = (left + recurrence_.period - 1) / recurrence_.period;
  const std::int64_t step = steps() - 1 - periods * recurrence_.period;
  std::int64_t end = 0;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const auto conveyor = static_cast<std::int32_t>(i);
    const std::int64_t arrival = dates_.arrival(conveyor, step);
    const std::int64_t each = dates_.arrival(conveyor, whole_steps_ - 1) -
                              dates_.arrival(conveyor, whole_steps_ - 1 - recurrence_.period);
    end = std::max(end, arrival + each * periods);
  }
  extrapolated_ = end - end_;
  end_ = end;
  rounding_error_ = {recurrence_.spread * periods};
}

double FlowProgress::progress() const {
  if (complete()) return 1;
  return static_cast<double>(settled_) / static_cast<double>(transfers_);
}

std::int64_t FlowProgress::steps() const {
  return plan_.conveyors.empty() ? 0 : plan_.conveyors.front().transfers;
}

std::int64_t FlowProgress::simulated_steps() const {
  return recurrence_.period > 0 ? whole_steps_ : steps();
}

// What was not simulated goes where what was has gone.
std::vector<TracePart> FlowProgress::critical_path() const {
  if (last_chain_ == kNoChain) return {};
  std::vector<TracePart> parts = blame_.parts(last_chain_);
  const std::int64_t known = end_ - extrapolated_;
  std::int64_t before = 0;
  std::int64_t added = 0;
  for (TracePart& part : parts) {
    before += part.ps;
    const std::int64_t now = share_of(extrapolated_, before, std::max<std::int64_t>(1, known));
    part.ps += now - added;
    added = now;
  }
  return parts;
}

std::uint64_t FlowProgress::digest() const {
  RunDigest digest;
  for (const std::int64_t number : {end_, whole_steps_, recurrence_.period, settled_}) {
    digest.add(static_cast<std::uint64_t>(number));
  }
  for (const State& state : states_) {
    digest.add(static_cast<std::uint64_t>(state.ready));
    digest.add(static_cast<std::uint64_t>(state.settled));
  }
  return digest.value();
}

}  // namespace gradhaul
