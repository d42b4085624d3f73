#include "sim/existing_path.h"

#include <string>

#include "core/prediction_request.h"

namespace gradhaul {
namespace {

constexpr char kNotAcross[] =
    ": their sockets pass no peer-to-peer; communication.gpudirect auto or off goes through host "
    "memory";

std::string name_of(int node, const char* kind, int index) {
  return "node" + std::to_string(node) + "." + kind + std::to_string(index);
}

}  // namespace

Route existing_wire(const Fabric& fabric, int source_node, int source_nic, int destination_node,
                    int destination_nic) {
  Route route = fabric.wire(source_node, source_nic, destination_node, destination_nic);
  if (route.empty()) {
    throw SimulationError("no path leads from " + name_of(source_node, "nic", source_nic) + " to " +
                          name_of(destination_node, "nic", destination_nic) +
                          ": rails without spines do not meet");
  }
  return route;
}

Route existing_peer(const Fabric& fabric, int node, int source_gpu, int destination_gpu) {
  Route route = fabric.peer(node, source_gpu, destination_gpu);
  if (route.empty() && !fabric.cluster().node.pcie.empty()) {
    throw SimulationError(name_of(node, "gpu", source_gpu) + " cannot reach gpu" +
                          std::to_string(destination_gpu) + kNotAcross);
  }
  return route;
}

void check_dma(const Fabric& fabric, int node, int nic, int gpu) {
  if (fabric.cluster().node.pcie.empty() || !fabric.dma_request(node, nic, gpu).empty()) return;
  throw SimulationError(name_of(node, "nic", nic) + " and " + name_of(node, "gpu", gpu) +
                        " do not reach each other" + kNotAcross);
}

}  // namespace gradhaul
