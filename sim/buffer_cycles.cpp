#include "sim/buffer_cycles.h"

#include <algorithm>
#include <cstdint>

#include "core/prediction_request.h"

namespace gradhaul {
namespace {

using Waits = std::vector<std::vector<LinkId>>;  // by link: those that its packets wait for

// Nobody sends by it without room at the far end. Only what is posted waits there: notifications
// have a priority of their own.
bool guarded(const Link& link, TrafficClass traffic_class) {
  if (!link.network || traffic_class != TrafficClass::kPosted) return false;
  return link.pause.lossless() || link.window[static_cast<int>(traffic_class)] > 0;
}

Waits waits_of(const Fabric& fabric, const std::vector<FlowSpec>& flows) {
  Waits waits(fabric.links().size());
  for (const FlowSpec& flow : flows) {
    for (std::size_t i = 0; i + 1 < flow.route.size(); ++i) {
      const LinkId held = flow.route[i].link;
      const LinkId wanted = flow.route[i + 1].link;
      if (!guarded(fabric.link(held), flow.traffic_class)) continue;
      if (!guarded(fabric.link(wanted), flow.traffic_class)) continue;
      std::vector<LinkId>& known = waits[static_cast<std::size_t>(held)];
      if (std::find(known.begin(), known.end(), wanted) == known.end()) known.push_back(wanted);
    }
  }
  return waits;
}

// Depth first, along links that are not known to lead nowhere.
class CycleSearch {
 public:
  explicit CycleSearch(const Waits& waits) : waits_(waits), states_(waits.size()) {}

  std::vector<LinkId> find() {
    for (std::size_t link = 0; link < waits_.size(); ++link) {
      if (states_[link] != State::kNew) continue;
      enter(static_cast<LinkId>(link));
      while (!path_.empty()) {
        if (step()) return cycle_;
      }
    }
    return {};
  }

 private:
  enum class State : std::uint8_t { kNew, kOnPath, kDone };
  struct Step {
    LinkId link;
    std::size_t next;  // of its waits, the first that has not been followed
  };

  State& state(LinkId link) { return states_[static_cast<std::size_t>(link)]; }
  void enter(LinkId link) {
    state(link) = State::kOnPath;
    path_.push_back({link, 0});
  }
  // Whether that closes a circle.
  bool step() {
    Step& last = path_.back();
    const std::vector<LinkId>& waits = waits_[static_cast<std::size_t>(last.link)];
    if (last.next == waits.size()) {
      state(last.link) = State::kDone;
      path_.pop_back();
      return false;
    }
    const LinkId next = waits[last.next++];
    if (state(next) == State::kNew)
      enter(next);
    else if (state(next) == State::kOnPath)
      return close(next);
    return false;
  }
  bool close(LinkId first) {
    bool within = false;
    for (const Step& step : path_) {
      within = within || step.link == first;
      if (within) cycle_.push_back(step.link);
    }
    return true;
  }

  const Waits& waits_;
  std::vector<State> states_;
  std::vector<Step> path_;
  std::vector<LinkId> cycle_;
};

}  // namespace

std::vector<LinkId> buffer_cycle(const Fabric& fabric, const std::vector<FlowSpec>& flows) {
  const Waits waits = waits_of(fabric, flows);
  return CycleSearch(waits).find();
}

std::string cycle_in_words(const Fabric& fabric, const std::vector<LinkId>& cycle) {
  std::string words;
  for (const LinkId link : cycle) words += fabric.link(link).name + " -> ";
  return cycle.empty() ? words : words + fabric.link(cycle.front()).name;
}

void refuse_buffer_cycles(const Fabric& fabric, const std::vector<FlowSpec>& flows) {
  const std::vector<LinkId> cycle = buffer_cycle(fabric, flows);
  if (cycle.empty()) return;
  const bool ring = fabric.cluster().network.topology.kind == TopologyKind::kRing;
  throw SimulationError(
      "buffers of lossless links wait for each other in a circle, in which all may come to a "
      "standstill for ever (cyclic buffer dependency): " +
      cycle_in_words(fabric, cycle) + "; take routes that never turn up again behind a way down" +
      (ring ? " (cluster.network.topology.way: up_down)" : ""));
}

}  // namespace gradhaul
