#pragma once

// What reports ask of a finished run in the packet model, whatever it was that ran.

#include <cstdint>
#include <vector>

#include "sim/fabric.h"
#include "sim/link_losses.h"
#include "sim/link_state.h"
#include "sim/lossless_buffers.h"
#include "sim/queue_pair_recovery.h"
#include "sim/trace_parts.h"

namespace gradhaul {

// What a GPU's kernels and memory did.
struct GpuUse {
  std::int64_t reduced = 0;      // bytes
  std::int64_t kernel_time = 0;  // ps, of all channels together
  int channels = 0;              // that there were for it
  std::int64_t memory_bytes = 0;
  std::int64_t memory_time = 0;   // ps
  std::int64_t thread_bytes = 0;  // TCP: sent and received by the cores of its rank
  std::int64_t thread_time = 0;   // ps, of all of them together
};

// What a NIC has had to do with congestion.
struct NotificationCounts {
  std::int64_t sent = 0;    // notifications, as a receiver
  std::int64_t heeded = 0;  // as a sender
  std::int64_t marked = 0;  // packets that came marked
};

class FinishedRun {
 public:
  virtual const Fabric& fabric() const = 0;
  virtual std::int64_t end() const = 0;  // ps
  virtual const LinkState& link(LinkId link) const = 0;
  // How long the link's transmitter was busy until the end, and how long it waited for credits.
  virtual std::int64_t busy(LinkId link) const = 0;
  virtual std::int64_t stalled(LinkId link) const = 0;
  // What a lossless link was paused until now.
  virtual LosslessBuffers::Totals pauses(LinkId link) const = 0;
  virtual NotificationCounts notifications(int node, int nic) const = 0;
  // What was lost on the link until now, and what a NIC has had to do about losses.
  virtual LinkLosses::Totals losses(LinkId link) const = 0;
  virtual RecoveryCounts recovery(int node, int nic) const = 0;
  virtual std::int64_t context_misses(int node, int nic) const = 0;
  virtual GpuUse gpu_use(int node, int gpu) const = 0;
  virtual std::vector<TracePart> critical_path() const = 0;

 protected:
  ~FinishedRun() = default;
};

}  // namespace gradhaul
