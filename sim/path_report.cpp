#include "sim/path_report.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace gradhaul {
namespace {

// From here on a resource counts as busy all the time: what is missing is the beginning and the
// end.
constexpr double kNearlyBusy = 0.8;
// Less of the critical path than this in returned slots is chance.
constexpr double kSlotShare = 0.05;
constexpr double kEqual = 1e-3;
// With less of the critical path than this, a kind of resource is there by chance.
constexpr double kOnPath = 0.05;

bool is_latency(Cause cause) {
  return cause == Cause::kLatency || cause == Cause::kDoorbell || cause == Cause::kCompletion ||
         cause == Cause::kFlag || cause == Cause::kLaunch || cause == Cause::kStaging ||
         cause == Cause::kThread || cause == Cause::kWakeUp || cause == Cause::kRegistration ||
         cause == Cause::kFlush || cause == Cause::kContext;
}

double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// The busiest of a kind, and how many are as busy.
struct Busiest {
  const ResourceUse* use = nullptr;  // the first of those that share the first place
  int equal = 0;
  double utilisation = 0;
};

Busiest busiest_of(const std::string& kind, const std::vector<ResourceUse>& uses) {
  Busiest busiest;
  for (const ResourceUse& use : uses) {
    if (use.kind == kind) busiest.utilisation = std::max(busiest.utilisation, use.utilisation);
  }
  for (const ResourceUse& use : uses) {
    if (use.kind != kind || use.utilisation < busiest.utilisation * (1 - kEqual)) continue;
    if (++busiest.equal == 1) busiest.use = &use;
  }
  return busiest;
}

// Of the critical path, in ps.
struct PathShares {
  std::map<std::string, std::int64_t> by_kind;
  std::int64_t latency = 0;
  std::int64_t slots = 0;
  std::int64_t whole = 0;
};

PathShares path_shares(const std::vector<TracePart>& path, const std::vector<Resource>& resources) {
  PathShares shares;
  for (const TracePart& part : path) {
    shares.whole += part.ps;
    if (part.cause == Cause::kSlots) {
      shares.slots += part.ps;
    } else if (is_latency(part.cause) || part.resource == kNoResource) {
      shares.latency += part.ps;
    } else {
      shares.by_kind[resources[static_cast<std::size_t>(part.resource)].kind] += part.ps;
    }
  }
  return shares;
}

// The kind that the path waits most for; but where that is not nearly busy, it only passes on what
// a busy one makes wait behind it, or stands where slack would be: then the busiest on the path.
Busiest narrowest(const PathShares& shares, const std::vector<ResourceUse>& uses) {
  const auto most =
      std::max_element(shares.by_kind.begin(), shares.by_kind.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == shares.by_kind.end() || most->second <= shares.latency) return {};
  const Busiest first = busiest_of(most->first, uses);
  if (first.utilisation >= kNearlyBusy) return first;
  Busiest narrow;
  for (const auto& [kind, ps] : shares.by_kind) {
    if (share(ps, shares.whole) < kOnPath) continue;
    const Busiest busiest = busiest_of(kind, uses);
    if (busiest.utilisation > narrow.utilisation) narrow = busiest;
  }
  return narrow.utilisation >= kNearlyBusy ? narrow : first;
}

}  // namespace

std::vector<ResourceUse> named_uses(const std::vector<Resource>& resources) {
  std::vector<ResourceUse> uses(resources.size());
  for (std::size_t i = 0; i < resources.size(); ++i) {
    uses[i].name = resources[i].name;
    uses[i].kind = resources[i].kind;
  }
  return uses;
}

bool counts_bytes(const Link& link) { return !link.name.ends_with(".iommu"); }

void finish_uses(const std::vector<TracePart>& path, std::vector<ResourceUse>& uses) {
  for (const TracePart& part : path) {
    if (part.resource == kNoResource) continue;
    uses[static_cast<std::size_t>(part.resource)].blame += Duration{part.ps};
  }
  std::erase_if(uses, [](const ResourceUse& use) {
    return use.bytes.count == 0 && use.utilisation == 0 && use.blame.ps == 0;
  });
  std::sort(uses.begin(), uses.end(),
            [](const ResourceUse& a, const ResourceUse& b) { return a.name < b.name; });
}

std::vector<TimePart> time_parts(const std::vector<TracePart>& path,
                                 const std::vector<Resource>& resources) {
  std::vector<TimePart> parts;
  for (const TracePart& part : path) {
    TimePart shown;
    if (part.resource != kNoResource) {
      shown.resource = resources[static_cast<std::size_t>(part.resource)].name;
    }
    shown.cause = name_of(part.cause);
    shown.time = {part.ps};
    parts.push_back(shown);
  }
  std::stable_sort(parts.begin(), parts.end(), [](const TimePart& a, const TimePart& b) {
    if (a.time != b.time) return a.time > b.time;
    return std::pair(a.resource, a.cause) < std::pair(b.resource, b.cause);
  });
  return parts;
}

std::string limiting_resource(const std::vector<TracePart>& path,
                              const std::vector<Resource>& resources,
                              const std::vector<ResourceUse>& uses) {
  const PathShares shares = path_shares(path, resources);
  const Busiest narrow = narrowest(shares, uses);
  const bool nearly_busy = narrow.use != nullptr && narrow.utilisation >= kNearlyBusy;
  if (!nearly_busy && share(shares.slots, shares.whole) >= kSlotShare) return "slots";
  if (narrow.use == nullptr) return "latency";
  return narrow.equal > 1 ? narrow.use->name + " (" + std::to_string(narrow.equal) + " equal)"
                          : narrow.use->name;
}

}  // namespace gradhaul
