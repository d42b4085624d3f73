#include "tests/oracles/exchange_reference.h"

#include <algorithm>
#include <bit>

namespace gradhaul::oracle {
namespace {

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

// One element's way.
class Operand {
 public:
  Operand(const ReducedInputs& of, std::int64_t element) : of_(of), element_(element) {}
  std::uint32_t input(Rank rank) const { return of_.inputs[index(rank)][index(element_)]; }
  std::uint32_t sum(std::uint32_t left, std::uint32_t right, bool last) const {
    const bool divides = last && of_.reduction == Reduction::kAvg;
    const auto ranks = static_cast<std::int32_t>(of_.inputs.size());
    return reduced({of_.datatype, of_.reduction, divides ? ranks : 1}, left, right);
  }

 private:
  const ReducedInputs& of_;
  std::int64_t element_;
};

// `at(channel, chunk, element)` for every element of a message cut in channels and chunks.
template <typename At>
Elements for_each_element(std::int64_t count, std::int64_t channels, std::int64_t chunks, At at) {
  Elements result(index(count));
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    const Span whole = part_of({0, count}, channel, channels);
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const Span span = part_of(whole, chunk, chunks);
      for (std::int64_t i = span.first; i < span.first + span.count; ++i) {
        result[index(i)] = at(index(channel), chunk, i);
      }
    }
  }
  return result;
}

// Ranks by corner of the largest cube that they fill, as of MPICH: of the first pairs the second.
struct Cube {
  explicit Cube(const std::vector<Rank>& order) {
    const auto ranks = static_cast<std::int64_t>(order.size());
    const auto corners = static_cast<std::int64_t>(std::bit_floor(order.size()));
    const std::int64_t pairs = ranks - corners;
    for (std::int64_t i = 0; i < pairs; ++i) {
      guests.push_back(order[index(2 * i)]);
      members.push_back(order[index(2 * i + 1)]);
    }
    for (std::int64_t i = 2 * pairs; i < ranks; ++i) {
      guests.push_back(-1);
      members.push_back(order[index(i)]);
    }
  }
  // What the rank at a corner has after exchanges in the first `steps` dimensions.
  std::uint32_t after(std::int64_t corner, int steps, const Operand& operand) const {
    if (steps == 0) {
      const std::uint32_t own = operand.input(members[index(corner)]);
      const Rank guest = guests[index(corner)];
      return guest < 0 ? own : operand.sum(own, operand.input(guest), false);
    }
    const std::int64_t other = corner ^ std::int64_t{1} << (steps - 1);
    return operand.sum(after(corner, steps - 1, operand), after(other, steps - 1, operand),
                       steps == dimensions());
  }
  int dimensions() const { return static_cast<int>(std::bit_width(members.size())) - 1; }

  std::vector<Rank> members;
  std::vector<Rank> guests;
};

std::int64_t reversed_bits(std::int64_t value, int bits) {
  std::int64_t result = 0;
  for (int bit = 0; bit < bits; ++bit) {
    if ((value >> bit & 1) != 0) result |= std::int64_t{1} << (bits - 1 - bit);
  }
  return result;
}

}  // namespace

Elements ring_reduce_scattered(const ReducedInputs& of, const std::vector<std::vector<Rank>>& rings,
                               Rank rank) {
  const auto n = static_cast<std::int64_t>(of.inputs.size());
  const std::int64_t part = static_cast<std::int64_t>(of.inputs.front().size()) / n;
  Elements result(of.inputs.front().size());
  for (std::size_t channel = 0; channel < rings.size(); ++channel) {
    const std::vector<Rank>& ring = rings[channel];
    const std::int64_t place = std::ranges::find(ring, rank) - ring.begin();
    const Span span = part_of({0, part}, static_cast<std::int64_t>(channel),
                              static_cast<std::int64_t>(rings.size()));
    for (std::int64_t i = rank * part + span.first; i < rank * part + span.first + span.count;
         ++i) {
      const Operand operand(of, i);
      std::uint32_t partial = operand.input(ring[index((place + 1) % n)]);
      for (std::int64_t hop = 2; hop <= n; ++hop) {
        partial = operand.sum(operand.input(ring[index((place + hop) % n)]), partial, hop == n);
      }
      result[index(i)] = partial;
    }
  }
  return result;
}

