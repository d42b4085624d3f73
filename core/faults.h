#pragma once

// What is wrong in a cluster for as long as a run takes, and what that leaves of its parts. Parts
// are called what results call them: "node0.nic0", "node0.gpu3.pcie", "node1.sw0", "leaf0-spine1".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantities.h"

namespace gradhaul {

struct PcieLink;

// A link whose ends have agreed on less than both of them can do; both directions of it, and of
// several cables all.
struct TrainedDown {
  std::string link;
  std::optional<BitRate> speed;  // of a network link; of NVLink nominal, as Nvlink::bandwidth
  std::optional<int> lanes;      // of a PCIe link
  std::optional<int> generation;
  friend bool operator==(const TrainedDown&, const TrainedDown&) = default;
};

// A GPU whose kernels take `slowdown` times as long (heat, power capping).
struct Straggler {
  int node = 0;
  int gpu = 0;
  double slowdown = 1;
  friend bool operator==(const Straggler&, const Straggler&) = default;
};

// A link of the network that garbles bits, in both directions and, of several cables, on all. A
// packet of n bits is lost with 1 - (1 - rate)^n, and dropped by whoever receives it.
struct BitErrors {
  std::string link;
  double rate = 0;     // after forward error correction
  double pre_fec = 0;  // before it, where that is what was said; else 0
  friend bool operator==(const BitErrors&, const BitErrors&) = default;
};

// A link of the network that is down for a while: what is on it then is lost, both ways.
struct LinkDown {
  std::string link;
  Duration at;                         // since the start of the run
  std::optional<Duration> lasts = {};  // nothing: it stays down
  friend bool operator==(const LinkDown&, const LinkDown&) = default;
};

// A NIC without priority flow control: it heeds no pause frames, and sends none.
struct PfcOff {
  std::string nic;  // "node0.nic0"
  friend bool operator==(const PfcOff&, const PfcOff&) = default;
};

// A NIC that sends pause frames all the time, whatever it has room for.
struct PauseStorm {
  std::string nic;
  Duration at;  // since the start of the run
  Duration lasts;
  friend bool operator==(const PauseStorm&, const PauseStorm&) = default;
};

// A node whose communication threads post each receive again only so long after they have seen the
// completion that took it.
struct LateReceives {
  int node = 0;
  Duration by;
  friend bool operator==(const LateReceives&, const LateReceives&) = default;
};

struct Faults {
  std::vector<TrainedDown> links;      // no link and quality twice
  std::vector<Straggler> gpus;         // no GPU twice
  std::vector<BitErrors> errors = {};  // no link twice
  std::vector<LinkDown> down = {};
  // Nodes whose communication threads run at another socket than the GPUs they serve, with all that
  // they allocate: queues, flags, buffers for staging. None twice.
  std::vector<int> far_threads = {};
  std::vector<PfcOff> pfc_off = {};  // no NIC twice
  std::vector<PauseStorm> storms = {};
  std::vector<LateReceives> late_receives = {};  // no node twice
  // Links lose packets.
  bool lossy() const { return !errors.empty() || !down.empty(); }
  bool empty() const {
    return links.empty() && gpus.empty() && far_threads.empty() && pfc_off.empty() &&
           storms.empty() && late_receives.empty() && !lossy();
  }
  friend bool operator==(const Faults&, const Faults&) = default;
};

// What a part has of its nominal rate or width: never more than that.
BitRate trained_rate(const Faults& faults, std::string_view link, BitRate nominal);
PcieLink trained_link(const Faults& faults, std::string_view link, PcieLink nominal);
// What a GPU's kernels have of theirs, rounded to whole bits a second.
BitRate kernel_rate(const Faults& faults, int node, int gpu, BitRate nominal);
// How much longer they take, 1 where nothing is wrong.
double slowdown_of(const Faults& faults, int node, int gpu);
// The bit errors of a link of the network, 0 where there are none; and when it is down.
double bit_error_rate(const Faults& faults, std::string_view link);
std::vector<LinkDown> outages(const Faults& faults, std::string_view link);
// Whether the node's communication threads run at another socket than its GPUs.
bool has_far_threads(const Faults& faults, int node);
bool has_pfc_off(const Faults& faults, std::string_view nic);
// By how much the node's threads post receives late, 0 where they don't.
Duration lateness_of_receives(const Faults& faults, int node);

}  // namespace gradhaul
