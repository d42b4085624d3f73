#include "tests/oracles/sequential_reference.h"

#include <algorithm>
#include <cmath>

#include "core/assert.h"

namespace gradhaul::oracle {
namespace {

std::size_t index(std::int64_t value) { return static_cast<std::size_t>(value); }

// The parent of each place in the first tree, as the header of the schedule defines it; -1: root.
std::vector<int> first_tree_parents(int nodes) {
  std::vector<int> parents(index(nodes), -1);
  for (int place = 1; place < nodes; ++place) {
    const int bit = place & -place;
    const int upper = (place ^ bit) | (2 * bit);
    parents[index(place)] = upper < nodes ? upper : place ^ bit;
  }
  return parents;
}

// Which ranks contribute directly to a rank, in order, for one tree of one channel.
struct Tree {
  Rank root = 0;
  std::vector<std::vector<Rank>> children;  // by rank
};

std::vector<std::vector<Rank>> chains_in(const std::vector<Rank>& ring, int ranks_per_node) {
  std::vector<std::vector<Rank>> chains;
  for (const Rank rank : ring) {
    const auto same_node = [&](const std::vector<Rank>& chain) {
      return chain.front() / ranks_per_node == rank / ranks_per_node;
    };
    const auto chain = std::ranges::find_if(chains, same_node);
    if (chain == chains.end()) {
      chains.push_back({rank});
    } else {
      chain->push_back(rank);
    }
  }
  const Rank rail = chains.front().front() % ranks_per_node;
  for (std::vector<Rank>& chain : chains) {
    if (chain.front() % ranks_per_node == rail || chain.back() % ranks_per_node != rail) continue;
    std::ranges::reverse(chain);
  }
  return chains;
}

Tree tree_of(const std::vector<Rank>& ring, int ranks_per_node, int number) {
  const std::vector<std::vector<Rank>> chains = chains_in(ring, ranks_per_node);
  const auto nodes = static_cast<int>(chains.size());
  // Who stands at a place of the first tree: in the second, the nodes in reverse, or shifted by
  // one.
  const auto node_at = [&](int place) {
    if (number == 0) return place;
    return nodes % 2 == 0 ? nodes - 1 - place : (place + 1) % nodes;
  };
  Tree tree;
  tree.root = chains[index(node_at(0))].front();
  tree.children.resize(ring.size());
  for (const std::vector<Rank>& chain : chains) {
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
      tree.children[index(chain[i])].push_back(chain[i + 1]);
    }
  }
  const std::vector<int> parents = first_tree_parents(nodes);
  for (int place = 1; place < nodes; ++place) {
    const Rank parent = chains[index(node_at(parents[index(place)]))].front();
    tree.children[index(parent)].push_back(chains[index(node_at(place))].front());
  }
  return tree;
}

// `divisor` divides the last operation at `rank` only.
std::uint32_t subtree_result(const Tree& tree, const std::vector<Elements>& inputs, Rank rank,
                             std::size_t element, const ElementReduction& how) {
  std::uint32_t result = inputs[index(rank)][element];
  const std::vector<Rank>& children = tree.children[index(rank)];
  for (std::size_t i = 0; i < children.size(); ++i) {
    ElementReduction step = how;
    step.divisor = 1;
    const std::uint32_t theirs = subtree_result(tree, inputs, children[i], element, step);
    if (i + 1 == children.size()) step.divisor = how.divisor;
    result = reduced(step, result, theirs);
  }
  return result;
}

std::int32_t divisor_of(Reduction reduction, std::size_t ranks) {
  return reduction == Reduction::kAvg ? static_cast<std::int32_t>(ranks) : 1;
}

std::uint32_t order_free_integer(const std::vector<Elements>& inputs, std::size_t element,
                                 DataType type, Reduction reduction) {
  std::vector<std::int64_t> values;
  std::int64_t sum = 0;
  for (const Elements& input : inputs) {
    values.push_back(integer_of(type, input[element]));
    sum += values.back();
  }
  if (reduction == Reduction::kMax) return integer_element(type, *std::ranges::max_element(values));
  if (reduction == Reduction::kMin) return integer_element(type, *std::ranges::min_element(values));
  return integer_element(type, wrapped(type, sum) / divisor_of(reduction, inputs.size()));
}

// Among the numbers, by value and then by sign.
std::uint32_t order_free_extreme(const std::vector<Elements>& inputs, std::size_t element,
                                 DataType type, Reduction reduction) {
  std::vector<double> numbers;
  for (const Elements& input : inputs) {
    const double value = value_of(type, input[element]);
    if (!std::isnan(value)) numbers.push_back(value);
  }
  if (numbers.empty()) return element_of(type, NAN);
  const auto below = [](double a, double b) {
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
  };
  return element_of(type, reduction == Reduction::kMax ? *std::ranges::max_element(numbers, below)
                                                       : *std::ranges::min_element(numbers, below));
}

}  // namespace

Elements ring_all_reduced(const std::vector<Elements>& inputs, const MessagePlan& plan,
                          const std::vector<std::vector<Rank>>& rings, Reduction reduction) {
  const auto n = static_cast<int>(inputs.size());
  Elements result(inputs.front().size());
  for (int channel = 0; channel < plan.channels(); ++channel) {
    const std::vector<Rank>& ring = rings[index(channel)];
    for (int chunk = 0; chunk < n; ++chunk) {
      const Span span = plan.chunk(channel, chunk);
      for (std::int64_t i = span.first; i < span.first + span.count; ++i) {
        std::uint32_t partial = inputs[index(ring[index(chunk)])][index(i)];
        for (int hop = 1; hop < n; ++hop) {
          const std::uint32_t own = inputs[index(ring[index((chunk + hop) % n)])][index(i)];
          const bool last = hop == n - 1;
          partial =
              reduced({plan.datatype(), reduction, last ? divisor_of(reduction, inputs.size()) : 1},
                      own, partial);
        }
        result[index(i)] = partial;
      }
    }
  }
  return result;
}

Elements tree_all_reduced(const std::vector<Elements>& inputs, const MessagePlan& plan,
                          const std::vector<std::vector<Rank>>& rings, Reduction reduction,
                          int ranks_per_node) {
  Elements result(inputs.front().size());
  const ElementReduction how{plan.datatype(), reduction, divisor_of(reduction, inputs.size())};
  for (int channel = 0; channel < plan.channels(); ++channel) {
    for (int number = 0; number < plan.parts(); ++number) {
      const Tree tree = tree_of(rings[index(channel)], ranks_per_node, number);
      const Span span = plan.chunk(channel, number);
      for (std::int64_t i = span.first; i < span.first + span.count; ++i) {
        result[index(i)] = subtree_result(tree, inputs, tree.root, index(i), how);
      }
    }
  }
  return result;
}

Elements order_free_reduced(const std::vector<Elements>& inputs, DataType type,
                            Reduction reduction) {
  const bool extreme = reduction == Reduction::kMax || reduction == Reduction::kMin;
  GRADHAUL_ASSERT(is_integer(type) || extreme, "floating-point sums depend on the order");
  Elements result;
  for (std::size_t i = 0; i < inputs.front().size(); ++i) {
    result.push_back(is_integer(type) ? order_free_integer(inputs, i, type, reduction)
                                      : order_free_extreme(inputs, i, type, reduction));
  }
  return result;
}

Elements all_to_all_output(const std::vector<Elements>& inputs, Rank rank, std::int64_t part) {
  Elements output;
  for (const Elements& input : inputs) {
    const auto begin = input.begin() + rank * part;
    output.insert(output.end(), begin, begin + part);
  }
  return output;
}

}  // namespace gradhaul::oracle
