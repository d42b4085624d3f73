#pragma once

// The planning constants of NCCL's tuner, by release: src/graph/tuning.cc of v2.22.3-1 and v2.30.
// Latencies in us, bandwidths in GB/s. Columns of protocols: LL, LL128, Simple; columns of scale:
// one node, two, more.

#include <array>

#include "core/nccl_version.h"

namespace gradhaul {

using OfProtocols = std::array<double, 3>;
using OfScales = std::array<double, 3>;
// By generation of the GPU: Volta, Ampere, Hopper, Blackwell.
using OfGenerations = std::array<OfScales, 4>;

struct NcclLatencies {
  OfProtocols base;
  OfProtocols nvlink;  // of a hop
  OfProtocols pcie;
  OfProtocols network;
};

struct NcclConstants {
  NcclLatencies tree;
  NcclLatencies ring;
  NcclLatencies nvls;
  NcclLatencies nvls_tree;
  NcclLatencies pat;
  OfGenerations ll_most;              // of all channels together
  OfGenerations ring_ll128_most;      // of a channel
  OfGenerations tree_ll128_most;      // of a channel
  OfGenerations tree_most;            // of a channel
  OfGenerations nvls_tree_most;       // of a channel; 0: no limit
  std::array<double, 4> nvls_shares;  // of a link's rate, by generation; 0: no NVLS
};

inline constexpr NcclLatencies kNcclRing{
    {6.6, 14, 8.4}, {.6, 1.9, 3.4}, {1, 2.5, 5.7}, {2.7, 4, 14}};

inline constexpr NcclConstants kNccl222{
    .tree = {{6.8, 14, 0}, {.6, 1.25, 28}, {1, 1.9, 28}, {5, 8.5, 28}},
    .ring = kNcclRing,
    .nvls = {{0, 0, 0}, {0, 0, 25}, {0, 0, 0}, {0, 0, 18}},
    .nvls_tree = {{0, 0, 0}, {0, 0, 25}, {0, 0, 0}, {0, 0, 14}},
    .pat = {},
    .ll_most = {{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {141, 45, 35}}},
    .ring_ll128_most = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {36.7, 36.7, 36.7}}},
    .tree_ll128_most = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {36.7, 36.7, 29}}},
    .tree_most = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {38.7, 41.4, 36}}},
    .nvls_tree_most = {},
    .nvls_shares = {0, 0, 1, 1}};

inline constexpr NcclConstants kNccl230{
    .tree = {{6.8, 14, 8.4}, {.6, 1.25, 4}, {1, 1.9, 4}, {5, 8.5, 14}},
    .ring = kNcclRing,
    .nvls = {{0, 0, 0}, {0, 0, 25}, {0, 0, 0}, {0, 0, 18}},
    .nvls_tree = {{0, 0, 0}, {0, 0, 25}, {0, 0, 0}, {0, 0, 20.9}},
    .pat = {{8, 8, 8}, {0, 0, 4}, {0, 0, 4}, {0, 0, 14}},
    .ll_most = {{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}},
    .ring_ll128_most = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}},
    .tree_ll128_most = {{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}},
    .tree_most = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}},
    .nvls_tree_most = {{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}},
    .nvls_shares = {0, 0, 0.85, 0.74}};

constexpr const NcclConstants& nccl_constants(NcclVersion version) {
  return version == NcclVersion::k2_22 ? kNccl222 : kNccl230;
}

// What of a tree's bandwidth is left at 64 B, 128 B, … 256 MiB, the last column the largest.
inline constexpr std::array<std::array<double, 23>, 3> kTreeShares{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};

}  // namespace gradhaul
