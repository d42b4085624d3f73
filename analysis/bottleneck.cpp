#include "analysis/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "analysis/quantity_text.h"
#include "analysis/resource_group.h"
#include "analysis/time_parts.h"

namespace gradhaul {
namespace {

constexpr double kMuchBusier = 0.05;

const ResourceUse* find_resource(std::string_view name, const std::vector<ResourceUse>& resources) {
  const auto found = std::find_if(resources.begin(), resources.end(),
                                  [&](const ResourceUse& use) { return use.name == name; });
  return found == resources.end() ? nullptr : &*found;
}

// "its wire carries data"
std::string_view what_it_does(std::string_view kind) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kActions{
      {{"nic", "its wire carries data"},
       {"pcie", "its PCIe link carries data"},
       {"pcie_uplink", "the uplink of this PCIe switch carries data"},
       {"socket", "the root complex and host memory of this socket carry data"},
       {"socket_link", "the link between the sockets carries data"},
       {"iommu", "the root ports of this socket bring pages of addresses"},
       {"ordered_writes", "the root complex takes this device's writes one by one"},
       {"nvlink", "its NVLink carries data"},
       {"reduce", "its reduce kernels are at work"},
       {"memory", "its memory is at work"},
       {"thread", "the CPU copies its data, and works through TCP,"},
       {"network", "this part of the network carries data"}}};
  for (const auto& [name, action] : kActions) {
    if (name == kind) return action;
  }
  return "it is busy";
}

std::string share_of_path(Duration part, const ResultRow& row) {
  const double share =
      row.time.ps > 0 ? static_cast<double>(part.ps) / static_cast<double>(row.time.ps) : 0;
  return fmt::format("{} of the critical path ({}) is spent", duration_of_text(part, row.time),
                     percent_text(share));
}

const ResourceUse* busiest_of(const std::vector<ResourceUse>& resources) {
  const auto busiest = std::max_element(
      resources.begin(), resources.end(),
      [](const ResourceUse& a, const ResourceUse& b) { return a.utilisation < b.utilisation; });
  return busiest == resources.end() ? nullptr : &*busiest;
}

// What is busy most is not always what is waited for most; a reader who sees both asks why.
std::string busier_than(const ResourceUse& use, const std::vector<ResourceUse>& resources) {
  const ResourceUse* busiest = busiest_of(resources);
  if (busiest == nullptr || busiest->utilisation - use.utilisation < kMuchBusier) return "";
  return fmt::format(" Busier, but less waited for, is {}, {} of the time.", busiest->name,
                     percent_text(busiest->utilisation));
}

std::string by_resource(const ResultRow& row, const ResourceUse& use,
                        const std::vector<ResourceUse>& resources) {
  // Its equals are on the critical path in its place as often as not: they count as one.
  Duration spent;
  for (const TimePart& part : row.parts) {
    if (shape_of(part.resource) == shape_of(use.name)) spent += part.time;
  }
  const int equals = equal_count(row.limited_by);
  return fmt::format("Limited by {}: {} {} of the time. {} {}.{}", row.limited_by,
                     what_it_does(use.kind), percent_text(use.utilisation),
                     share_of_path(spent, row), equals > 1 ? "on it and its equals" : "on it",
                     busier_than(use, resources));
}

std::string by_latency(const ResultRow& row, const std::vector<ResourceUse>& resources) {
  std::string text =
      "Limited by latency: the data is on its way, or waits for software, most of the time, not "
      "for bandwidth.";
  if (const ResourceUse* busiest = busiest_of(resources)) {
    text += fmt::format(" Nothing is busier than {}, {} of the time.", busiest->name,
                        percent_text(busiest->utilisation));
  }
  Duration moving;
  for (const TimePart& part : row.parts) {
    if (part.cause == "busy") moving += part.time;
  }
  return text + fmt::format(" Only {} moving data.", share_of_path(moving, row));
}

std::string by_slots(const ResultRow& row) {
  Duration waiting;
  for (const TimePart& part : row.parts) {
    if (part.cause == "slot credits") waiting += part.time;
  }
  std::string text =
      "Limited by slots: senders wait until a receive slot of their peer is free (keys slots and "
      "slot_size).";
  if (waiting > Duration{}) text += fmt::format(" {} so.", share_of_path(waiting, row));
  return text;
}

// Where no resource is known, as of NCCL's tuner.
std::string by_bandwidth(const ResultRow& row) {
  Duration moving;
  for (const TimePart& part : row.parts) {
    if (part.cause == "busy") moving += part.time;
  }
  return fmt::format("Limited by bandwidth: {} moving data.", share_of_path(moving, row));
}

}  // namespace

std::string bottleneck_sentence(const ResultRow& row, const std::vector<ResourceUse>& resources) {
  const std::string_view name = first_name(row.limited_by);
  if (name == "latency") return by_latency(row, resources);
  if (name == "slots") return by_slots(row);
  if (name == "bandwidth") return by_bandwidth(row);
  if (const ResourceUse* use = find_resource(name, resources))
    return by_resource(row, *use, resources);
  return fmt::format("Limited by {}.", row.limited_by);
}

}  // namespace gradhaul
