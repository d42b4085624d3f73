#include "core/halving_doubling_schedule.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {
namespace {

std::int64_t range_of(int level) { return std::int64_t{1} << level; }
// Of the range of 2^level chunks that holds this one, the first; and of the range beside it.
std::int64_t base_of(std::int64_t chunk, int level) { return chunk & ~(range_of(level) - 1); }
std::int64_t base_beside(std::int64_t chunk, int level) {
  return base_of(chunk ^ range_of(level), level);
}

}  // namespace

HalvingDoublingSchedule::HalvingDoublingSchedule(const MessagePlan& plan,
                                                 const std::vector<std::vector<Rank>>& orders)
    : plan_(plan), orders_(orders), cube_(orders_.ranks()) {
  GRADHAUL_ASSERT(plan.parts() == cube_.corners(), "each corner of the cube has its chunk");
  GRADHAUL_ASSERT(orders_.channels() == plan.channels(), "each channel has its order of ranks");
  for (int channel = 0; channel < plan.channels(); ++channel) {
    Cut& cut = cuts_.emplace_back();
    cut.slices = plan.slices_per_chunk(channel);
    // The first chunks are the largest.
    const auto fit = [&](std::int64_t chunks) {
      const Span last = plan.chunk(channel, static_cast<int>(chunks) - 1);
      return last.first + last.count - plan.channel(channel).first <= plan.slot_elements();
    };
    while (cut.group < plan.parts() && fit(2 * cut.group)) cut.group *= 2;
    for (const Role role : {Role::kMember, Role::kHost, Role::kGuest}) add_phases(cut, role);
  }
}

HalvingDoublingSchedule::Role HalvingDoublingSchedule::role_of(int position) const {
  if (cube_.is_guest(position)) return Role::kGuest;
  return cube_.is_host(position) ? Role::kHost : Role::kMember;
}

std::int64_t HalvingDoublingSchedule::own_chunk(int position) const {
  const int corner = cube_.corner(cube_.is_guest(position) ? cube_.host_of(position) : position);
  std::int64_t chunk = 0;
  for (int bit = 0; bit < cube_.dimensions(); ++bit) chunk = 2 * chunk + (corner >> bit & 1);
  return chunk;
}

// Messages of a range, the slices of a chunk counted as one.
std::int64_t HalvingDoublingSchedule::units(const Cut& cut, int level) const {
  return std::max<std::int64_t>(1, range_of(level) / cut.group);
}

void HalvingDoublingSchedule::add_phases(Cut& cut, Role role) const {
  std::vector<Phase>& phases = cut.phases[static_cast<std::size_t>(role)];
  std::int64_t items = 0;
  const auto add = [&](Kind kind, int level, std::int64_t count) {
    phases.push_back({kind, level, items});
    items += count * cut.slices;
  };
  const int dimensions = cube_.dimensions();
  if (role == Role::kGuest) {
    add(Kind::kHandIn, dimensions, units(cut, dimensions));
    add(Kind::kOwn, 0, 1);
    for (int level = 0; level < dimensions; ++level) {
      add(Kind::kResult, level, units(cut, level));
    }
  } else {
    if (role == Role::kHost) add(Kind::kTakeIn, dimensions, units(cut, dimensions));
    if (role == Role::kMember) add(Kind::kGive, dimensions - 1, units(cut, dimensions - 1));
    for (int level = dimensions - 1; level >= 0; --level) {
      add(Kind::kHalve, level, units(cut, level));
    }
    for (int level = 0; level < dimensions; ++level) {
      const bool in_several = level + 1 < dimensions && units(cut, level + 1) > 1;
      if (in_several) add(Kind::kPass, level, units(cut, level));
      add(Kind::kDouble, level, units(cut, level));
    }
  }
  phases.push_back({Kind::kGive, 0, items});
}

std::int64_t HalvingDoublingSchedule::items(Rank rank, int channel, int /*lane*/) const {
  const Role role = role_of(orders_.position(channel, rank));
  return cut(channel).phases[static_cast<std::size_t>(role)].back().first;
}

const HalvingDoublingSchedule::Phase& HalvingDoublingSchedule::phase_at(const Cut& cut, Role role,
                                                                        std::int64_t index) const {
  const std::vector<Phase>& phases = cut.phases[static_cast<std::size_t>(role)];
  const auto after =
      std::upper_bound(phases.begin(), phases.end(), index,
                       [](std::int64_t value, const Phase& phase) { return value < phase.first; });
  return *(after - 1);
}

// Message `unit`, counted by place, of the range of 2^level chunks from `base` on.
Span HalvingDoublingSchedule::span_of(const Place& place, std::int64_t base, int level,
                                      std::int64_t unit) const {
  const std::int64_t chunks = std::min(cut(place.channel).group, range_of(level));
  const auto first = static_cast<int>(base + unit * chunks);
  if (chunks == 1) return plan_.slice(place.channel, first, place.slice);
  const Span begin = plan_.chunk(place.channel, first);
  const Span end = plan_.chunk(place.channel, first + static_cast<int>(chunks) - 1);
  return {begin.first, end.first + end.count - begin.first};
}

// Where it is one message.
Span HalvingDoublingSchedule::whole_range(const Place& place, std::int64_t base, int level) const {
  return span_of(place, base, level, 0);
}

