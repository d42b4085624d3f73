#pragma once

// What NCCL finds when it searches a node for rings, trees and heads of NVLS (src/graph/search.cc,
// src/graph/topo.h, src/graph/connect.cc of NCCL v2.22.3-1 and v2.30): how many channels, and how
// fast each may be. Its tuner starts from these. NCCL searches by backtracking over GPUs and links;
// here the nodes are regular, so that how many channels of a speed fit follows from the narrowest
// kind of link. What this gives for nodes whose logs are public: 12 channels of 30 GB/s within an
// H100 node and 12 of 20 GB/s within an A100 node (NCCL issue 1197), 8 of 48 GB/s between H100
// nodes with eight NICs of 400 Gb/s, 4 of 24 GB/s with two (NCCL issue 1189).
//
// Speeds are NCCL's, GB/s: a NIC of R Mb/s carries R / 8000; PCIe x16 carries 3, 6, 12, 24, 48, 96
// by generation; NVLink what its nominal rate times efficiency is.

#include "core/cluster.h"
#include "core/nccl_version.h"

namespace gradhaul {

struct NcclGraph {
  int channels = 0;  // 0: there is none
  double intra = 0;  // GB/s of one channel within a node
  double inter = 0;  // and between nodes
};

struct NcclGraphs {
  NcclGraph ring;
  NcclGraph tree;
  NcclGraph nvls;
  // The tree's data of a channel comes and goes by one GPU of a node; else by two (balanced).
  bool plain_tree = false;
  bool nvlink = false;  // joins the GPUs of a node
  // Lines of 128 B stay whole on all ways: no root complex, no PCIe between GPUs.
  bool whole_lines = false;
  int compute_channels = 0;  // thread blocks that a large ring or tree runs on
};

// Requires a checked cluster and a GPU whose compute capability is known.
NcclGraphs find_nccl_graphs(const Cluster& cluster, NcclVersion version);

}  // namespace gradhaul
