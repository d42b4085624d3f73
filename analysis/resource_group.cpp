#include "analysis/resource_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <utility>

#include "core/assert.h"

namespace gradhaul {
namespace {

constexpr double kAlike = 0.02;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The numbers in a name, in order: "node0.nic13" -> {"0", "13"}.
std::vector<std::string_view> numbers_of(std::string_view name) {
  std::vector<std::string_view> numbers;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end > i) numbers.push_back(name.substr(i, end - i));
    i = std::max(end, i + 1);
  }
  return numbers;
}

}  // namespace

std::string shape_of(std::string_view name) {
  std::string shape;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_digit(name[i])) {
      shape += name[i];
    } else if (i == 0 || !is_digit(name[i - 1])) {
      shape += '*';
    }
  }
  return shape;
}

std::string common_name(const std::vector<std::string_view>& names) {
  GRADHAUL_ASSERT(!names.empty(), "a group has members");
  const std::vector<std::string_view> first = numbers_of(names.front());
  std::vector<bool> shared(first.size(), true);
  for (const std::string_view name : names) {
    const std::vector<std::string_view> numbers = numbers_of(name);
    GRADHAUL_ASSERT(numbers.size() == first.size(), "the members of a group are of one shape");
    for (std::size_t i = 0; i < first.size(); ++i) shared[i] = shared[i] && numbers[i] == first[i];
  }
  std::string result;
  std::size_t number = 0;
  for (const char c : shape_of(names.front())) {
    if (c != '*') {
      result += c;
    } else {
      result += shared[number] ? first[number] : std::string_view("*");
      ++number;
    }
  }
  return result;
}

std::string equal_names(const std::vector<std::string_view>& names) {
  if (names.size() == 1) return std::string(names.front());
  return fmt::format("{} ({} equal)", common_name(names), names.size());
}

std::string names_of_group(const UseGroup& group) {
  const std::string lowest = fmt::format("{:.1f} %", group.lowest * 100);
  if (lowest == fmt::format("{:.1f} %", group.highest * 100)) return equal_names(group.names);
  return fmt::format("{} ({}, down to {})", common_name(group.names), group.names.size(), lowest);
}

std::string_view first_name(std::string_view limited_by) {
  return limited_by.substr(0, limited_by.find(" ("));
}

int equal_count(std::string_view limited_by) {
  const std::size_t open = limited_by.find(" (");
  if (open == std::string_view::npos) return 1;
  int count = 1;
  std::from_chars(limited_by.data() + open + 2, limited_by.data() + limited_by.size(), count);
  return count;
}

std::string kind_in_words(std::string_view kind) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kWords{
      {{"nic", "NIC wire"},
       {"pcie", "PCIe link of a device"},
       {"pcie_uplink", "uplink of a PCIe switch"},
       {"socket", "root complex and host memory of a socket"},
       {"socket_link", "link between sockets"},
       {"iommu", "IOMMU, which translates addresses, of a socket"},
       {"ordered_writes", "writes of a device in strict order"},
       {"nvlink", "NVLink of a GPU"},
       {"reduce", "reduce kernels of a GPU"},
       {"memory", "memory of a GPU"},
       {"thread", "CPU cores that carry a rank's TCP"},
       {"network", "link between network switches"}}};
  for (const auto& [name, words] : kWords) {
    if (name == kind) return std::string(words);
  }
  return std::string(kind);
}

std::string_view kind_of(std::string_view name, const std::vector<ResourceUse>& resources) {
  for (const ResourceUse& resource : resources) {
    if (resource.name == name) return resource.kind;
  }
  return {};
}

std::vector<UseGroup> group_by_use(const std::vector<ResourceUse>& resources) {
  std::map<std::pair<std::string, std::string>, std::vector<const ResourceUse*>> by_shape;
  for (const ResourceUse& use : resources) by_shape[{use.kind, shape_of(use.name)}].push_back(&use);
  std::vector<UseGroup> groups;
  for (auto& [key, uses] : by_shape) {
    std::stable_sort(uses.begin(), uses.end(), [](const ResourceUse* a, const ResourceUse* b) {
      return a->utilisation > b->utilisation;
    });
    for (const ResourceUse* use : uses) {
      if (use == uses.front() || groups.back().lowest - use->utilisation > kAlike) {
        groups.push_back({{}, use->kind, use->utilisation, use->utilisation, {}, {}});
      }
      UseGroup& group = groups.back();
      group.names.push_back(use->name);
      group.lowest = use->utilisation;
      group.bytes = std::max(group.bytes, use->bytes);
      group.blame += use->blame;
    }
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const UseGroup& a, const UseGroup& b) { return a.highest > b.highest; });
  return groups;
}

}  // namespace gradhaul
