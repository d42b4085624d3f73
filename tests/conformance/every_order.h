#pragma once

// Runs a small loopback world in every order of deliveries that the contract allows. Two orders
// that lead to the same state (all engines' counters, all memory, all that is deliverable) go on as
// one; without that merging, as a check of it, each order is run by itself.
//
// Worlds can't be copied, so each branch is replayed from the start by a script of choices.

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "backends/loopback/loopback_world.h"

namespace gradhaul::conformance {

struct EveryOrder {
  std::int64_t ends = 0;    // runs that came to an end
  std::int64_t states = 0;  // seen, when merging
  std::string fault;        // the first; empty: none
};

class EveryOrderExplorer {
 public:
  using MakeWorld = std::function<std::unique_ptr<LoopbackWorld>()>;  // inputs filled, not started
  using Check = std::function<std::string(LoopbackWorld&)>;           // of an end; empty: right

  EveryOrderExplorer(MakeWorld make_world, Check check)
      : make_world_(std::move(make_world)), check_(std::move(check)) {}

  EveryOrder explore(bool merging) {
    std::vector<Script> open{{}};
    while (!open.empty() && result_.fault.empty()) {
      const Script script = std::move(open.back());
      open.pop_back();
      follow(script, merging, open);
    }
    result_.states = static_cast<std::int64_t>(seen_.size());
    return result_;
  }

 private:
  using Script = std::vector<std::size_t>;

  class Scripted final : public DeliveryChooser {
   public:
    std::size_t next = 0;
    std::size_t choose(std::span<const Deliverable> /*deliverable*/) override { return next; }
  };

  // To the end of the script, and from there always the first choice, leaving the others open.
  void follow(Script script, bool merging, std::vector<Script>& open) {
    const std::unique_ptr<LoopbackWorld> world = make_world_();
    world->start();
    Scripted chooser;
    for (const std::size_t choice : script) {
      chooser.next = choice;
      world->step(chooser);
    }
    chooser.next = 0;
    for (;;) {
      if (merging && !seen_.insert(state_of(*world)).second) return;
      const std::size_t choices = world->fabric().deliverable().size();
      if (choices == 0) break;
      for (std::size_t choice = 1; choice < choices; ++choice) {
        open.push_back(script);
        open.back().push_back(choice);
      }
      script.push_back(0);
      world->step(chooser);
    }
    ++result_.ends;
    const LoopbackOutcome outcome = world->outcome();
    result_.fault = outcome.kind == LoopbackOutcome::Kind::kFinished
                        ? check_(*world)
                        : "stalled:\n" + outcome.report;
  }

  static std::pair<std::uint64_t, std::uint64_t> state_of(LoopbackWorld& world) {
    std::ostringstream text;
    for (Rank rank = 0; rank < world.ranks(); ++rank) {
      world.engine(rank).describe(text);
      const std::span<const std::byte> output = world.output(rank);
      text.write(reinterpret_cast<const char*>(output.data()),
                 static_cast<std::streamsize>(output.size()));
    }
    // Heads are in the order of the posts, which is not part of the state.
    std::set<std::tuple<Rank, CompletionKind, std::int32_t>> heads;
    for (const Deliverable& head : world.fabric().deliverable()) {
      heads.emplace(head.rank, head.kind, head.id);
    }
    for (const auto& [rank, kind, id] : heads) {
      text << ' ' << rank << ' ' << static_cast<int>(kind) << ' ' << id;
    }
    // Two hashes (FNV-1a and a polynomial), so that no two states are taken for one.
    std::uint64_t fnv = 0xcbf29ce484222325U;
    std::uint64_t polynomial = 0;
    for (const char c : text.str()) {
      fnv = (fnv ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
      polynomial = polynomial * 0x9e3779b97f4a7c15U + static_cast<unsigned char>(c) + 1;
    }
    return {fnv, polynomial};
  }

  MakeWorld make_world_;
  Check check_;
  EveryOrder result_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen_;
};

}  // namespace gradhaul::conformance
