// Who is suspect in a matrix of pairs (analysis/pair_matrix.h).

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "analysis/pair_matrix.h"
#include "analysis/quantity_text.h"

namespace gradhaul {
namespace {

// Of its writes so many must be slow, and no fewer than this.
constexpr double kMost = 0.75;
constexpr std::size_t kFewest = 2;

class SuspectSearch {
 public:
  explicit SuspectSearch(const PairMatrix& matrix)
      : matrix_(matrix), usual_(matrix.upper_quartile()) {
    slow_ = slow_pairs(matrix.times, matrix.tolerance);
    explained_.resize(slow_.size());
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
      found_.push_back({.kind = SuspectKind::kPair,
                        .nic = nics > 1 ? time.nic : -1,
                        .node = time.from,
                        .other = time.to,
                        .share = matrix_.bandwidth(time) / usual_});
    }
    return std::move(found_);
  }

 private:
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
      if (slow_[i]) shares.push_back(matrix_.bandwidth(matrix_.times[i]) / usual_);
    }
    std::sort(shares.begin(), shares.end());
    suspect.share = shares[shares.size() / 2];
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
  double usual_;
  std::vector<bool> slow_;
  std::vector<bool> explained_;
  std::vector<Suspect> found_;
};

}  // namespace

std::vector<Suspect> suspects_of(const PairMatrix& matrix) { return SuspectSearch(matrix).run(); }

std::string sentence_of(const Suspect& suspect) {
  const std::string slow = fmt::format("at {} of the upper quartile", percent_text(suspect.share));
  const std::string by = suspect.nic >= 0 ? fmt::format(" by nic{}", suspect.nic) : "";
  switch (suspect.kind) {
    case SuspectKind::kRail:
      return fmt::format("nic{} is suspect in all nodes, or the switches of its rail: {}",
                         suspect.nic, slow);
    case SuspectKind::kNode:
      return fmt::format("node{} is suspect{}: what it sends and what it receives is {}",
                         suspect.node, by, slow);
    case SuspectKind::kSender:
      return fmt::format("node{} is suspect{}: what it sends is {}", suspect.node, by, slow);
    case SuspectKind::kReceiver:
      return fmt::format("node{} is suspect{}: what it receives is {}", suspect.node, by, slow);
    case SuspectKind::kLeaf:
      return fmt::format("leaf{} is suspect, or its uplinks: what passes them is {}", suspect.leaf,
                         slow);
    case SuspectKind::kPair:
      break;
  }
  return fmt::format("node{} to node{}{} is slow by itself: {}", suspect.node, suspect.other, by,
                     slow);
}

}  // namespace gradhaul
