#pragma once

// A ladder: what each layer below a collective gives by itself, so that where a cluster falls short
// can be put to the layer at which it begins. Predicted and measured alike, and laid side by side
// by analysis/ladder_comparison.h. Rungs, from below:
//
//   link        the wire's rate less the headers of its packets, of bytes and nothing else
//   host_pair   one connection between the first ranks of two nodes, from host memory to host
//               memory, one way: slices written into receive slots, nothing done with them
//   gpu_pair    the same from GPU memory to GPU memory, without kernels
//   ring_step   one exchange of all ranks with their neighbours at once: slices, slots, reductions
//   collective  the scenario's own
//
// All speak of what one NIC sends: a pair of as much as a step of the collective has it send.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cluster.h"
#include "core/communication.h"
#include "core/placement.h"
#include "core/workload.h"

namespace gradhaul {

enum class Rung : std::uint8_t { kLink, kHostPair, kGpuPair, kRingStep, kCollective };

// As result files have it: "ring_step"; and as people read it: "ring step".
std::string_view name_of(Rung rung);
std::string_view words_of(Rung rung);
std::optional<Rung> rung_of(std::string_view name);

struct LadderRow {
  Rung rung = Rung::kLink;
  Bytes size;             // of the collective's message
  Bytes carried;          // sent by one NIC
  Duration time;          // of what was measured, the mean; 0 where `missing` says why
  std::string missing{};  // a reason; empty: it is there
  // What was measured: how often, and its spread.
  int iterations = 0;
  Duration min{};
  Duration p50{};
  Duration p99{};
};

// Bytes a second; 0 where the rung is missing.
double bandwidth_of(const LadderRow& row);

// What a NIC sends, and in how many steps that follow each other: in a ring of N ranks 2(N-1) of an
// all_reduce, N-1 of a reduce_scatter or an all_gather; else one. Of algorithms that are neither
// rings nor exchanges it is what busbw counts (core/busbw.h).
struct CarriedBytes {
  Bytes whole;
  std::int64_t steps = 1;
  Bytes step() const { return {whole.count / steps > 0 ? whole.count / steps : 1}; }
};
CarriedBytes carried_by_nic(const Cluster& cluster, const Placement& placement,
                            Collective collective, Algorithm algorithm, Bytes size);

// Why there is no ring step of it: "tree runs no ring"; empty where there is.
std::string why_no_ring_step(Collective collective, Algorithm algorithm);

}  // namespace gradhaul
