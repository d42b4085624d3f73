#include "core/faults.h"

#include <algorithm>
#include <cmath>
#include <iterator>

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

bool has_pfc_off(const Faults& faults, std::string_view nic) {
  return std::any_of(faults.pfc_off.begin(), faults.pfc_off.end(),
                     [nic](const PfcOff& fault) { return fault.nic == nic; });
}

Duration lateness_of_receives(const Faults& faults, int node) {
  for (const LateReceives& fault : faults.late_receives) {
    if (fault.node == node) return fault.by;
  }
  return {};
}

double slowdown_of(const Faults& faults, int node, int gpu) {
  for (const Straggler& fault : faults.gpus) {
    if (fault.node == node && fault.gpu == gpu) return fault.slowdown;
  }
  return 1;
}

double bit_error_rate(const Faults& faults, std::string_view link) {
  for (const BitErrors& fault : faults.errors) {
    if (fault.link == link) return fault.rate;
  }
  return 0;
}

std::vector<LinkDown> outages(const Faults& faults, std::string_view link) {
  std::vector<LinkDown> found;
  std::copy_if(faults.down.begin(), faults.down.end(), std::back_inserter(found),
               [link](const LinkDown& fault) { return fault.link == link; });
  return found;
}

}  // namespace gradhaul
