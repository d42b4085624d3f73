#include "sim/shared_flows.h"

#include <utility>

#include "sim/existing_path.h"

namespace gradhaul {
namespace {

std::int32_t number_of(FlowKind kind) { return static_cast<std::int32_t>(kind); }

}  // namespace

SharedFlows::SharedFlows(const Fabric& fabric, Add add)
    : fabric_(fabric), node_(fabric.cluster().node), add_(std::move(add)) {
  const auto pairs =
      static_cast<std::size_t>(fabric.cluster().nodes * node_.nic_count * node_.gpu_count);
  direct_.resize(pairs);
  staged_.resize(pairs);
}

// `order` is that of the requests.
void SharedFlows::add_flows(DmaFlows& flows, Route request, Route completion, Route write,
                            FlowOrder order) {
  flows.request = add_(
      {std::move(request), TrafficClass::kNonPosted, FlowKind::kReadRequest, false, order, kNone});
  order[1] = number_of(FlowKind::kCompletion);
  flows.completion = add_({std::move(completion), TrafficClass::kCompletion, FlowKind::kCompletion,
                           true, order, flows.request});
  order[1] = number_of(FlowKind::kWrite);
  flows.write =
      add_({std::move(write), TrafficClass::kPosted, FlowKind::kWrite, true, order, kNone});
}

const DmaFlows& SharedFlows::dma(int node, int nic, int gpu) {
  DmaFlows& flows =
      direct_[static_cast<std::size_t>((node * node_.nic_count + nic) * node_.gpu_count + gpu)];
  if (flows.request != kNone) return flows;
  check_dma(fabric_, node, nic, gpu);
  add_flows(flows, fabric_.dma_request(node, nic, gpu), fabric_.dma_completion(node, nic, gpu),
            fabric_.dma_write(node, nic, gpu),
            {0, number_of(FlowKind::kReadRequest), nic, gpu, node, 0, 0, 0, 0});
  return flows;
}

const DmaFlows& SharedFlows::staged_dma(int node, int nic, int gpu) {
  DmaFlows& flows =
      staged_[static_cast<std::size_t>((node * node_.nic_count + nic) * node_.gpu_count + gpu)];
  if (flows.request != kNone) return flows;
  const std::string device = "nic" + std::to_string(nic);
  const int socket = fabric_.host_socket(node, gpu);
  add_flows(flows, fabric_.host_request(node, device, socket),
            fabric_.host_completion(node, device, socket), fabric_.host_write(node, device, socket),
            {0, number_of(FlowKind::kReadRequest), nic, gpu, node, 1, 0, 0, 0});
  return flows;
}

const CopyFlows& SharedFlows::copies(int node, int gpu, int socket) {
  const auto [place, added] = copies_.try_emplace({node, gpu, socket});
  CopyFlows& flows = place->second;
  if (!added) return flows;
  const std::string device = "gpu" + std::to_string(gpu);
  const auto order = [&](FlowKind kind) -> FlowOrder {
    return {0, number_of(kind), gpu, socket, node, 0, 0, 0, 0};
  };
  flows.out = add_({fabric_.host_write(node, device, socket), TrafficClass::kPosted,
                    FlowKind::kCopyOut, false, order(FlowKind::kCopyOut), kNone});
  flows.request = add_({fabric_.host_request(node, device, socket), TrafficClass::kNonPosted,
                        FlowKind::kCopyRequest, false, order(FlowKind::kCopyRequest), kNone});
  flows.in = add_({fabric_.host_completion(node, device, socket), TrafficClass::kCompletion,
                   FlowKind::kCopyIn, false, order(FlowKind::kCopyIn), flows.request});
  if (!fabric_.cluster().network.tcp) return flows;
  for (const FlowKind kind : {FlowKind::kSendCopy, FlowKind::kReceiveCopy}) {
    const FlowId flow = add_(
        {fabric_.host_copy(node, socket), TrafficClass::kPosted, kind, false, order(kind), kNone});
    (kind == FlowKind::kSendCopy ? flows.send : flows.receive) = flow;
  }
  return flows;
}

}  // namespace gradhaul
