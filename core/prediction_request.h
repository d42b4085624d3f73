#pragma once

// What is asked of a simulator, and how it reports on the way.

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/cluster.h"
#include "core/communication.h"
#include "core/job.h"
#include "core/port_observer.h"
#include "core/run_observer.h"
#include "core/task_graph.h"
#include "core/workload.h"

namespace gradhaul {

// kNcclTuner: NCCL's own estimate, and what NCCL would choose by it (core/nccl_tuner.h).
enum class Fidelity : std::uint8_t { kPacket, kFlow, kAnalytic, kNcclTuner };

// How the packet model is stepped: kAuto has stations (sim/stations.h) step what they can, as if
// credits of wires were always there; by kWaiting they wait for them; kEvents has events step all.
// Where one does not suffice, the next is taken. The answers are the same, to the last number.
enum class Stepping : std::uint8_t { kAuto, kWaiting, kEvents };

struct GoalProgram;  // core/goal_program.h

// Told some times in a second of computing how far it is.
class ProgressSink {
 public:
  // `done` in 0..1 over all rows of the run; `row` is the size being simulated.
  virtual void on_progress(double done, Bytes row) = 0;

 protected:
  ~ProgressSink() = default;
};

struct PredictionRequest {
  Cluster cluster;
  Workload workload;
  Communication communication;
  // Packets: instead of one collective of all ranks, these; and who else is in the cluster.
  std::vector<Job> jobs;
  std::vector<BackgroundTraffic> background;
  // Packets: instead of a collective, this program.
  std::shared_ptr<const GoalProgram> goal;
  Fidelity fidelity = Fidelity::kPacket;
  std::uint64_t seed = 1;
  Stepping stepping = Stepping::kAuto;
  // Packets and flows: whether periods that recur are accounted for without being stepped through.
  bool skip_recurrences = true;
  ProgressSink* progress = nullptr;
  // Packets only, and only where nothing is skipped.
  RunObserver* observer = nullptr;
  PortObserver* port_observer = nullptr;
  // Set from a signal handler: the run ends at the next opportunity, keeping the finished rows.
  const std::atomic<bool>* interrupted = nullptr;
};

// The run failed: it stalled (the message holds the table of who waits for whom), or the model
// cannot do what was asked.
class SimulationError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A queue pair gave up, as a real one would: what was finished before counts.
class TransportFailure : public SimulationError {
 public:
  using SimulationError::SimulationError;
};

}  // namespace gradhaul
