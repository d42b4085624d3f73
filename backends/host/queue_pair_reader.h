#pragma once

// Queue pairs of a host's RDMA devices, with their states and owners. No file holds them, but for
// those of mlx5: the running host's kernel is asked by netlink (rdma/rdma_netlink.h, since Linux
// 4.16), as `rdma resource show qp` of iproute2 does, which takes no rights.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/host/host_inventory.h"
#include "backends/host/host_tree.h"

namespace gradhaul {

// Into host.queue_pairs, and what is told of none into host.queue_pairs_hidden. RDMA devices and
// PCI functions are known by then. Of a copied tree /rdma/qp holds what `rdma resource show qp`
// printed. Of a device of which neither tells, mlx5's debugging files are read, which root may.
void read_queue_pairs(const HostTree& tree, HostInventory& host);

// "link mlx5_0/1 lqpn 43 type RC state INIT sq-psn 0 pid 419 comm ib_write_bw", one a line; without
// a pid it is the kernel's. Other lines tell nothing.
std::vector<HostQueuePair> parse_rdma_text(const std::string& text);

// What the kernel sends in answer to RDMA_NLDEV_CMD_GET or RDMA_NLDEV_CMD_RES_QP_GET.
struct RdmaAnswer {
  struct Device {
    std::uint32_t index = 0;
    std::string name;
  };
  struct Owned {
    HostQueuePair pair;  // without its owner
    std::uint32_t process = 0;
    std::string kernel;  // the part of it that owns the pair
  };
  std::vector<Device> devices;
  std::vector<Owned> pairs;
  bool ended = false;  // nothing more comes
  int error = 0;       // why nothing does, an errno
};

// Adds what some messages say, each from its header on.
void parse_rdma_answer(std::span<const std::byte> messages, RdmaAnswer& answer);

}  // namespace gradhaul
