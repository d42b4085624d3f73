#pragma once

// Resources that differ only in their numbers ("node0.nic3", "node7.nic1") told together. A shape
// is a name with each number replaced by '*'; a group's name keeps the numbers that all members
// share: "node*.nic3", "node*.nic*".

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace gradhaul {

std::string shape_of(std::string_view name);

// The common name of names of one shape; at least one.
std::string common_name(const std::vector<std::string_view>& names);

// "node*.nic* (32 equal)"; of one: its name alone.
std::string equal_names(const std::vector<std::string_view>& names);

// The name without its " (32 equal)", as a row's limited_by carries it.
std::string_view first_name(std::string_view limited_by);
// How many share the first place: 32, or 1.
int equal_count(std::string_view limited_by);

// What a resource is, in words: "NIC wire", "PCIe link of a GPU". The kind is that of ResourceUse,
// or of the name where it is not known.
std::string kind_in_words(std::string_view kind);

// The kind of resource `name`, found among `resources`; empty where there is none of that name.
std::string_view kind_of(std::string_view name, const std::vector<ResourceUse>& resources);

struct UseGroup {
  std::vector<std::string_view> names;  // views into the resources given
  std::string kind;
  double highest = 0;  // utilisation
  double lowest = 0;
  Bytes bytes;     // of one: the greatest
  Duration blame;  // of all together
};

// "node*.nic* (32 equal)", or "node*.nic* (32, down to 93.1 %)" where they only are alike.
std::string names_of_group(const UseGroup& group);

// Resources of one kind and shape, the busiest first; those of one group are alike: sorted by
// utilisation, no two neighbours are more than two percent points apart, so that what stands out
// stands alone.
std::vector<UseGroup> group_by_use(const std::vector<ResourceUse>& resources);

}  // namespace gradhaul
