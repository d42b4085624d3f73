#pragma once

// A prediction as a simulator would give it, small enough to be checked by eye.

#include <string>

#include "analysis/run_description.h"
#include "core/result.h"

namespace gradhaul::testing {

inline ResultRow sample_row() {
  ResultRow row;
  row.algorithm = "ring";
  row.protocol = "simple";
  row.profile = "gradhaul";
  row.channels = 16;
  row.ranks = 32;
  row.size = Bytes{14'000'000'000};
  row.count = 7'000'000'000;
  row.datatype = DataType::kBf16;
  row.time = Duration{70'123'456'789};
  row.bytes_sent_per_rank = Bytes{27'125'000'000};
  row.limited_by = "node0.nic0 (2 equal)";
  row.parts = {{"node0.nic0", "busy", Duration{40'000'000'000}},
               {"node1.nic0", "busy", Duration{24'000'000'000}},
               {"node0.gpu0.reduce", "busy", Duration{4'000'000'000}},
               {"node0.nic0", "credits", Duration{2'000'000'000}},
               {"", "kernel launch", Duration{123'456'789}}};
  return row;
}

inline Prediction sample_prediction() {
  Prediction prediction;
  prediction.fidelity = "packet";
  prediction.seed = 1;
  prediction.digest = 0x0123'4567'89ab'cdefULL;
  prediction.channels = 16;
  prediction.rings = {{0, 1, 2, 3}, {3, 2, 1, 0}};
  prediction.rows = {sample_row()};
  prediction.resources = {
      {"node0.gpu0.reduce", "reduce", 0.25, Bytes{14'000'000'000}, Duration{4'000'000'000}},
      {"node0.nic0", "nic", 0.9712, Bytes{54'250'000'000}, Duration{42'000'000'000}},
      {"node1.nic0", "nic", 0.9711, Bytes{54'250'000'000}, Duration{24'000'000'000}},
  };
  PortCounters port;
  port.port = "leaf0:0";
  port.xmit_wait = Duration{1'500'000'000};
  prediction.counters.push_back(port);
  port.port = "leaf0:1";
  port.xmit_wait = Duration{2'500'000'000};
  port.retransmitted = 3;
  prediction.counters.push_back(port);
  prediction.notes = {"14000000001 B is rounded down to 14000000000 B"};
  prediction.cost.packets = 13'100'000;
  prediction.cost.packet_hops = 78'600'000;
  prediction.cost.skipped_packet_hops = 4'000'000'000;
  return prediction;
}

inline RunDescription sample_run() {
  return {"7b-32gpu", "4 x hgx-h100 over ndr-rails (32 ranks)", "gradhaul", "0.1.0"};
}

}  // namespace gradhaul::testing
