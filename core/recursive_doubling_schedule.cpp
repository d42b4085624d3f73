#include "core/recursive_doubling_schedule.h"

#include "core/assert.h"

namespace gradhaul {

RecursiveDoublingSchedule::RecursiveDoublingSchedule(const MessagePlan& plan,
                                                     const std::vector<std::vector<Rank>>& orders)
    : plan_(plan), orders_(orders), cube_(orders_.ranks()) {
  GRADHAUL_ASSERT(plan.parts() == 1, "the message is one chunk of each channel");
  GRADHAUL_ASSERT(orders_.channels() == plan.channels(), "each channel has its order of ranks");
}

std::int64_t RecursiveDoublingSchedule::items(Rank rank, int channel, int /*lane*/) const {
  const bool guest = cube_.is_guest(orders_.position(channel, rank));
  return slices_per_step(channel) * (guest ? 2 : 1 + cube_.dimensions());
}

// Step 0 is what comes before the exchanges; step k + 1 receives in dimension k.
Item RecursiveDoublingSchedule::item(Rank rank, int channel, int /*lane*/,
                                     std::int64_t index) const {
  const std::int64_t slices = slices_per_step(channel);
  const auto step = static_cast<int>(index / slices);
  const int position = orders_.position(channel, rank);
  const bool guest = cube_.is_guest(position);
  const bool host = cube_.is_host(position);
  const Span span = plan_.slice(channel, 0, index % slices);
  Item item;
  const auto send_to = [&](int place, Region source) {
    item.send_count = 1;
    item.sends[0] = {orders_.at(channel, place), 0, source, span};
  };
  const auto receive_from = [&](int place, Operation operation) {
    item.span = span;
    item.operation = operation;
    item.receive_count = 1;
    item.receives[0] = {orders_.at(channel, place), 0};
  };
  if (guest) {
    if (step == 0) {
      send_to(cube_.host_of(position), Region::kInput);
    } else {
      receive_from(cube_.host_of(position), Operation::kCopy);
      item.after = Dependency{0, index - slices};
    }
    return item;
  }
  if (step == 0) {
    if (host) receive_from(cube_.guest_of(position), Operation::kReduce);
    send_to(cube_.neighbour(position, 0), host ? Region::kOutput : Region::kInput);
    return item;
  }
  receive_from(cube_.neighbour(position, step - 1), Operation::kReduce);
  if (step > 1 || host) item.left = Region::kOutput;
  item.last_reduction = step == cube_.dimensions();
  item.after = Dependency{0, index - slices};
  if (!item.last_reduction) {
    send_to(cube_.neighbour(position, step), Region::kOutput);
  } else if (host) {
    send_to(cube_.guest_of(position), Region::kOutput);
  }
  return item;
}

}  // namespace gradhaul
