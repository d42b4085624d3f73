#pragma once

// All ranks of a collective in one process: their memory, their engines, and a loopback fabric
// between them. For tests, and for a first real run that needs no hardware.
//
// Fill the inputs, then run(). In place, a rank's input and output are the same memory.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/loopback/loopback_fabric.h"
#include "core/collective_engine.h"
#include "core/schedule.h"

namespace gradhaul {

struct LoopbackWorldSettings {
  EngineSettings engine;
  std::int64_t input_elements = 0;   // of each rank
  std::int64_t output_elements = 0;  // the same when in place
  bool in_place = false;
  LoopbackSettings fabric;
};

struct LoopbackOutcome {
  enum class Kind : std::uint8_t {
    kFinished,
    kFailed,   // a completion had a status; what could still be delivered was
    kStalled,  // nothing is left to deliver, and somebody waits
  };
  Kind kind = Kind::kFinished;
  std::string report;  // unless finished: who waits for whom, all ranks
};

class LoopbackWorld {
 public:
  // The schedule outlives the world. Outputs and slots begin poisoned, inputs zero.
  LoopbackWorld(const Schedule& schedule, const LoopbackWorldSettings& settings);

  std::span<std::byte> input(Rank rank);
  std::span<std::byte> output(Rank rank);
  CollectiveEngine& engine(Rank rank) { return *engines_[static_cast<std::size_t>(rank)]; }
  LoopbackFabric& fabric() { return *fabric_; }
  Rank ranks() const { return static_cast<Rank>(engines_.size()); }

  // Once, before the first step().
  void start();
  // Delivers what the chooser takes; false where nothing is deliverable.
  bool step(DeliveryChooser& chooser);
  // Whether all has been done, or how it ended; meaningful when nothing is deliverable.
  LoopbackOutcome outcome() const;
  // start(), then steps to the end.
  LoopbackOutcome run(DeliveryChooser& chooser);

 private:
  struct Memory {
    std::vector<std::byte> input;  // empty when in place
    std::vector<std::byte> output;
    std::vector<std::byte> slots;
  };
  std::vector<std::unique_ptr<CollectiveEngine>> engines_;
  std::vector<CompletionSink*> sinks_;
  std::vector<Memory> memory_;
  std::unique_ptr<LoopbackFabric> fabric_;
  bool in_place_;
};

}  // namespace gradhaul
