#include "core/parameter_server_schedule.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {
namespace {

enum Lane : int { kToServer = 0, kBack = 1 };

constexpr Rank kServer = 0;

}  // namespace

ParameterServerSchedule::ParameterServerSchedule(const MessagePlan& plan, Rank ranks)
    : plan_(plan), ranks_(ranks) {
  GRADHAUL_ASSERT(plan.parts() == 1, "the message is one chunk of each channel");
  GRADHAUL_ASSERT(ranks >= 2, "a server has somebody to serve");
}

std::int64_t ParameterServerSchedule::items_per_slice(Rank rank, int /*channel*/,
                                                      int /*lane*/) const {
  return rank == kServer ? (ranks_ - 1 + kMaxPeersOfItem - 1) / kMaxPeersOfItem : 1;
}

std::int64_t ParameterServerSchedule::items(Rank rank, int channel, int lane) const {
  return slices_per_step(channel) * items_per_slice(rank, channel, lane);
}

Item ParameterServerSchedule::item(Rank rank, int channel, int lane, std::int64_t index) const {
  const std::int64_t batches = items_per_slice(rank, channel, lane);
  const Span span = plan_.slice(channel, 0, index / batches);
  if (rank == kServer) return at_server(lane, index, index % batches, span);
  Item item;
  if (lane == kToServer) {
    item.send_count = 1;
    item.sends[0] = {kServer, 0, Region::kInput, span};
  } else {
    item.span = span;
    item.operation = Operation::kCopy;
    item.receive_count = 1;
    item.receives[0] = {kServer, 0};
    item.after = Dependency{kToServer, index};
  }
  return item;
}

Item ParameterServerSchedule::at_server(int lane, std::int64_t index, std::int64_t batch,
                                        Span span) const {
  const std::int64_t batches = items_per_slice(kServer, 0, lane);
  const auto first = static_cast<Rank>(1 + batch * kMaxPeersOfItem);
  const int peers = std::min<int>(kMaxPeersOfItem, ranks_ - first);
  Item item;
  if (lane == kToServer) {
    item.span = span;
    item.operation = Operation::kReduce;
    item.left = batch == 0 ? Region::kInput : Region::kOutput;
    item.last_reduction = batch == batches - 1;
    item.receive_count = peers;
    for (int i = 0; i < peers; ++i) item.receives[static_cast<std::size_t>(i)] = {first + i, 0};
  } else {
    item.send_count = peers;
    for (int i = 0; i < peers; ++i) {
      item.sends[static_cast<std::size_t>(i)] = {first + i, 0, Region::kOutput, span};
    }
    item.after = Dependency{kToServer, index - batch + batches - 1};
  }
  return item;
}

}  // namespace gradhaul
