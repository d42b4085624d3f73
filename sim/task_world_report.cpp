// What a finished task world tells of its collectives and of all of the run.

#include <algorithm>
#include <map>
#include <utility>

#include "core/asked_row.h"
#include "sim/path_report.h"
#include "sim/task_world.h"

namespace gradhaul {

// What a link served until then; it may have begun with something that takes longer.
std::int64_t TaskWorld::busy_until(LinkId id, std::int64_t time) const {
  const LinkState& state = engine_.state(id);
  return std::max<std::int64_t>(0, state.busy_total - std::max<std::int64_t>(0, state.free - time));
}

// The row of a collective that has just ended: from the start of the first of its ranks.
void TaskWorld::end_collective(const RunningCollective& collective) {
  const Task& task = graph_.tasks[static_cast<std::size_t>(collective.task)];
  const Communicator& communicator =
      graph_.communicators[static_cast<std::size_t>(task.communicator)];
  const Rank ranks = collective.schedule->ranks();
  const int first = order_.first_member(collective.task);
  int last = first;
  std::int64_t start = start_time(first);
  for (int member = first; member < first + ranks; ++member) {
    if (completion_time(member) > completion_time(last)) last = member;
    start = std::min(start, start_time(member));
  }
  ResultRow& row = rows_[static_cast<std::size_t>(collective.task)];
  const Bytes sent = row.bytes_sent_per_rank;
  Workload workload;
  workload.collective = task.collective;
  workload.datatype = task.datatype;
  workload.reduction = task.reduction;
  row = asked_row(workload, communicator.communication, ranks, collective.schedule->channels(),
                  task.size);
  row.bytes_sent_per_rank = sent;
  row.time = {completion_time(last) - start};
  const MemberPath& path = paths_[static_cast<std::size_t>(last)];
  std::vector<TracePart> parts = path.parts;
  const std::int64_t late = start_time(path.origin) - start;
  if (late > 0) parts.push_back({kNoResource, Cause::kLateStart, late});
  row.parts = time_parts(parts, fabric_.resources());

  std::vector<ResourceUse> uses = named_uses(fabric_.resources());
  const auto whole = static_cast<double>(std::max<std::int64_t>(1, row.time.ps));
  for (std::size_t i = 0; i < fabric_.links().size(); ++i) {
    const std::int64_t busy =
        busy_until(static_cast<LinkId>(i), engine_.elapsed()) - collective.busy_before[i];
    ResourceUse& use = uses[static_cast<std::size_t>(fabric_.links()[i].resource)];
    use.utilisation = std::max(use.utilisation, static_cast<double>(busy) / whole);
  }
  for (Rank rank = 0; rank < ranks; ++rank) {
    const int gpu = order_.gpu(first + rank);
    const int each = fabric_.cluster().node.gpu_count;
    const auto reduce = static_cast<std::size_t>(fabric_.reduce_resource(gpu / each, gpu % each));
    uses[reduce].utilisation = static_cast<double>(kernels_.busy(collective.first_port + rank)) /
                               (whole * collective.schedule->channels());
  }
  finish_uses(parts, uses);
  row.limited_by = limiting_resource(parts, fabric_.resources(), uses);
}

std::int64_t TaskWorld::end() const {
  return *std::max_element(completion_times_.begin(), completion_times_.end());
}

std::vector<int> TaskWorld::critical_members() const {
  std::vector<int> members;
  for (int member = last_member_; member >= 0;) {
    members.push_back(member);
    const int origin = path(member).origin;
    member = order_.decided_by(origin);
  }
  std::reverse(members.begin(), members.end());
  return members;
}

// All steps together; the rest of the time nobody did anything but wait for a delay or a time.
std::vector<TracePart> TaskWorld::critical_path() const {
  std::map<std::pair<ResourceId, Cause>, std::int64_t> sums;
  std::int64_t accounted = 0;
  for (const int member : critical_members()) {
    for (const TracePart& part : path(member).parts) {
      sums[{part.resource, part.cause}] += part.ps;
      accounted += part.ps;
    }
  }
  sums[{kNoResource, Cause::kLateStart}] += end() - accounted;
  std::vector<TracePart> parts;
  for (const auto& [key, ps] : sums) {
    if (ps > 0) parts.push_back({key.first, key.second, ps});
  }
  return parts;
}

GpuUse TaskWorld::gpu_use(int node, int gpu) const {
  const int number = node * fabric_.cluster().node.gpu_count + gpu;
  GpuUse use = gpu_uses_[static_cast<std::size_t>(number)];
  use.memory_bytes = memory_.bytes(number);
  use.memory_time = memory_.busy(number);
  const HostCores::Use cores = transport_.core_use(number);
  use.thread_bytes = cores.bytes;
  use.thread_time = cores.busy;
  return use;
}

std::uint64_t TaskWorld::digest() const {
  RunDigest digest;
  for (std::size_t i = 0; i < fabric_.links().size(); ++i) {
    const LinkDigest& served = engine_.state(static_cast<LinkId>(i)).digest;
    if (fabric_.links()[i].kind == LinkKind::kHostMemory && served.count == 0) continue;
    digest.add(served.reduced());
    digest.add(static_cast<std::uint64_t>(served.count));
    digest.add(static_cast<std::uint64_t>(served.last_start));
  }
  // By when and where they were: however tasks were listed.
  std::vector<std::pair<std::int64_t, int>> completions;
  for (int member = 0; member < order_.members(); ++member) {
    completions.emplace_back(completion_time(member), order_.gpu(member));
  }
  std::sort(completions.begin(), completions.end());
  for (const auto& [time, gpu] : completions) {
    digest.add(static_cast<std::uint64_t>(time));
    digest.add(static_cast<std::uint64_t>(gpu));
  }
  return digest.value();
}

}  // namespace gradhaul
