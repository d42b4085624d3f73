#pragma once

// What a host is made of, as far as its /sys and /proc tell: nothing here is judged or guessed, and
// what could not be read is not there. Indices are those of HostInventory's lists; -1 is none.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backends/host/host_tree.h"
#include "backends/host/pci_config.h"
#include "core/host_checkup.h"

namespace gradhaul {

inline constexpr int kNvidia = 0x10de;  // PCI vendor

// Of the link above a function: between it and the port it hangs at.
struct PcieLinkState {
  std::optional<double> speed;      // GT/s a lane
  std::optional<double> max_speed;  // of the function, whatever the port can do
  std::optional<int> width;         // lanes
  std::optional<int> max_width;
};

struct PciFunction {
  std::string address;  // "0000:18:00.0"
  std::string folder;   // "/sys/bus/pci/devices/0000:18:00.0"
  std::string root;     // the root bus: "pci0000:17"
  int parent = -1;      // the bridge above; -1: at the root bus
  int pci_class = 0;    // 24 bits
  int vendor = 0;
  int device = 0;
  std::optional<int> numa_node;
  bool numa_unset = false;  // the firmware does not say where it hangs
  std::string local_cpus;
  std::string driver;
  std::string iommu_group;  // its number; empty: none
  std::string iommu_type;   // "DMA", "DMA-FQ", "identity"; empty: none, or not shown
  bool virtual_function = false;
  PcieLinkState link;
  PciConfig config;
  ReadStatus config_status = ReadStatus::kAbsent;

  bool is_bridge() const { return pci_class >> 8 == 0x0604; }
  bool is_network() const { return pci_class >> 16 == 0x02; }
};

struct RdmaGid {
  int index = 0;
  std::string gid;
  std::string type;  // "IB/RoCE v1", "RoCE v2"; empty: not shown
  std::string netdev;
};

struct RdmaPort {
  int number = 1;
  std::string folder;                 // "/sys/class/infiniband/mlx5_0/ports/1"
  std::optional<int> state;           // 1 DOWN, 2 INIT, 3 ARMED, 4 ACTIVE, 5 ACTIVE_DEFER
  std::optional<int> physical_state;  // 1 Sleep, 2 Polling, 3 Disabled, 4 Training, 5 LinkUp, …
  std::string state_text;
  std::string physical_text;
  std::string rate_text;               // "400 Gb/sec (4X NDR)"
  std::optional<double> rate;          // Gb/s
  std::optional<int> width;            // lanes
  std::string link_layer;              // "InfiniBand", "Ethernet"
  std::optional<int> mtu;              // of RDMA's packets, in bytes of payload
  std::optional<int> most_mtu;         // that the port could have
  std::optional<std::int64_t> sm_lid;  // of the subnet manager; 0: none
  std::vector<RdmaGid> gids;           // those that are set
  bool gids_listed = false;            // every entry of the table was readable
  std::optional<int> traffic_class;
  bool ethernet() const { return link_layer == "Ethernet"; }
  bool active() const { return state == 4; }
};

struct RdmaDevice {
  std::string name;    // "mlx5_0"
  std::string folder;  // "/sys/class/infiniband/mlx5_0"
  int pci = -1;        // -1: made by software (rxe, siw)
  std::string firmware;
  std::string board;
  std::vector<RdmaPort> ports;
};

// Of an Ethernet port.
struct PortPriorities {
  unsigned pfc = 0;            // a bit for each priority that PFC protects
  std::map<int, int> of_dscp;  // the priority that packets of a DSCP go by, where that is set
};

struct NetDevice {
  std::string name;
  std::string folder;  // "/sys/class/net/eth0"
  int pci = -1;
  std::optional<int> mtu;
  std::optional<int> speed;  // Mb/s
  std::string state;         // "up", "down", "unknown"
  std::string bond;          // the bond that it belongs to
  std::string bond_state;    // of this member: "up", "down"
  std::string bond_mode;     // of a bond: "802.3ad", "active-backup"
  std::string bond_hash;     // "layer3+4"
  std::vector<std::string> members;
  std::optional<PortPriorities> priorities;
  std::optional<bool> marks_congestion;  // ECN on some priority, as notification point
};

struct NumaNode {
  int number = 0;
  std::string cpus;
  std::optional<int> socket;  // nothing: without processors, or not told
};

struct HostQueuePair {
  std::string device;  // "mlx5_0"; the PCI address where no RDMA device is known to be there
  std::string number;
  std::string type;   // "RC", "UD", as rdma(8) calls them; empty: not told
  std::string state;  // "RESET", "INIT"; of mlx5's debugging files "RST"
  std::string owner;  // "python3, pid 4711", "the kernel (ib_core)"; empty: not told
  std::string file;   // that says so, or the command
};

// What NVIDIA's management library says of a GPU; nothing where it does not.
struct GpuState {
  int pci = -1;
  int nvlinks = 0;  // that the library tells of
  int nvlinks_active = 0;
  std::vector<int> nvlinks_inactive;              // their numbers
  std::optional<std::uint64_t> throttle_reasons;  // bits of nvmlClocksThrottleReason…
  std::optional<std::uint64_t> uncorrected_errors;
};

struct HostSettings {
  std::string kernel;  // "5.15.0-91-generic"
  std::string command_line;
  FileText gpu_driver;  // /proc/driver/nvidia/version
  std::vector<std::string> modules;
  bool modules_listed = false;
  bool iommu_present = false;    // in /sys/class/iommu
  FileText locked_memory;        // soft limit in bytes, or "unlimited"
  bool may_lock_memory = false;  // this process holds CAP_IPC_LOCK: the limit does not bind it
  std::map<std::string, int> governors;  // how many processors have it
  std::map<std::string, std::string> governor_files;
  std::optional<std::int64_t> huge_pages;
  std::string transparent_huge_pages;
  std::optional<std::int64_t> numa_balancing;
  std::string deepest_idle_state;                 // that is not disabled
  std::optional<std::int64_t> deepest_idle_exit;  // microseconds
};

struct HostInventory {
  std::vector<int> sockets;  // numbers of processor packages
  int processors = 0;
  std::string cpu_vendor;
  std::string cpu_name;
  std::optional<int> cpu_family;
  std::optional<int> cpu_model;
  std::vector<NumaNode> numa_nodes;
  std::vector<PciFunction> pci;  // by address
  std::vector<int> gpus;         // of pci
  std::vector<int> nics;         // of pci
  std::vector<RdmaDevice> rdma;
  std::vector<std::string> mtus_missing;  // why ports tell no MTU: "mlx5_0: can't be opened: …"
  std::vector<NetDevice> net;
  std::vector<HostQueuePair> queue_pairs;
  std::vector<std::string> queue_pairs_hidden;  // RDMA devices that tell of none of theirs
  std::string queue_pairs_missing;              // why, where there are such
  std::vector<GpuState> gpu_states;
  std::string gpu_states_missing;  // why there are none, where there are NVIDIA's GPUs
  HostSettings settings;
  std::vector<Unseen> unseen;

  bool has_nvidia_gpu() const;
  const NetDevice* net_device(const std::string& name) const;
  // RDMA devices of a PCI function.
  std::vector<const RdmaDevice*> rdma_of(int pci) const;
  // Sockets that processors and devices tell of; the one of a NUMA node.
  std::optional<int> socket_of(const PciFunction& function) const;
};

}  // namespace gradhaul
