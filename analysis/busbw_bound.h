#pragma once

// A busbw above what the links can carry is a fault of the program and ends the run, save where the
// convention of busbw itself allows it: its factor supposes that every rank's data passes the links
// of every node as a ring's does, and a tree or a hierarchy moves less (a tree on two nodes half).

#include <string>
#include <vector>

#include "core/cluster.h"
#include "core/communication.h"
#include "core/result.h"
#include "core/workload.h"

namespace gradhaul {

// Bytes a second that no run on `cluster` can exceed, from link rates alone (headers, PCIe and
// latency only lower it); infinity where nothing limits it.
double busbw_bound(const Cluster& cluster, Collective collective);

// Aborts where a row's busbw exceeds `bound` and its algorithm is a ring or pairwise exchange;
// where it is another, adds a note instead, unless there is one already.
void enforce_busbw_bound(const ResultRow& row, double bound, std::vector<std::string>& notes);

}  // namespace gradhaul
