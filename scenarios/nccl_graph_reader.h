#pragma once

// A graph file of NCCL (NCCL_GRAPH_DUMP_FILE, NCCL_GRAPH_FILE; src/graph/search.cc): in which order
// the ring of each channel visits the GPUs of one node, and by which NICs it enters and leaves. Out
// of it comes the `communication` of a scenario that runs the same rings.

#include <optional>
#include <string>
#include <vector>

#include "scenarios/config_error.h"

namespace gradhaul {

struct NcclRing {
  std::vector<int> gpus;  // of the node, from 0
  int entering_net = -1;  // -1: none, the rings stay in the node
  int leaving_net = -1;
};

struct NcclRings {
  std::vector<NcclRing> channels;
  bool crosses_nics = false;  // crossNic is 2: nodes take turns (src/graph/connect.cc)
  double intra = 0;           // GB/s of a channel within the node, 0: not told
  double inter = 0;           // and between nodes
};

// Reports what is wrong with the file, and gives nothing then.
std::optional<NcclRings> read_nccl_graph(const std::string& text, const std::string& file,
                                         Problems& problems);

// The mapping `communication` for so many nodes of this kind, as YAML. `place`: where the rings
// were read, for a comment.
std::string nccl_rings_text(const NcclRings& rings, int nodes, const std::string& place);

}  // namespace gradhaul
