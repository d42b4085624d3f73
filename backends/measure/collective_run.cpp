#include "backends/measure/collective_run.h"

#include <algorithm>
#include <thread>

#include "backends/measure/awaited_peer.h"
#include "backends/measure/polling_pace.h"
#include "backends/measure/rank_failed.h"

namespace gradhaul {

CollectiveRun::CollectiveRun(const Schedule& schedule, const CollectiveRunSettings& settings,
                             Exchange& exchange, Endpoint& endpoint, RankMemory& memory)
    : schedule_(schedule),
      settings_(settings),
      exchange_(exchange),
      endpoint_(endpoint),
      memory_(memory) {}

void CollectiveRun::prepare() {
  engine_.emplace(schedule_, exchange_.rank(), settings_.engine);
  endpoint_.restart();
}

std::chrono::nanoseconds CollectiveRun::run() {
  CollectiveEngine& engine = *engine_;
  const Clock::time_point start = Clock::now();
  std::optional<Clock::time_point> complete;
  engine.start(endpoint_, memory_.reducer());
  Clock::time_point idle_since = start;
  Clock::time_point next_look = start + kBetweenLooks;
  int idle_polls = 0;
  while (true) {
    const bool arrived = endpoint_.poll(engine);
    const bool reduced = memory_.poll(engine);
    if (engine.status() != CompletionStatus::kOk) watch(idle_since);
    if (!complete && engine.complete()) complete = Clock::now();
    if (complete && settled()) break;
    if (arrived || reduced) {
      idle_polls = 0;
      continue;
    }
    if (++idle_polls == 1) idle_since = Clock::now();
    if (polls_on(idle_polls)) continue;
    if (memory_.busy()) {
      std::this_thread::yield();
    } else {
      endpoint_.wait(kWait);
    }
    if (const Clock::time_point now = Clock::now(); now >= next_look) {
      next_look = now + kBetweenLooks;
      watch(idle_since);
    }
  }
  bytes_sent_ = engine.bytes_sent();
  return *complete - start;
}

// finished(), and what this rank sent has been read by its peers.
bool CollectiveRun::settled() const {
  if (!engine_->finished()) return false;
  const EngineState& state = engine_->state();
  for (std::size_t i = 0; i < state.ends.size(); ++i) {
    const SendWindow& sending = state.connections[i].sending;
    if (state.ends[i].sends && sending.credits() < sending.posted() + settings_.engine.slots) {
      return false;
    }
  }
  return true;
}

void CollectiveRun::watch(Clock::time_point idle_since) {
  if (const auto failure = endpoint_.failure()) fail(failure->peer, failure->what);
  if (engine_->status() != CompletionStatus::kOk) fail(-1, "the transport failed");
  const bool others_failed = exchange_.aborted().has_value();
  const auto idle = Clock::now() - idle_since;
  // Who has been waiting when another loses patience first tells for whom: so a standstill is
  // followed back to where it began.
  const bool waiting = others_failed && idle >= settings_.timeout / 2;
  if (others_failed && !waiting) throw OthersFailed(progress_text());
  if (!others_failed && idle < settings_.timeout) return;
  const EngineState& state = engine_->state();
  const auto awaited =
      engine_->finished() ? awaited_return(state, settings_.engine.slots) : awaited_peer(state);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(idle).count();
  fail(awaited ? awaited->peer : -1,
       "no progress for " + std::to_string(milliseconds) + " ms, waiting for " +
           (awaited ? awaited->what : std::string("its own reductions")));
}

void CollectiveRun::fail(Rank peer, const std::string& what) const {
  throw RankFailed({exchange_.rank(), peer, what + "; " + progress_text()});
}

std::string CollectiveRun::progress_text() const {
  const auto percent = static_cast<int>(engine_->progress() * 100);
  return "in " + settings_.what + ", " + std::to_string(percent) + " % done, " +
         std::to_string(engine_->bytes_sent().count) + " bytes sent";
}

}  // namespace gradhaul
