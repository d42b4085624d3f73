#pragma once

// What a look at one host brought to light: what it is made of, what is wrong with it, and what
// could not be seen. Found by backends/doctor, written out by analysis and scenarios.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/cluster.h"
#include "core/pcie_distance.h"

namespace gradhaul {

enum class Severity : std::uint8_t {
  kProblem,  // costs bandwidth or stops traffic, as it stands
  kWarning,  // may do so, or does a little
  kFact,     // worth knowing; nothing is at fault
};

// A file as it was read: "/sys/class/infiniband/mlx5_0/ports/1/state", "2: INIT". A file is named
// as the examined machine would, also where it lies in a copy of its tree.
struct Evidence {
  std::string file;
  std::string text;
};

struct Finding {
  Severity severity = Severity::kFact;
  std::string id;       // one word for the kind of finding, as "port-no-subnet-manager"
  std::string subject;  // what it is about, as "mlx5_0 port 1", or "host"
  std::string seen;
  std::vector<Evidence> evidence;
  std::string why;      // why it matters
  std::string remedy;   // what to do; empty: nothing
  std::string command;  // shows it, without this program
};

// What could not be looked at.
struct Unseen {
  std::string what;
  std::string file;    // empty: no file holds it
  std::string reason;  // "permission denied", "no such file"
  std::string takes;   // what it would take to see it
};

// A thing of the host, with what it holds.
struct HostItem {
  std::string kind;  // host, socket, switch, slot, gpu, nic, port, netdev
  std::string name;
  std::string text;  // what a line of the summary says of it
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<HostItem> children;
};

// How far each GPU is from each NIC. Nothing: it cannot be told.
struct HostDistances {
  std::vector<std::string> gpus;
  std::vector<std::string> nics;
  std::vector<std::vector<std::optional<PcieDistance>>> of;  // [gpu][nic]
};

// A counter of a port or a device. The second reading stands only where the host was watched.
struct CounterReading {
  std::string device;  // "mlx5_0 port 1", "eth0", "0000:18:00.0"
  std::string name;
  std::string file;
  std::uint64_t first = 0;
  std::optional<std::uint64_t> second;
  std::string meaning;  // empty: no meaning is known here
};

// What a node file (interface.md, section 2.1) can say of the host. Whatever the host did not tell
// stands in `notes`.
struct NodeDraft {
  // A shipped model where the device is known; otherwise one described by what could be read.
  struct Device {
    std::string name;
    std::string shipped;  // of scenarios/devices; empty: none
    std::optional<PcieLink> pcie;
    std::optional<BitRate> rate;  // of a NIC's port
  };

  std::string name;
  int sockets = 1;
  std::string cpu;  // the family of processors, as far as it is known here; empty: it is not
  int gpu_count = 0;
  Device gpu;
  int nic_count = 0;
  Device nic;
  std::vector<PcieBranch> pcie;
  std::vector<std::string> places;  // of each branch: "0000:17:00.0: gpu0 is 0000:18:00.0, …"
  std::optional<BitRate> nvlink;
  std::optional<double> nvlink_efficiency;
  std::optional<Bytes> max_payload;
  std::optional<Bytes> max_read_request;
  std::vector<std::string> notes;
};

struct HostCheckup {
  std::string source;  // "this host", or the folder of a copied tree
  double watched_seconds = 0;
  bool cut_short = false;  // the watch was interrupted
  std::vector<HostItem> items;
  HostDistances distances;
  std::vector<Finding> findings;  // the worst first
  std::vector<Unseen> unseen;
  std::vector<CounterReading> counters;
  NodeDraft node;
};

}  // namespace gradhaul
