#pragma once

// What company costs: jobs beside each other and beside background traffic, against each by itself.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/quantities.h"

namespace gradhaul {

// A part of a row's time along its critical path.
struct TimePart {
  std::string resource;  // "node0.nic0"; empty: no resource's (pure latency of software and wires)
  std::string cause;     // "busy", "credits", "latency", "launch", …
  Duration time;
};

// Payload that crossed a link, in the direction in which more did.
struct LinkShare {
  std::string resource;
  std::vector<Bytes> bytes;  // by party
};

struct BackgroundResult {
  std::string name;
  int sources = 0;
  double offered = 0;  // share of a source's wire, mean over sources and the time of the run
  double carried = 0;
  Bytes sent;                  // payload of the messages that were complete by the end of the run
  std::int64_t messages = 0;   // so many
  std::int64_t held_back = 0;  // that began late, so many others of theirs being under way
};

// What one job has of the others.
struct JobCompany {
  std::string job;
  std::vector<std::string> gpus;  // "node0.gpu3", by rank
  Duration start;
  Duration time;   // in company
  Duration alone;  // with nobody else in the cluster
  std::vector<TimePart> alone_parts;
  // How much sooner it would be complete without each other party alone: whom it waits for. Empty
  // where there is no more than one, whose all of it is; below zero, it would take longer.
  std::vector<std::pair<std::string, Duration>> saved_without;
};

struct Company {
  std::vector<std::string> parties;  // jobs, then background traffic
  std::vector<JobCompany> jobs;
  // Links that carried data of more than one party, at least one of them a job.
  std::vector<LinkShare> shared_links;
  std::vector<BackgroundResult> background;
};

}  // namespace gradhaul
