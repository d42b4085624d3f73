#include "sim/flush_time.h"

#include "sim/idle_route.h"
#include "sim/injector.h"
#include "sim/payload_routes.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kElement = 4;  // bytes

}  // namespace

Duration flush_time(const Fabric& fabric, int node, int nic, int gpu) {
  const NicModel& model = fabric.cluster().node.nic;
  const ReadRoutes reads = read_routes(fabric, node, nic, gpu, false);
  Duration read;
  if (!reads.completion.empty()) {
    IdleRoute request(fabric, reads.request, TrafficClass::kNonPosted);
    IdleRoute completion(fabric, reads.completion, TrafficClass::kCompletion);
    const std::int64_t asked = request.pass({0, 1}, 0).delivered;
    read = {completion.pass({kElement}, asked + reads.reading.ps).delivered};
  }
  const Duration detours = fabric.thread_detour(node, gpu) * (kDetoursOfPost + 1);
  return model.post + model.doorbell + model.wqe_fetch + read + model.completion + detours;
}

}  // namespace gradhaul
