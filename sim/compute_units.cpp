#include "sim/compute_units.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/assert.h"
#include "sim/run_context.h"

namespace gradhaul {

ComputeUnits::ComputeUnits(PacketEngine& engine, int gpus, int multiprocessors)
    : engine_(engine),
      units_(std::max(1, multiprocessors)),
      compete_(multiprocessors > 0),
      gpus_(static_cast<std::size_t>(gpus)) {}

// Units of work in a picosecond.
std::int64_t ComputeUnits::speed(const Gpu& gpu) const {
  return compete_ ? std::max<std::int64_t>(1, units_ - gpu.taken) : units_;
}

// Counts what has been done at the speed that there was.
void ComputeUnits::settle(Gpu& gpu) {
  const std::int64_t now = engine_.elapsed();
  for (const std::int32_t index : gpu.computing) {
    Computation& computation = computations_[static_cast<std::size_t>(index)];
    computation.left -= (now - computation.since) * speed(gpu);
    computation.since = now;
  }
}

void ComputeUnits::aim(std::int32_t index) {
  Computation& computation = computations_[static_cast<std::size_t>(index)];
  const std::int64_t each = speed(gpus_[static_cast<std::size_t>(computation.gpu)]);
  const std::int64_t left = std::max<std::int64_t>(0, computation.left);
  computation.due = engine_.elapsed() + (left + each - 1) / each;
  engine_.schedule(computation.due, static_cast<std::uint32_t>(RunEvent::kComputeDone), index,
                   computation.gpu);
}

void ComputeUnits::begin(int gpu, int member, Duration work) {
  GRADHAUL_ASSERT(work.ps <= std::numeric_limits<std::int64_t>::max() / units_,
                  "a computation takes no longer than can be counted");
  std::int32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::int32_t>(computations_.size());
    computations_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  computations_[static_cast<std::size_t>(index)] = {member, gpu, work.ps * units_,
                                                    engine_.elapsed(), 0};
  gpus_[static_cast<std::size_t>(gpu)].computing.push_back(index);
  aim(index);
}

void ComputeUnits::change(int gpu, int taken) {
  Gpu& changed = gpus_[static_cast<std::size_t>(gpu)];
  settle(changed);
  changed.taken += taken;
  GRADHAUL_ASSERT(changed.taken >= 0, "no more is given back than was taken");
  if (!compete_) return;
  for (const std::int32_t index : changed.computing) aim(index);
}

void ComputeUnits::take(int gpu, int channels) { change(gpu, channels); }
void ComputeUnits::give_back(int gpu, int channels) { change(gpu, -channels); }

// Events that were put off are still there: what is due now is done.
int ComputeUnits::on_event(std::int32_t index) {
  Computation& computation = computations_[static_cast<std::size_t>(index)];
  if (computation.member == kNone || computation.due != engine_.elapsed()) return kNone;
  Gpu& gpu = gpus_[static_cast<std::size_t>(computation.gpu)];
  std::erase(gpu.computing, index);
  free_.push_back(index);
  return std::exchange(computation.member, kNone);
}

}  // namespace gradhaul