Elements all_gathered(const std::vector<Elements>& inputs) {
  const std::size_t part = inputs.front().size() / inputs.size();
  Elements result;
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    for (std::size_t i = 0; i < part; ++i) result.push_back(inputs[rank][rank * part + i]);
  }
  return result;
}

Elements server_reduced(const ReducedInputs& of) {
  const auto n = static_cast<Rank>(of.inputs.size());
  Elements result = of.inputs.front();
  for (std::size_t i = 0; i < result.size(); ++i) {
    const Operand operand(of, static_cast<std::int64_t>(i));
    for (Rank rank = 1; rank < n; ++rank) {
      result[i] = operand.sum(result[i], operand.input(rank), rank == n - 1);
    }
  }
  return result;
}

Elements halving_doubling_reduced(const ReducedInputs& of,
                                  const std::vector<std::vector<Rank>>& orders) {
  std::vector<Cube> cubes;
  for (const std::vector<Rank>& order : orders) cubes.emplace_back(order);
  const int dimensions = cubes.front().dimensions();
  return for_each_element(static_cast<std::int64_t>(of.inputs.front().size()),
                          static_cast<std::int64_t>(orders.size()), std::int64_t{1} << dimensions,
                          [&](std::size_t channel, std::int64_t chunk, std::int64_t i) {
                            const std::int64_t owner = reversed_bits(chunk, dimensions);
                            return cubes[channel].after(owner, dimensions, Operand(of, i));
                          });
}

Elements recursive_doubling_reduced(const ReducedInputs& of,
                                    const std::vector<std::vector<Rank>>& orders) {
  std::vector<Cube> cubes;
  for (const std::vector<Rank>& order : orders) cubes.emplace_back(order);
  return for_each_element(static_cast<std::int64_t>(of.inputs.front().size()),
                          static_cast<std::int64_t>(orders.size()), 1,
                          [&](std::size_t channel, std::int64_t, std::int64_t i) {
                            const Cube& cube = cubes[channel];
                            return cube.after(0, cube.dimensions(), Operand(of, i));
                          });
}

Elements hierarchically_reduced(const ReducedInputs& of,
                                const std::vector<std::vector<Rank>>& rings, int ranks_per_node) {
  std::vector<std::vector<int>> orders;  // of nodes, as the rings meet them
  for (const std::vector<Rank>& ring : rings) {
    std::vector<int>& order = orders.emplace_back();
    for (const Rank rank : ring) {
      if (std::ranges::find(order, rank / ranks_per_node) != order.end()) continue;
      order.push_back(rank / ranks_per_node);
    }
  }
  const auto nodes = static_cast<std::int64_t>(orders.front().size());
  return for_each_element(
      static_cast<std::int64_t>(of.inputs.front().size()), static_cast<std::int64_t>(rings.size()),
      nodes * ranks_per_node, [&](std::size_t channel, std::int64_t chunk, std::int64_t i) {
        const Operand operand(of, i);
        const auto local = static_cast<int>(chunk / nodes);
        // The ranks of a node, from its own local number backwards.
        const auto of_node = [&](std::int64_t place) {
          const Rank first = orders[channel][index(place % nodes)] * ranks_per_node;
          std::uint32_t sum = operand.input(first + local);
          for (int back = 1; back < ranks_per_node; ++back) {
            const int other = (local - back + ranks_per_node) % ranks_per_node;
            sum = operand.sum(sum, operand.input(first + other), false);
          }
          return sum;
        };
        std::uint32_t partial = of_node(chunk % nodes);
        for (std::int64_t hop = 1; hop < nodes; ++hop) {
          partial = operand.sum(of_node(chunk % nodes + hop), partial, hop == nodes - 1);
        }
        return partial;
      });
}

}  // namespace gradhaul::oracle
