#pragma once

// What transport and kernels of one simulated run share: who gets completions, and the chain of
// events that what is posted now follows from.

#include "core/communication.h"
#include "core/completion.h"
#include "sim/cause_chain.h"
#include "sim/packet_engine.h"

namespace gradhaul {

class PortObservation;
class RunObservation;

class CompletionRouter {
 public:
  // The cause is the caller's; the receiver holds the chain that it keeps.
  virtual void deliver(Rank rank, const Completion& completion, CauseChain& cause) = 0;

 protected:
  ~CompletionRouter() = default;
};

struct RunContext {
  const Fabric& fabric;
  PacketEngine& engine;
  Blame& blame;
  CompletionRouter& router;
  CauseChain* cause = nullptr;            // of what is posted now
  RunObservation* observation = nullptr;  // null: nobody looks on
  PortObservation* ports = nullptr;       // of packets that cross chosen ports
};

// Events of a run, told apart by the world that owns both transport and kernels.
enum class RunEvent : std::uint8_t {
  kRankStart,
  kMessageReady,
  kDataArrived,
  kDataDone,
  kCreditArrived,
  kCreditDone,
  kInjectorWake,
  kReduceDone,
  kNotified,
  kAnswered,    // a queue pair whose packets may be lost
  kAckTimeout,  // the same
  // Of several collectives beside each other (sim/task_world.h):
  kTaskStart,
  kComputeDone,
  kBackground,
  // Of what is staged through host memory:
  kCopyReady,  // a message may be copied
  kCopyWake,   // of a copy engine
  // Of TCP:
  kTcpSend,       // a message may be sent
  kTcpSent,       // an aggregate of it is the NIC's
  kTcpLanded,     // an aggregate of it is in the receiver's host memory
  kTcpReceive,    // and a core is awake to take it
  kCoreFinished,  // a core has done what it was at
  // Of receives that may be missing:
  kReceived,  // a packet is there
  kRnrTimer,  // of a queue pair that was told to wait
  kReleased,  // the memory of a rank that is through is no longer registered
};

}  // namespace gradhaul
