#include "sim/blame.h"

#include <algorithm>
#include <utility>

namespace gradhaul {
namespace {

std::int64_t key_of(const TracePart& part) {
  return (static_cast<std::int64_t>(part.resource) + 1) * kCauses +
         static_cast<std::int64_t>(part.cause);
}

// With its resource `by` copies on.
TracePart moved_part(const PartSums::Entry& entry, int by, const Copies& copies) {
  const auto resource = static_cast<ResourceId>(entry.key / kCauses - 1);
  return {copies.seen(resource, by), static_cast<Cause>(entry.key % kCauses), entry.ps};
}

}  // namespace

const char* name_of(Cause cause) {
  switch (cause) {
    case Cause::kBusy:
      return "busy";
    case Cause::kCredits:
      return "credits";
    case Cause::kPaused:
      return "paused";
    case Cause::kPaced:
      return "paced";
    case Cause::kReadTags:
      return "reads outstanding";
    case Cause::kLatency:
      return "latency";
    case Cause::kDoorbell:
      return "post and doorbell";
    case Cause::kCompletion:
      return "completion";
    case Cause::kFlag:
      return "kernel and host flags";
    case Cause::kLaunch:
      return "kernel launch";
    case Cause::kSlots:
      return "slot credits";
    case Cause::kLateStart:
      return "late start";
    case Cause::kCompute:
      return "compute";
    case Cause::kResent:
      return "retransmission";
    case Cause::kAckTimeout:
      return "ACK timeout";
    case Cause::kReordered:
      return "reordering";
    case Cause::kSlowed:
      return "compute beside collectives";
    case Cause::kStaging:
      return "starting copies";
    case Cause::kThread:
      return "communication thread";
    case Cause::kWakeUp:
      return "interrupt and wake-up";
    case Cause::kRegistration:
      return "registering memory";
    case Cause::kFlush:
      return "flush";
    case Cause::kContext:
      return "context misses";
    case Cause::kQueuePair:
      return "queue pair rate";
    case Cause::kNotReady:
      return "no receive posted";
    case Cause::kStorm:
      return "pause storm";
    case Cause::kMistaken:
      return "taken for lost";
  }
  return "";
}

void ChainHistory::follow(const ChainHistory& earlier, const Copies& copies) {
  if (earlier.copy != 0) {
    PartSums moved;
    for (const PartSums::Entry& entry : sums.entries())
      moved.add({key_of(moved_part(entry, earlier.copy, copies)), entry.ps});
    sums = std::move(moved);
    copy = copies.plus(earlier.copy, copy);
  }
  origin = earlier.origin;
  sums.add(earlier.sums);
}

std::vector<TracePart> ChainHistory::parts(const Copies& copies) const {
  const std::vector<PartSums::Entry> all = sums.sums();
  std::vector<TracePart> parts;
  parts.reserve(all.size());
  const int back = copies.minus(0, copy);
  for (const PartSums::Entry& entry : all) parts.push_back(moved_part(entry, back, copies));
  if (back != 0) {
    std::sort(parts.begin(), parts.end(),
              [](const TracePart& a, const TracePart& b) { return key_of(a) < key_of(b); });
  }
  return parts;
}

void Blame::free_node(ChainId id) {
  Node& freed = node(id);
  freed.past = -1;
  freed.holders = 0;
  // What grew large is given back; the small ones are about to be used again.
  constexpr std::size_t kSmall = 32;
  freed.own.sums.clear(kSmall);
  free_.push_back(id);
}

void Blame::fold_all() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].holders > 0) fold(static_cast<ChainId>(i));
  }
  fold_all_at_ = std::max<std::size_t>(4096, 2 * live());
}

ChainId Blame::add_node() {
  if (live() >= fold_all_at_) fold_all();
  ChainId id = 0;
  if (free_.empty()) {
    id = static_cast<ChainId>(nodes_.size());
    nodes_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  Node& added = node(id);
  added.past = -1;
  added.holders = 1;
  added.own.origin = -1;
  added.own.copy = 0;
  return id;
}

ChainId Blame::start(std::int32_t origin) {
  const ChainId id = add_node();
  node(id).own.origin = origin;
  return id;
}

// Takes into `id` what nothing else refers to; a long past only with enough at a time to be worth
// fetching it.
void Blame::fold(ChainId id) {
  constexpr std::size_t kLong = 64;
  while (node(id).past >= 0 && node(node(id).past).holders == 1) {
    const ChainId past = node(id).past;
    Node& child = node(id);
    Node& parent = node(past);
    if (parent.own.sums.size() >= kLong && child.own.sums.size() < kLong / 2) return;
    if (parent.own.sums.size() > child.own.sums.size()) std::swap(parent.own.sums, child.own.sums);
    // Both count from the origin.
    child.own.sums.add(parent.own.sums);
    child.own.origin = parent.own.origin;
    child.past = parent.past;
    free_node(past);
  }
}

ChainId Blame::extend(ChainId chain, const Trace& parts, int shift) {
  fold(chain);
  const ChainId id = add_node();
  Node& added = node(id);
  added.past = chain;
  hold(chain);
  const int copy = node(chain).own.copy;
  added.own.copy = copies_.plus(copy, shift);
  for (int i = 0; i < parts.count; ++i) {
    TracePart part = parts.parts[static_cast<std::size_t>(i)];
    if (part.ps == 0) continue;
    part.resource = copies_.seen(part.resource, copy);
    added.own.sums.add({key_of(part), part.ps});
  }
  return id;
}

void Blame::let_go(ChainId chain) {
  while (chain >= 0) {
    Node& dropped = node(chain);
    GRADHAUL_ASSERT(dropped.holders > 0, "a chain is let go as often as it is held");
    if (--dropped.holders > 0) return;
    const ChainId past = dropped.past;
    free_node(chain);
    chain = past;
  }
}

ChainHistory Blame::history(ChainId chain) const {
  ChainHistory all;
  for (ChainId id = chain; id >= 0; id = nodes_[static_cast<std::size_t>(id)].past) {
    const ChainHistory& own = nodes_[static_cast<std::size_t>(id)].own;
    if (id == chain) all.copy = own.copy;
    all.sums.add(own.sums);
    all.origin = own.origin;
  }
  return all;
}

std::vector<ChainHistory> Blame::cut(const std::vector<ChainId>& chains) {
  std::vector<ChainHistory> histories;
  histories.reserve(chains.size());
  for (const ChainId chain : chains) histories.push_back(history(chain));
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const ChainId past = std::exchange(node(chains[i]).past, -1);
    node(chains[i]).own = {static_cast<std::int32_t>(i), 0, {}};
    let_go(past);
  }
  return histories;
}

void Blame::set_history(ChainId chain, ChainHistory history) {
  const ChainId past = std::exchange(node(chain).past, -1);
  node(chain).own = std::move(history);
  let_go(past);
}

std::int64_t Blame::total(ChainId chain) const {
  const ChainHistory whole = history(chain);
  std::int64_t total = 0;
  for (const PartSums::Entry& entry : whole.sums.entries()) total += entry.ps;
  return total;
}

std::vector<TracePart> Blame::parts(ChainId chain) const { return history(chain).parts(copies_); }

}  // namespace gradhaul
