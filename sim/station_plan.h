#pragma once

// Which links of a world are stepped station by station (sim/stations.h), and which worlds allow
// it: healthy InfiniBand or lossless RoCE where each queue pair keeps to one way, NICs that each
// read and write one GPU (or several behind one link) through two PCIe links that nobody else uses,
// and NVLink or nothing beside them. Where GPUs are staged, packets may be lost or somebody looks
// on, events step all of it.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/prediction_request.h"
#include "sim/wiring.h"

namespace gradhaul {

struct StationPlan {
  // A NIC with all that it reads and writes by. Both links of a pair serve the same packets, at the
  // same rate and in the same form: the second starts each as soon as it comes.
  struct Nic {
    LinkId out = kNoLink;
    std::int32_t injector = kNone;
    LinkId up[2] = {kNoLink, kNoLink};      // read requests and writes: to the switch, to the GPU
    LinkId answer[2] = {kNoLink, kNoLink};  // what was asked for: to the switch, to the NIC
  };
  bool waits = false;  // for credits of wires
  std::vector<Nic> nics;
  std::vector<LinkId> wires;  // behind the NICs, each after all that lead into it
  // ps, at least: from a start on the last wire to what it has the NIC there do or tell; from one
  // on a NIC's wire to that; from a write on its first link to who sees what is written.
  std::int64_t arrival = 0;
  std::int64_t crossing = 0;
  std::int64_t writing = 0;
};

// None where events have to step the world.
std::optional<StationPlan> plan_stations(const PredictionRequest& request, const Fabric& fabric,
                                         const Wiring& wiring);

}  // namespace gradhaul
