// Who is suspect in a matrix of pairs (analysis/pair_matrix.h).

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/pair_matrix.h"
#include "analysis/quantity_text.h"

namespace gradhaul {
namespace {

// Of its writes so many must be slow, and no fewer than this.
constexpr double kMost = 0.75;
constexpr std::size_t kFewest = 2;

class SuspectSearch {
 public:
  // `told`: suspects of one way, where it is of both ways.
  SuspectSearch(const PairMatrix& matrix, Duration PairTime::*field, std::vector<Suspect> told = {})
      : matrix_(matrix), field_(field), both_ways_(field == &PairTime::both_ways) {
    slow_ = slow_pairs(matrix.times, field, matrix.tolerance);
    explained_.resize(slow_.size());
    std::vector<std::int64_t> sorted;
    for (const PairTime& time : matrix.times) sorted.push_back((time.*field).ps);
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    usual_ = static_cast<double>(sorted[sorted.size() * 3 / 4]);
    found_ = std::move(told);
    if (both_ways_) explain_by_one_way();
  }

  std::vector<Suspect> run() {
    const int nics = matrix_.settings.nics;
    for (int nic = 0; nic < nics && nics > 1; ++nic) {
      check({.kind = SuspectKind::kRail, .nic = nic});
    }
    check_leaves();
    // Of all its NICs, then of one of them.
    for (int node = 0; node < matrix_.nodes; ++node) check_node(node, -1);
    for (int nic = 0; nic < nics && nics > 1; ++nic) {
      for (int node = 0; node < matrix_.nodes; ++node) check_node(node, nic);
    }
    for (std::size_t i = 0; i < slow_.size(); ++i) {
      if (!slow_[i] || explained_[i]) continue;
      const PairTime& time = matrix_.times[i];
      // Both ways are one measurement.
      if (both_ways_ && time.from > time.to) continue;
      found_.push_back({.kind = SuspectKind::kPair,
                        .nic = nics > 1 ? time.nic : -1,
                        .node = time.from,
                        .other = time.to,
                        .share = share_of(time),
                        .both_ways = both_ways_});
    }
    return std::move(found_);
  }

 private:
  double share_of(const PairTime& time) const {
    return usual_ / static_cast<double>((time.*field_).ps);
  }

  // What is slow by itself is so with something coming the other way.
  void explain_by_one_way() {
    const std::vector<bool> slow = slow_pairs(matrix_.times, &PairTime::one_way, matrix_.tolerance);
    const auto pair_of = [](const PairTime& time) {
      return std::tuple(time.nic, std::min(time.from, time.to), std::max(time.from, time.to));
    };
    std::set<std::tuple<int, int, int>> told;
    for (std::size_t i = 0; i < slow.size(); ++i) {
      if (slow[i]) told.insert(pair_of(matrix_.times[i]));
    }
    for (std::size_t i = 0; i < slow.size(); ++i) {
      explained_[i] = told.count(pair_of(matrix_.times[i])) > 0;
    }
  }

  bool concerns(const Suspect& suspect, const PairTime& time) const {
    if (suspect.nic >= 0 && time.nic != suspect.nic) return false;
    const auto leaf_of = [&](int node) {
      return matrix_.leaves[static_cast<std::size_t>(time.nic)][static_cast<std::size_t>(node)];
    };
    switch (suspect.kind) {
      case SuspectKind::kRail:
        return true;
      case SuspectKind::kNode:
        return time.from == suspect.node || time.to == suspect.node;
      case SuspectKind::kSender:
        return time.from == suspect.node;
      case SuspectKind::kReceiver:
        return time.to == suspect.node;
      case SuspectKind::kLeaf:
        return leaf_of(time.from) != leaf_of(time.to) &&
               (leaf_of(time.from) == suspect.leaf || leaf_of(time.to) == suspect.leaf);
      case SuspectKind::kPair:
        return time.from == suspect.node && time.to == suspect.other;
    }
    return false;
  }

  // Of what nothing wider explains.
  std::vector<std::size_t> places_of(const Suspect& suspect) const {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < slow_.size(); ++i) {
      if (!explained_[i] && concerns(suspect, matrix_.times[i])) places.push_back(i);
    }
    return places;
  }

