#include "sim/payload_routes.h"

#include <string>

#include "sim/existing_path.h"

namespace gradhaul {

ReadRoutes read_routes(const Fabric& fabric, int node, int nic, int gpu, bool staged) {
  const Node& model = fabric.cluster().node;
  if (staged) {
    const std::string device = "nic" + std::to_string(nic);
    const int socket = fabric.host_socket(node, gpu);
    return {fabric.host_request(node, device, socket), fabric.host_completion(node, device, socket),
            model.host_memory_latency};
  }
  check_dma(fabric, node, nic, gpu);
  return {fabric.dma_request(node, nic, gpu), fabric.dma_completion(node, nic, gpu),
          model.gpu.read_latency};
}

Route write_route(const Fabric& fabric, int node, int nic, int gpu, bool staged) {
  if (staged) {
    return fabric.host_write(node, "nic" + std::to_string(nic), fabric.host_socket(node, gpu));
  }
  check_dma(fabric, node, nic, gpu);
  return fabric.dma_write(node, nic, gpu);
}

Route copy_out_route(const Fabric& fabric, int node, int gpu, int socket) {
  return fabric.host_write(node, "gpu" + std::to_string(gpu), socket);
}

ReadRoutes copy_in_routes(const Fabric& fabric, int node, int gpu, int socket) {
  const std::string device = "gpu" + std::to_string(gpu);
  return {fabric.host_request(node, device, socket), fabric.host_completion(node, device, socket),
          fabric.cluster().node.host_memory_latency};
}

}  // namespace gradhaul
