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

ChainId Blame::add_node() {
  if (pieces() >= fold_all_at_) fold_all();
  ChainId id = 0;
  if (free_.empty()) {
    id = static_cast<ChainId>(nodes_.size());
    nodes_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  node(id) = {.holders = 1, .first = static_cast<std::uint32_t>(parts_.size())};
  return id;
}

void Blame::free_node(ChainId id) {
  Node& freed = node(id);
  // Most often what moved nothing, which was written last.
  if (freed.first + freed.count == parts_.size()) parts_.resize(freed.first);
  freed.holders = 0;
  free_.push_back(id);
}

// A part of what is folded, of which all from `begin` on are of one chain, one of each key.
void Blame::add_folded(const Part& part, std::size_t begin) {
  const auto key = static_cast<std::size_t>(part.key);
  if (key >= place_of_key_.size()) place_of_key_.resize(key + 1 + key / 2);
  const std::size_t place = begin + place_of_key_[key];
  if (place < folded_.size() && folded_[place].key == part.key) {
    folded_[place].ps += part.ps;
    return;
  }
  place_of_key_[key] = static_cast<std::uint32_t>(folded_.size() - begin);
  folded_.push_back(part);
}

// Takes into it all that nothing else refers to.
void Blame::fold(ChainId id) {
  const std::size_t begin = folded_.size();
  for (const Part& part : own_parts(id)) add_folded(part, begin);
  ChainId past = node(id).past;
  while (past >= 0 && absorbed_[static_cast<std::size_t>(past)]) {
    for (const Part& part : own_parts(past)) add_folded(part, begin);
    Node& taken = node(past);
    node(id).origin = taken.origin;
    past = taken.past;
    taken.holders = 0;
  }
  Node& kept = node(id);
  kept.past = past;
  kept.first = static_cast<std::uint32_t>(begin);
  kept.count = static_cast<std::uint32_t>(folded_.size() - begin);
}

void Blame::fold_all() {
  absorbed_.assign(nodes_.size(), false);
  for (const Node& each : nodes_) {
    if (each.holders == 0 || each.past < 0) continue;
    if (node(each.past).holders == 1) absorbed_[static_cast<std::size_t>(each.past)] = true;
  }
  folded_.clear();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].holders > 0 && !absorbed_[i]) fold(static_cast<ChainId>(i));
  }
  parts_.swap(folded_);
  GRADHAUL_ASSERT(parts_.size() < UINT32_MAX / 4, "chains count their parts in 32 bits");
  // Taken from the front again: what follows each other lies together.
  free_.clear();
  for (std::size_t i = nodes_.size(); i > 0; --i) {
    if (nodes_[i - 1].holders == 0) free_.push_back(static_cast<ChainId>(i - 1));
  }
  fold_all_at_ = std::max(kFewest, 2 * pieces());
}

ChainId Blame::start(std::int32_t origin) {
  const ChainId id = add_node();
  node(id).origin = origin;
  return id;
}

ChainId Blame::extend(ChainId chain, const Trace& parts, int shift) {
  const ChainId id = add_node();
  Node& added = node(id);
  added.past = chain;
  hold(chain);
  const int copy = node(chain).copy;
  added.copy = copies_.plus(copy, shift);
  for (int i = 0; i < parts.count; ++i) {
    TracePart part = parts.parts[static_cast<std::size_t>(i)];
    if (part.ps == 0) continue;
    part.resource = copies_.seen(part.resource, copy);
    parts_.push_back({key_of(part), part.ps});
  }
  added.count = static_cast<std::uint32_t>(parts_.size()) - added.first;
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
  all.copy = node(chain).copy;
  for (ChainId id = chain; id >= 0; id = node(id).past) {
    for (const Part& part : own_parts(id)) all.sums.add(part);
    all.origin = node(id).origin;
  }
  return all;
}

std::vector<ChainHistory> Blame::cut(const std::vector<ChainId>& chains) {
  std::vector<ChainHistory> histories;
  histories.reserve(chains.size());
  for (const ChainId chain : chains) histories.push_back(history(chain));
  for (std::size_t i = 0; i < chains.size(); ++i) {
    set_history(chains[i], {static_cast<std::int32_t>(i), 0, {}});
  }
  return histories;
}

void Blame::set_history(ChainId chain, const ChainHistory& history) {
  Node& changed = node(chain);
  const ChainId past = std::exchange(changed.past, -1);
  changed.origin = history.origin;
  changed.copy = history.copy;
  const std::vector<Part> sums = history.sums.sums();
  changed.first = static_cast<std::uint32_t>(parts_.size());
  changed.count = static_cast<std::uint32_t>(sums.size());
  parts_.insert(parts_.end(), sums.begin(), sums.end());
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
