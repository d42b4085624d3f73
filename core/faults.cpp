#include "core/faults.h"

#include <algorithm>
#include <cmath>

#include "core/cluster.h"

namespace gradhaul {

BitRate trained_rate(const Faults& faults, std::string_view link, BitRate nominal) {
  for (const TrainedDown& fault : faults.links) {
    if (fault.link == link && fault.speed) nominal = std::min(nominal, *fault.speed);
  }
  return nominal;
}

PcieLink trained_link(const Faults& faults, std::string_view link, PcieLink nominal) {
  for (const TrainedDown& fault : faults.links) {
    if (fault.link != link) continue;
    if (fault.lanes) nominal.lanes = std::min(nominal.lanes, *fault.lanes);
    if (fault.generation) nominal.generation = std::min(nominal.generation, *fault.generation);
  }
  return nominal;
}

BitRate kernel_rate(const Faults& faults, int node, int gpu, BitRate nominal) {
  if (nominal.unlimited()) return nominal;
  const double slowdown = slowdown_of(faults, node, gpu);
  return {std::llround(static_cast<double>(nominal.bits_per_second) / slowdown)};
}

bool has_far_threads(const Faults& faults, int node) {
  return std::find(faults.far_threads.begin(), faults.far_threads.end(), node) !=
         faults.far_threads.end();
}

double slowdown_of(const Faults& faults, int node, int gpu) {
  for (const Straggler& fault : faults.gpus) {
    if (fault.node == node && fault.gpu == gpu) return fault.slowdown;
  }
  return 1;
}

}  // namespace gradhaul