  bool is_slow(const std::vector<std::size_t>& places) const {
    const auto slow = static_cast<std::size_t>(
        std::count_if(places.begin(), places.end(), [&](std::size_t i) { return slow_[i]; }));
    return slow >= kFewest &&
           static_cast<double>(slow) >= kMost * static_cast<double>(places.size());
  }

  bool check(Suspect suspect) {
    const std::vector<std::size_t> places = places_of(suspect);
    if (!is_slow(places)) return false;
    std::vector<double> shares;
    for (const std::size_t i : places) {
      explained_[i] = true;
      if (slow_[i]) shares.push_back(share_of(matrix_.times[i]));
    }
    std::sort(shares.begin(), shares.end());
    suspect.share = shares[shares.size() / 2];
    suspect.both_ways = both_ways_;
    found_.push_back(suspect);
    return true;
  }

  // Both directions where both are slow; with two nodes either would be as suspect.
  void check_node(int node, int nic) {
    if (matrix_.nodes < 3) return;
    const Suspect sends{.kind = SuspectKind::kSender, .nic = nic, .node = node};
    const Suspect receives{.kind = SuspectKind::kReceiver, .nic = nic, .node = node};
    const bool slow_out = is_slow(places_of(sends));
    const bool slow_in = is_slow(places_of(receives));
    if (slow_out && slow_in) {
      check({.kind = SuspectKind::kNode, .nic = nic, .node = node});
    } else if (slow_out) {
      check(sends);
    } else if (slow_in) {
      check(receives);
    }
  }

  void check_leaves() {
    std::vector<int> leaves;
    for (const std::vector<int>& of_nic : matrix_.leaves) {
      leaves.insert(leaves.end(), of_nic.begin(), of_nic.end());
    }
    std::sort(leaves.begin(), leaves.end());
    leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
    for (const int leaf : leaves) {
      // A node that has a leaf for itself is named as the node.
      const bool shared = std::any_of(matrix_.leaves.begin(), matrix_.leaves.end(),
                                      [&](const std::vector<int>& of_nic) {
                                        return std::count(of_nic.begin(), of_nic.end(), leaf) > 1;
                                      });
      if (shared) check({.kind = SuspectKind::kLeaf, .leaf = leaf});
    }
  }

  const PairMatrix& matrix_;
  Duration PairTime::*field_;
  bool both_ways_;
  double usual_ = 0;  // the time that a quarter does not exceed
  std::vector<bool> slow_;
  std::vector<bool> explained_;
  std::vector<Suspect> found_;
};

}  // namespace

std::vector<Suspect> suspects_of(const PairMatrix& matrix) {
  std::vector<Suspect> suspects = SuspectSearch(matrix, &PairTime::one_way).run();
  const bool both = std::all_of(matrix.times.begin(), matrix.times.end(),
                                [](const PairTime& time) { return time.both_ways.ps > 0; });
  if (!both) return suspects;
  return SuspectSearch(matrix, &PairTime::both_ways, std::move(suspects)).run();
}

std::string sentence_of(const Suspect& suspect) {
  const std::string slow = fmt::format("at {} of the upper quartile", percent_text(suspect.share));
  const std::string both = suspect.both_ways ? " when both ways go at once" : "";
  const std::string by =
      (suspect.nic >= 0 ? fmt::format(" by nic{}", suspect.nic) : std::string()) + both;
  switch (suspect.kind) {
    case SuspectKind::kRail:
      return fmt::format("nic{} is suspect in all nodes{}, or the switches of its rail: {}",
                         suspect.nic, both, slow);
    case SuspectKind::kNode:
      return fmt::format("node{} is suspect{}: what it sends and what it receives is {}",
                         suspect.node, by, slow);
    case SuspectKind::kSender:
      return fmt::format("node{} is suspect{}: what it sends is {}", suspect.node, by, slow);
    case SuspectKind::kReceiver:
      return fmt::format("node{} is suspect{}: what it receives is {}", suspect.node, by, slow);
    case SuspectKind::kLeaf:
      return fmt::format("leaf{} is suspect{}, or its uplinks: what passes them is {}",
                         suspect.leaf, both, slow);
    case SuspectKind::kPair:
      break;
  }
  return fmt::format("node{} to node{}{} is slow by itself: {}", suspect.node, suspect.other, by,
                     slow);
}

}  // namespace gradhaul
