#include "sim/recurrence.h"

#include <algorithm>
#include <utility>

namespace gradhaul {
namespace {

// Looking costs some nanoseconds a word, an event a hundred: so often is it worth it.
constexpr std::int64_t kWordsPerEvent = 4;
constexpr std::size_t kMostSeen = 4096;
// Less than this of its timing tells too little, and then all of the engine's state is not much.
constexpr std::size_t kFewWords = 1024;
constexpr std::int64_t kMostStride = 1 << 20;
// So often it looks within steps, and so often at all, and finds nothing, before it leaves it; in
// the middle of each step it goes on, that many slices.
constexpr std::int64_t kMostWithinSteps = 256;
constexpr std::int64_t kMidStep = 16;
constexpr std::int64_t kMostFruitless = 2048;

// For each chain, what it is `times` periods later: `once` says which one it continues, and how.
std::vector<ChainHistory> power(std::vector<ChainHistory> once, std::int64_t times,
                                const Copies& copies) {
  std::vector<ChainHistory> result;
  for (std::size_t i = 0; i < once.size(); ++i) {
    result.push_back({static_cast<std::int32_t>(i), 0, {}});
  }
  const auto then = [&](const std::vector<ChainHistory>& late,
                        const std::vector<ChainHistory>& early) {
    std::vector<ChainHistory> both = late;
    for (ChainHistory& chain : both) {
      chain.follow(early[static_cast<std::size_t>(chain.origin)], copies);
    }
    return both;
  };
  for (; times > 0; times >>= 1) {
    if ((times & 1) != 0) result = then(result, once);
    if (times > 1) once = then(once, once);
  }
  return result;
}

}  // namespace

Recurrence::Recurrence(const RunState& run) : run_(run) {
  const EngineState& probed = run_.ranks[static_cast<std::size_t>(probe())]->state();
  for (std::size_t i = 0; i < probed.lanes.size(); ++i) {
    if (probed.lanes[i].layout.items > probed.lanes[lane_].layout.items) lane_ = i;
  }
  const LaneLayout& longest = probed.lanes[lane_].layout;
  step_ = probed.schedule.slices_per_step(longest.channel) *
          probed.schedule.items_per_slice(probed.rank, longest.channel, longest.number);
}

std::int64_t Recurrence::place() const {
  return run_.ranks[static_cast<std::size_t>(probe())]->state().lanes[lane_].finish.index;
}

bool Recurrence::due() {
  if (ended_) return false;
  const std::int64_t now = place();
  if (now == last_place_) return false;
  const std::int64_t past_middle = now % step_ - step_ / 2;
  const bool near_middle = past_middle >= 0 && past_middle < kMidStep * stride_;
  const bool within = (fruitless_ < kMostWithinSteps || near_middle) && now % stride_ == 0;
  if (now % step_ != 0 && !within) return false;
  last_place_ = now;
  return true;
}

void Recurrence::describe() {
  words_.begin(run_.engine.now());
  described_ = false;
  run_.engine.append_timing(words_);
  const bool few = words_.words().size() < kFewWords;
  if (few) run_.engine.append_state(words_);
  run_.kernels.append_state(words_);
  run_.memory.append_state(words_);
  engine_described_ = few;
  if (!timing_tells_) describe_rest();
}

void Recurrence::describe_rest() {
  if (described_) return;
  described_ = true;
  if (!engine_described_) run_.engine.append_state(words_);
  for (const auto& rank : run_.ranks) rank->append_state(words_.words());
  run_.transport.append_state(words_);
}

void Recurrence::look(std::int64_t limit) {
  if (ended_) return;
  describe();
  const std::uint64_t hash = words_.hash();
  set_stride();
  ++fruitless_;
  skip(hash, limit);
  close_expired();
  if (fruitless_ > kMostFruitless) {
    close_all_after(0);
    ended_ = true;
    return;
  }
  watch(hash);
}

// Less often where a look costs more than what happened since the last one, more often where it
// would not at half the distance.
void Recurrence::set_stride() {
  const std::int64_t events = run_.engine.events();
  const std::int64_t worth = (events - last_events_) * kWordsPerEvent;
  const auto words = static_cast<std::int64_t>(words_.words().size());
  if (worth < words) {
    stride_ = std::min(2 * stride_, kMostStride);
  } else if (worth >= 2 * words) {
    stride_ = std::max<std::int64_t>(1, stride_ / 2);
  }
  last_events_ = events;
}

// Where a watched state is back, the longer period first.
void Recurrence::skip(std::uint64_t hash, std::int64_t limit) {
  for (std::size_t i = 0; i < watches_.size(); ++i) {
    if (hash != watches_[i].hash) continue;
    describe_rest();
    if (words_.words() != watches_[i].words) timing_tells_ = false;
    if (!recurs(watches_[i])) continue;
    close_all_after(i + 1);
    const std::int64_t times = repetitions(watches_.back(), limit);
    if (times > 0) {
      repeat(watches_.back(), times);
      fruitless_ = 0;
    }
    close_last(times);
    last_place_ = place();
    return;
  }
}

// From here on, where the state was seen before and no period as short is being watched.
void Recurrence::watch(std::uint64_t hash) {
  const auto before = seen_.find(hash);
  if (before != seen_.end()) {
    const std::int64_t period = place() - before->second;
    if (watches_.empty() || (watches_.size() == 1 && period < watches_[0].period)) {
      open(hash, period);
    }
  }
  if (seen_.size() >= kMostSeen) seen_.clear();
  seen_[hash] = place();
}

void Recurrence::open(std::uint64_t hash, std::int64_t period) {
  describe_rest();
  Watch watch;
  watch.hash = hash;
  watch.words = words_.words();
  watch.place = place();
  watch.period = period;
  watch.engine = run_.engine.totals();
  watch.kernels = run_.kernels.totals();
  watch.threads = run_.transport.busy_threads();
  watch.memory = run_.memory;
  for (const auto& rank : run_.ranks) watch.ranks.push_back(rank->progress_mark());
  watch.chains = run_.blame.cut(words_.chains());
  watches_.push_back(std::move(watch));
}

bool Recurrence::recurs(const Watch& watch) const {
  return words_.words() == watch.words && run_.engine.continues_like(watch.engine);
}

std::int64_t Recurrence::repetitions(const Watch& watch, std::int64_t limit) const {
  const std::int64_t period = run_.engine.elapsed() - watch.engine.elapsed;
  if (period == 0) return 0;
  std::int64_t most = std::max<std::int64_t>(0, (limit - run_.engine.elapsed()) / period);
  for (std::size_t i = 0; i < run_.ranks.size() && most > 0; ++i) {
    most = gradhaul::repetitions(run_.ranks[i]->state(), watch.ranks[i], most);
  }
  return most;
}

void Recurrence::repeat(const Watch& watch, std::int64_t times) {
  run_.engine.repeat(watch.engine, times);
  run_.kernels.repeat(watch.kernels, times);
  run_.transport.repeat(watch.threads, times);
  run_.memory.repeat(*watch.memory, times);
  for (std::size_t i = 0; i < run_.ranks.size(); ++i) {
    run_.ranks[i]->repeat(watch.ranks[i], times);
  }
}

// Gives the chains their past back, `times` more periods later.
void Recurrence::close_last(std::int64_t times) {
  describe_rest();
  const Watch& watch = watches_.back();
  const std::vector<std::int32_t>& chains = words_.chains();
  std::vector<ChainHistory> histories;
  histories.reserve(chains.size());
  for (const ChainId chain : chains) histories.push_back(run_.blame.history(chain));
  const Copies& copies = run_.engine.copies();
  if (times > 0) histories = power(std::move(histories), times + 1, copies);
  for (std::size_t i = 0; i < chains.size(); ++i) {
    histories[i].follow(watch.chains[static_cast<std::size_t>(histories[i].origin)], copies);
    run_.blame.set_history(chains[i], histories[i]);
  }
  watches_.pop_back();
}

void Recurrence::close_all_after(std::size_t count) {
  while (watches_.size() > count) close_last(0);
}

void Recurrence::close_expired() {
  for (std::size_t i = 0; i < watches_.size(); ++i) {
    if (place() <= watches_[i].place + 2 * watches_[i].period) continue;
    close_all_after(i);
  }
}

std::vector<TracePart> Recurrence::parts(ChainId chain) const {
  ChainHistory history = run_.blame.history(chain);
  for (std::size_t i = watches_.size(); i > 0; --i) {
    history.follow(watches_[i - 1].chains[static_cast<std::size_t>(history.origin)],
                   run_.engine.copies());
  }
  return history.parts(run_.engine.copies());
}

}  // namespace gradhaul
