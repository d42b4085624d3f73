#pragma once

// Keys that are read, and change nothing in what is predicted, because of what another key says:
// RDMA's where it goes by TCP, what a switch that is off would cost.

#include <string>
#include <string_view>

#include "scenarios/scenario.h"

namespace gradhaul {

// What would give the key ("cluster.node.pcie_settings.iotlb_miss") an effect: empty where it has
// one.
std::string lacks_for_effect(const Scenario& scenario, std::string_view key);

// Of those that the scenario or an option gives another value than their usual one, a note each:
// devices and networks from files may say what no scenario of today asks for, and so may one that
// is measured, too.
void note_idle_keys(Scenario& scenario);

}  // namespace gradhaul
