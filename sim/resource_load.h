#pragma once

// What a collective puts on every link, kernel, memory and NIC, counted from the schedule's sends
// and the fabric's routes with nothing simulated; and the least time that each needs for it, which
// no run can beat. The forms are those of sim/packet_transport.h:
//
//   read     NIC to GPU 24 bytes a request of max_read_request; GPU to NIC TLPs of max_payload with
//            20 bytes each
//   wire     packets of the MTU with 26 bytes each, 20 more a message; on the reverse wire 30 a
//            message for its acknowledgement
//   write    TLPs of max_payload with 24 bytes each
//   staged   copied to host memory in such TLPs, written there by the NIC in the same; read there
//   by
//            the NIC, and by the copy to the GPU, in TLPs of read_completion with 20 bytes each
//   NVLink   payload alone; what is relayed crosses it before the NIC reads it
//   threads  a turn for each post and each completion (sim/packet_turns.cpp), where turns take time
//   TCP      by host cores at either end, what each aggregate takes (core/tcp_settings.h), and two
//            passes more through host memory; 8 bytes a message to give back its slot
//   slots    46 bytes a message on the reverse wire, and 30 to acknowledge them on the forward one
//
// The last slots may be returned after the end, so these count as trailing and not for the bound.
// Beside the time at full rate, what is held on credit bounds: n uses that hold one of w for at
// least h each take n h / w.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/placement.h"
#include "core/prediction_request.h"
#include "sim/connection_traffic.h"
#include "sim/fabric.h"
#include "sim/nic_holdings.h"

namespace gradhaul {

struct LinkLoad {
  Bytes payload;
  Bytes wire;              // all of its bytes that must have crossed by the end
  Bytes trailing;          // those that may come later
  std::int64_t units = 0;  // TLPs, packets, NVLink messages: each may have been rounded down
  // ps that its units hold the receiver's credits, all together.
  Int128 credit_time[kTrafficClasses] = {0, 0, 0};
  std::int64_t routes = 0;       // of data, by their ends
  std::int64_t connections = 0;  // whose data crosses it
  std::int64_t messages = 0;     // of data
};

struct MemoryLoad {
  Bytes bytes;
  Bytes bounding;  // of them those that a kernel waits for: its own and what arrived
};

// Of a GPU's share of its host's cores, which send and receive what it does by TCP.
struct CoreLoad {
  Duration data;
  Duration credits;          // of slots that are given back, the last ones perhaps after the end
  std::int64_t sockets = 0;  // dealt over its cores
};

struct NicLoad {
  ResourceId resource = kNoResource;       // its wire
  ResourceId read_resource = kNoResource;  // its PCIe link; none where there is no PCIe
  std::int64_t messages = 0;               // work requests of data
  Int128 tag_time = 0;                     // ps that its reads hold tags, all together
  Int128 buffer_time = 0;                  // byte x ps that payload is asked for or held
};

// Of a rank's communication thread, the turns that it takes for all of its channels.
struct ThreadLoad {
  Duration data;  // posts and arrivals
  Duration rest;  // what is told of sent data, and credits, but of each connection's last message
};

struct ResourceBound {
  Duration time;
  ResourceId resource = kNoResource;
};

class ResourceLoad {
 public:
  ResourceLoad(const Fabric& fabric, int ranks_per_node, int channels,
               const Communication& communication);

  // The least time of each resource that has any, in no order of size; and the largest.
  std::vector<ResourceBound> bounds() const;
  Duration bound() const;

  // At its full rate, trailing bytes included.
  Duration busy(LinkId link) const;
  // And what the credits of its far end allow, all together; of a NIC, what its reads' tags, its
  // buffer and its message rate allow. So long each is in use, however its load is spread.
  Duration occupied(LinkId link) const;
  Duration occupied(const NicLoad& nic) const;
  Duration kernel_time(Rank rank, int channel) const;
  Duration memory_time(int gpu) const;
  // Of TCP: what all of a GPU's cores have to do, and the one that has most.
  Duration all_core_time(int gpu) const;
  Duration core_time(int gpu) const;
  // Of the communication thread with most to do; what it must have done by the end.
  Duration thread_time() const;
  Duration thread_bound() const;

  const Fabric& fabric() const { return fabric_; }
  Rank ranks() const { return static_cast<Rank>(sent.size()); }
  int channels() const { return channels_; }
  int ranks_per_node() const { return ranks_per_node_; }
  // A GPU's place among all of the cluster.
  int gpu_of(Rank rank) const;
  // Of data that goes by the network.
  void add_onward(const Route& route);
  const KernelTraffic& kernel(Rank rank, int channel) const {
    return kernels[static_cast<std::size_t>(rank * channels_ + channel)];
  }

  std::vector<LinkLoad> links;
  std::vector<KernelTraffic> kernels;  // by rank, then channel
  std::vector<MemoryLoad> memory;      // by GPU of the cluster
  std::vector<NicLoad> nics;           // of the cluster
  std::vector<CoreLoad> cores;         // by GPU of the cluster; none but of TCP
  std::vector<ThreadLoad> threads;     // by rank; none where turns take no time
  std::vector<Bytes> sent;             // by rank
  // How many routes of data go on from one network link by another; those of the first 65536.
  std::map<std::pair<LinkId, LinkId>, std::int64_t> onward;
  NicHoldings holdings;
  std::int64_t messages = 0;  // of data
  std::int64_t packets = 0;   // of data on network wires

 private:
  Duration least_busy(LinkId link) const;
  Duration credit_bound(LinkId link) const;
  Duration nic_bound(const NicLoad& nic) const;
  Duration read_bound(const NicLoad& nic) const;
  std::int64_t kernel_operations(Rank rank) const;
  Duration core_bound(int gpu) const;

  const Fabric& fabric_;
  int ranks_per_node_;
  int channels_;
  std::int64_t routes_onward_ = 0;
};

// Of `count` elements of a rank's message. `also` is told of all that is counted, on the way.
// Throws SimulationError where no path leads from one rank to another.
ResourceLoad count_load(const PredictionRequest& request, const Fabric& fabric,
                        const Placement& placement, std::int64_t count,
                        TrafficSink* also = nullptr);

}  // namespace gradhaul
