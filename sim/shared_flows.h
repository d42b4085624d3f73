#pragma once

// Flows within a node that connections share: what a NIC reads and writes in one GPU's memory, or
// in the host memory that stands for it, and the copies between the two.

#include <array>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "sim/packet.h"
#include "sim/wiring.h"

namespace gradhaul {

// Settles which flow comes first; see sim/wiring.h.
using FlowOrder = std::array<std::int32_t, 9>;

struct DmaFlows {
  FlowId request = kNone;
  FlowId completion = kNone;
  FlowId write = kNone;
};

struct CopyFlows {
  FlowId out = kNone;  // GPU to host memory
  FlowId request = kNone;
  FlowId in = kNone;  // host memory to GPU
  // Within that memory, by the cores that carry TCP:
  FlowId send = kNone;
  FlowId receive = kNone;
};

class SharedFlows {
 public:
  struct NewFlow {
    Route route;
    TrafficClass traffic_class = TrafficClass::kPosted;
    FlowKind kind = FlowKind::kReadRequest;
    bool data = false;
    FlowOrder order{};
    FlowId answers = kNone;
  };
  using Add = std::function<FlowId(NewFlow)>;

  // The fabric outlives this.
  SharedFlows(const Fabric& fabric, Add add);

  // Made when first asked for. Throws SimulationError where the two do not reach each other.
  const DmaFlows& dma(int node, int nic, int gpu);
  // The same with what is staged for the GPU.
  const DmaFlows& staged_dma(int node, int nic, int gpu);
  const CopyFlows& copies(int node, int gpu, int socket);

 private:
  void add_flows(DmaFlows& flows, Route request, Route completion, Route write, FlowOrder order);

  const Fabric& fabric_;
  const Node& node_;
  Add add_;
  std::vector<DmaFlows> direct_;                           // by node, NIC and GPU
  std::vector<DmaFlows> staged_;                           // the same
  std::map<std::tuple<int, int, int>, CopyFlows> copies_;  // by node, GPU and socket
};

}  // namespace gradhaul
