#include "scenarios/node_fault_reader.h"

#include <fmt/format.h>

#include "scenarios/quantity.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kLatest = 10'000'000'000'000;  // 10 s

int node_called(const Cluster& cluster, const std::string& name) {
  for (int node = 0; node < cluster.nodes; ++node) {
    if (name == fmt::format("node{}", node)) return node;
  }
  return -1;
}

void take_far_thread(MappingReader& reader, const Cluster& cluster, int node, Faults& faults) {
  if (cluster.node.sockets < 2) {
    reader.report(
        "communication_thread",
        fmt::format("communication_thread: {} has one socket, and no other", cluster.node.name));
    return;
  }
  faults.far_threads.push_back(node);
}

}  // namespace

std::string counted_nodes(const Cluster& cluster) {
  return cluster.nodes == 1 ? "the only node is node0"
                            : fmt::format("nodes are node0 to node{}", cluster.nodes - 1);
}

void read_node_fault(MappingReader& reader, const Cluster* cluster, Faults& faults) {
  const std::string name = reader.text("node", {});
  const bool far = reader.has("communication_thread");
  const bool late = reader.has("receives_late");
  for (const char* key : {"communication_thread", "receives_late"}) reader.raw(key);
  if (far) {
    reader.choice(
        "communication_thread",
        {.otherwise = {"other_socket"}, .available = {"other_socket"}, .unavailable = {}});
  }
  Duration by;
  if (late) by = reader.time("receives_late", {.least = 1, .most = kLatest});
  if (!far && !late) {
    reader.report("node", fmt::format("what is the matter with {}? Its communication_thread, as "
                                      "other_socket, or by how much its receives_late are posted, "
                                      "as 1ms",
                                      name));
  }
  if (!reader.good() || cluster == nullptr) return;
  const int node = node_called(*cluster, name);
  if (node < 0) {
    reader.report("node",
                  fmt::format("node: there is no node \"{}\"; {}", name, counted_nodes(*cluster)));
    return;
  }
  if (has_far_threads(faults, node) || lateness_of_receives(faults, node).ps > 0) {
    reader.report("node", fmt::format("node: {} has a fault already; say all of it in one", name));
    return;
  }
  if (far) take_far_thread(reader, *cluster, node, faults);
  if (late) faults.late_receives.push_back({node, by});
}

std::vector<std::string> node_fault_notes(const Faults& faults) {
  std::vector<std::string> notes;
  for (const int node : faults.far_threads) {
    notes.push_back(
        fmt::format("fault: communication threads of node{} run at another socket than "
                    "the GPUs they serve",
                    node));
  }
  for (const LateReceives& fault : faults.late_receives) {
    notes.push_back(
        fmt::format("fault: communication threads of node{} post each receive again "
                    "{} after its completion",
                    fault.node, format_duration(fault.by)));
  }
  return notes;
}

}  // namespace gradhaul
