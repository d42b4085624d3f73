#pragma once

// Whole collectives over a world: engines on every rank, and at the end every element of every rank
// compared with the sequential references, bit for bit; the bytes sent with their closed form.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "core/collective_engine.h"
#include "core/make_schedule.h"
#include "core/placement.h"
#include "tests/conformance/transport_harness.h"
#include "tests/oracles/blocking_ring.h"
#include "tests/oracles/exchange_reference.h"
#include "tests/oracles/sequential_reference.h"

namespace gradhaul::conformance {

using oracle::Elements;

struct CollectiveCase {
  Collective collective = Collective::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  Rank ranks = 2;
  int ranks_per_node = 1;
  std::int64_t count = 1;  // elements of a rank's message
  int channels = 1;
  int slots = 1;
  Bytes slot_size{64};
  DataType datatype = DataType::kInt32;
  Reduction reduction = Reduction::kSum;
  bool in_place = false;
  std::uint64_t seed = 0;  // of rings and data
};

inline std::ostream& operator<<(std::ostream& out, const CollectiveCase& c) {
  return out << "collective " << static_cast<int>(c.collective) << " algorithm "
             << static_cast<int>(c.algorithm) << " ranks " << c.ranks << " per node "
             << c.ranks_per_node << " count " << c.count << " channels " << c.channels << " slots "
             << c.slots << " slot_size " << c.slot_size.count << " datatype "
             << static_cast<int>(c.datatype) << " reduction " << static_cast<int>(c.reduction)
             << (c.in_place ? " in place" : "") << " seed " << c.seed;
}

// A hash, so that data needs no stream of random numbers (SplitMix64's finaliser).
inline std::uint64_t hash_of(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  std::uint64_t z = a * 0x9e3779b97f4a7c15U + b * 0xd1b54a32d192ed03U + c + 1;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// Numbers within a factor of 64 of each other, of either sign and with full significands, so that
// every addition rounds; in one case of eight, any patterns at all, NaNs and infinities included.
inline std::uint32_t element_for(const CollectiveCase& c, Rank rank, std::int64_t at) {
  const auto random = static_cast<std::uint32_t>(
      hash_of(c.seed, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(at)) >> 32);
  if (is_integer(c.datatype) || c.seed % 8 == 7) {
    return random >> (32 - 8 * size_of(c.datatype).count);
  }
  const oracle::FloatFormat format = oracle::format_of(c.datatype);
  const std::uint32_t one = oracle::element_of(c.datatype, 1);
  const std::uint32_t fraction = random & ((1U << (format.precision - 1)) - 1);
  const std::uint32_t exponent = ((random >> 24) % 6) << (format.precision - 1);
  return (random >> 31 << (format.storage_bits - 1)) | (one + exponent + fraction);
}

// A ring of its own for each channel, nodes kept together.
inline std::vector<std::vector<Rank>> rings_of(const CollectiveCase& c) {
  std::vector<std::vector<Rank>> rings;
  for (int channel = 0; channel < c.channels; ++channel) {
    std::vector<std::pair<std::uint64_t, Rank>> order;
    for (Rank rank = 0; rank < c.ranks; ++rank) {
      const auto node = static_cast<std::uint64_t>(rank / c.ranks_per_node);
      const auto salt = c.seed * 64 + static_cast<std::uint64_t>(channel);
      const std::uint64_t key =
          hash_of(salt, node, 1) << 32 | hash_of(salt, static_cast<std::uint64_t>(rank), 2) >> 32;
      order.emplace_back(key, rank);
    }
    std::ranges::sort(order);
    std::vector<Rank>& ring = rings.emplace_back();
    for (const auto& [key, rank] : order) ring.push_back(rank);
  }
  return rings;
}

class CollectiveRun {
 public:
  explicit CollectiveRun(const CollectiveCase& c) : case_(c), rings_(rings_of(c)) {
    Placement placement;
    placement.channels = c.channels;
    placement.ranks_per_node = c.ranks_per_node;
    placement.rings = rings_;
    schedule_ = make_schedule({.collective = c.collective,
                               .algorithm = c.algorithm,
                               .ranks = c.ranks,
                               .count = c.count,
                               .datatype = c.datatype,
                               .slot_size = c.slot_size},
                              placement);
    for (Rank rank = 0; rank < c.ranks; ++rank) {
      Elements& input = inputs_.emplace_back();
      for (std::int64_t i = 0; i < elements(); ++i) input.push_back(element_for(c, rank, i));
    }
  }

  const Schedule& schedule() const { return *schedule_; }
  EngineSettings engine_settings() const {
    return {case_.datatype, case_.reduction, case_.slots, case_.slot_size};
  }
  // Of input and output of each rank.
  std::int64_t elements() const {
    return elements_of_message(case_.collective, case_.count, case_.ranks);
  }
  void fill(Rank rank, std::span<std::byte> input) const {
    const Elements& elements = inputs_[static_cast<std::size_t>(rank)];
    const std::size_t size = element_size();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      std::memcpy(input.data() + i * size, &elements[i], size);
    }
  }

  // Where the output of `rank` is not what it must be; empty: nowhere.
  std::string check_output(Rank rank, std::span<const std::byte> output) {
    const Span result = result_of(case_.collective, case_.count, case_.ranks, rank);
    return first_difference("output", rank, output, expected(rank), result);
  }
  std::string check_input(Rank rank, std::span<const std::byte> input) const {
    return first_difference("input", rank, input, inputs_[static_cast<std::size_t>(rank)],
                            {0, elements()});
  }

  // All ranks together. An all-reduce carries the message over N - 1 edges there and N - 1 back,
  // save recursive doubling, which carries it whole in every step; pairwise, every rank sends all
  // parts but its own.
  Bytes bytes_of_all_ranks() const {
    const std::int64_t n = case_.ranks;
    const std::int64_t nodes = n / case_.ranks_per_node;
    const std::int64_t dimensions = std::bit_width(static_cast<std::uint64_t>(n)) - 1;
    const std::int64_t corners = std::int64_t{1} << dimensions;
    const Bytes element = size_of(case_.datatype);
    switch (case_.collective) {
      case Collective::kAllToAll:
        if (case_.algorithm == Algorithm::kHierarchical) {
          return element *
                 (part() * n *
                  ((case_.ranks_per_node - 1) * nodes + (nodes - 1) * case_.ranks_per_node));
        }
        return element * (part() * n * (n - 1));
      case Collective::kReduceScatter:
      case Collective::kAllGather:
        return element * (part() * n * (n - 1));
      case Collective::kBroadcast:
        return element * (case_.count * (n - 1));
      case Collective::kSendRecv:
        return element * (case_.count * n);
      case Collective::kAllReduce:
        break;
    }
    if (case_.algorithm == Algorithm::kRecursiveDoubling) {
      return element * (case_.count * (corners * dimensions + 2 * (n - corners)));
    }
    return element * (case_.count * 2 * (n - 1));
  }

 private:
  std::int64_t part() const { return case_.count / case_.ranks; }
  std::size_t element_size() const {
    return static_cast<std::size_t>(size_of(case_.datatype).count);
  }

  const Elements& expected(Rank rank) {
    switch (case_.collective) {
      case Collective::kSendRecv:
        return inputs_[static_cast<std::size_t>((rank + case_.ranks - 1) % case_.ranks)];
      case Collective::kBroadcast:
        return inputs_.front();
      case Collective::kAllToAll:
        expected_ = oracle::all_to_all_output(inputs_, rank, part());
        break;
      case Collective::kAllGather:
        expected_ = oracle::all_gathered(inputs_);
        break;
      case Collective::kReduceScatter:
        expected_ = oracle::ring_reduce_scattered(reduction(), rings_, rank);
        break;
      case Collective::kAllReduce:
        if (expected_.empty()) expected_ = all_reduced();
    }
    return expected_;
  }

  oracle::ReducedInputs reduction() const { return {inputs_, case_.datatype, case_.reduction}; }

  Elements all_reduced() const {
    const auto plan = [&](int parts) {
      return MessagePlan(case_.count, case_.datatype, case_.channels, parts, case_.slot_size);
    };
    switch (case_.algorithm) {
      case Algorithm::kTree:
      case Algorithm::kDoubleBinaryTree:
        return oracle::tree_all_reduced(inputs_, plan(case_.algorithm == Algorithm::kTree ? 1 : 2),
                                        rings_, case_.reduction, case_.ranks_per_node);
      case Algorithm::kHierarchical:
        return oracle::hierarchically_reduced(reduction(), rings_, case_.ranks_per_node);
      case Algorithm::kHalvingDoubling:
        return oracle::halving_doubling_reduced(reduction(), rings_);
      case Algorithm::kRecursiveDoubling:
        return oracle::recursive_doubling_reduced(reduction(), rings_);
      case Algorithm::kParameterServer:
        return oracle::server_reduced(reduction());
      default:
        return oracle::ring_all_reduced(inputs_, plan(case_.ranks), rings_, case_.reduction);
    }
  }

  std::string first_difference(const char* what, Rank rank, std::span<const std::byte> found,
                               const Elements& expected, Span where) const {
    const auto end = static_cast<std::size_t>(where.first + where.count);
    for (auto i = static_cast<std::size_t>(where.first); i < end; ++i) {
      std::uint32_t element = 0;
      std::memcpy(&element, found.data() + i * element_size(), element_size());
      if (element == expected[i]) continue;
      std::ostringstream text;
      text << what << " of rank " << rank << " at element " << i << " is " << std::hex << element
           << ", not " << expected[i];
      return text.str();
    }
    return "";
  }

  CollectiveCase case_;
  std::vector<std::vector<Rank>> rings_;
  std::unique_ptr<Schedule> schedule_;
  std::vector<Elements> inputs_;
  Elements expected_;
};

struct EngineWorld {
  std::vector<std::unique_ptr<CollectiveEngine>> engines;
  std::unique_ptr<ConformanceWorld> world;
};

inline EngineWorld make_engine_world(const TransportHarness& harness, const CollectiveCase& c,
                                     const CollectiveRun& run, std::uint64_t seed) {
  EngineWorld made;
  WorldShape shape;
  shape.slots = c.slots;
  shape.slot_size = c.slot_size;
  shape.input = size_of(c.datatype) * run.elements();
  shape.output = shape.input;
  shape.in_place = c.in_place;
  for (Rank rank = 0; rank < c.ranks; ++rank) {
    made.engines.push_back(
        std::make_unique<CollectiveEngine>(run.schedule(), rank, run.engine_settings()));
    shape.connections.push_back(made.engines.back()->connections());
    shape.slots_bytes.push_back(made.engines.back()->slots_bytes());
  }
  made.world = harness.make_world(shape, seed);
  for (Rank rank = 0; rank < c.ranks; ++rank) {
    made.world->connect(rank, *made.engines[static_cast<std::size_t>(rank)]);
  }
  return made;
}

// What went wrong; empty: nothing.
inline std::vector<std::string> run_collective(const TransportHarness& harness,
                                               const CollectiveCase& c, std::uint64_t seed) {
  CollectiveRun run(c);
  const EngineWorld made = make_engine_world(harness, c, run, seed);
  const auto memory = [&](Rank rank, Region region) { return made.world->memory(rank, region); };
  const bool carries_bytes = !memory(0, Region::kInput).empty();
  for (Rank rank = 0; rank < c.ranks && carries_bytes; ++rank) {
    run.fill(rank, memory(rank, Region::kInput));
  }
  for (Rank rank = 0; rank < c.ranks; ++rank) {
    made.engines[static_cast<std::size_t>(rank)]->start(made.world->transport(rank),
                                                        made.world->reducer(rank));
  }
  while (made.world->step()) {
  }

  std::vector<std::string> faults;
  Bytes sent;
  for (Rank rank = 0; rank < c.ranks; ++rank) {
    const CollectiveEngine& engine = *made.engines[static_cast<std::size_t>(rank)];
    sent += engine.bytes_sent();
    if (!engine.finished() || !engine.complete() || engine.progress() != 1) {
      std::ostringstream table;
      engine.describe(table);
      faults.push_back("rank " + std::to_string(rank) + " has not finished:\n" + table.str());
    } else if (carries_bytes) {
      faults.push_back(run.check_output(rank, memory(rank, Region::kOutput)));
      if (!c.in_place) faults.push_back(run.check_input(rank, memory(rank, Region::kInput)));
    }
  }
  std::erase(faults, "");
  if (sent != run.bytes_of_all_ranks()) {
    faults.push_back("sent " + std::to_string(sent.count) + " bytes, not " +
                     std::to_string(run.bytes_of_all_ranks().count));
  }
  return faults;
}

}  // namespace gradhaul::conformance