// The rank's own chunk, or what lies where it does in a range beside its own, comes last.
Span HalvingDoublingSchedule::falling(const Place& place, std::int64_t base, int level) const {
  const std::int64_t chunks = std::min(cut(place.channel).group, range_of(level));
  const std::int64_t own = (place.own & (range_of(level) - 1)) / chunks;
  const std::int64_t mask = range_of(level) / chunks - 1;
  return span_of(place, base, level, place.unit ^ (~own & mask));
}

// It comes first.
Span HalvingDoublingSchedule::rising(const Place& place, std::int64_t base, int level) const {
  const std::int64_t chunks = std::min(cut(place.channel).group, range_of(level));
  const std::int64_t own = (place.own & (range_of(level) - 1)) / chunks;
  return span_of(place, base, level, place.unit ^ own);
}

// The last item with what was given in this dimension.
std::int64_t HalvingDoublingSchedule::last_given(const Place& place, int dimension) const {
  const Cut& cut = this->cut(place.channel);
  const Role role = place.host ? Role::kHost : Role::kMember;
  const std::vector<Phase>& phases = cut.phases[static_cast<std::size_t>(role)];
  const Phase& phase = phases[static_cast<std::size_t>(dimension)];
  const std::int64_t messages = units(cut, phase.level);
  const bool half = phase.kind != Kind::kGive && messages > 1;
  return phase.first + cut.slices * (half ? messages / 2 : messages) - 1;
}

void HalvingDoublingSchedule::receive(Item& item, const Place& place, int from, Operation operation,
                                      Span span) const {
  item.span = span;
  item.operation = operation;
  item.receive_count = 1;
  item.receives[0] = {orders_.at(place.channel, from), 0};
}

void HalvingDoublingSchedule::send(Item& item, const Place& place, int to, Region source,
                                   Span span) const {
  item.sends[static_cast<std::size_t>(item.send_count++)] = {orders_.at(place.channel, to), 0,
                                                             source, span};
}

// Of 2^level chunks that were received, those that the next dimension reduces.
void HalvingDoublingSchedule::send_half_on(Item& item, const Place& place, int level) const {
  const std::int64_t messages = units(cut(place.channel), level);
  const int next = cube_.neighbour(place.position, cube_.dimensions() - level);
  if (messages == 1) {
    const std::int64_t base = base_beside(place.own, level - 1);
    send(item, place, next, Region::kOutput, whole_range(place, base, level - 1));
  } else if (place.unit < messages / 2) {
    send(item, place, next, Region::kOutput, item.span);
  }
}

// What has become complete, to the next dimension and to a guest.
void HalvingDoublingSchedule::send_double_on(Item& item, const Place& place) const {
  const bool own = place.phase.kind == Kind::kHalve;
  const int level = own ? 0 : place.phase.level + 1;  // of what is to be sent
  if (level < cube_.dimensions()) {
    const bool several = own || units(cut(place.channel), level) > 1;
    const Span span = several ? item.span : whole_range(place, base_of(place.own, level), level);
    send(item, place, cube_.neighbour(place.position, cube_.dimensions() - 1 - level),
         Region::kOutput, span);
  }
  if (place.host) send(item, place, cube_.guest_of(place.position), Region::kOutput, item.span);
}

Item HalvingDoublingSchedule::item(Rank rank, int channel, int /*lane*/, std::int64_t index) const {
  Place place;
  place.channel = channel;
  place.position = orders_.position(channel, rank);
  place.host = cube_.is_host(place.position);
  place.own = own_chunk(place.position);
  place.phase = phase_at(cut(channel), role_of(place.position), index);
  const std::int64_t slices = slices_per_step(channel);
  place.unit = (index - place.phase.first) / slices;
  place.slice = (index - place.phase.first) % slices;
  const int level = place.phase.level;
  const int dimensions = cube_.dimensions();
  const auto neighbour = [&](int dimension) { return cube_.neighbour(place.position, dimension); };
  const auto beside = [&] { return base_beside(place.own, level); };

  Item item;
  switch (place.phase.kind) {
    case Kind::kGive:
      send(item, place, neighbour(0), Region::kInput, falling(place, beside(), level));
      break;
    case Kind::kTakeIn:
      receive(item, place, cube_.guest_of(place.position), Operation::kReduce,
              falling(place, 0, level));
      send_half_on(item, place, level);
      break;
    case Kind::kHalve:
      receive(item, place, neighbour(dimensions - 1 - level), Operation::kReduce,
              falling(place, base_of(place.own, level), level));
      if (place.host || level < dimensions - 1) item.left = Region::kOutput;
      item.last_reduction = level == 0;
      if (level > 0) send_half_on(item, place, level);
      if (level == 0) send_double_on(item, place);
      break;
    case Kind::kPass:
      send(item, place, neighbour(dimensions - 2 - level), Region::kOutput,
           rising(place, base_of(place.own, level + 1), level + 1));
      break;
    case Kind::kDouble:
      receive(item, place, neighbour(dimensions - 1 - level), Operation::kCopy,
              rising(place, beside(), level));
      item.after = Dependency{0, last_given(place, dimensions - 1 - level)};
      send_double_on(item, place);
      break;
    case Kind::kHandIn:
      send(item, place, cube_.host_of(place.position), Region::kInput, falling(place, 0, level));
      break;
    case Kind::kOwn:
    case Kind::kResult:
      receive(item, place, cube_.host_of(place.position), Operation::kCopy,
              place.phase.kind == Kind::kOwn ? rising(place, place.own, 0)
                                             : rising(place, beside(), level));
      item.after =
          Dependency{0, cut(channel).phases[static_cast<std::size_t>(Role::kGuest)][1].first - 1};
      break;
  }
  return item;
}

}  // namespace gradhaul
