#include "sim/schedule_symmetry.h"

#include <algorithm>

#include "core/item_likeness.h"

namespace gradhaul {
namespace {

class ScheduleChecker {
 public:
  ScheduleChecker(const Schedule& schedule, const std::vector<Rank>& ranks,
                  const std::vector<int>& channels)
      : schedule_(schedule), ranks_(ranks), channels_(channels) {}
  bool check() const;

 private:
  struct Seat {
    Rank rank = 0;
    int channel = 0;
  };
  Rank rank_image(Rank rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  bool same_items(const std::vector<Seat>& round, int lane) const;
  bool same_all_round(const std::vector<Seat>& round, int lane, std::int64_t index) const;
  bool same_item(const Item& item, const Item& image) const;

  const Schedule& schedule_;
  const std::vector<Rank>& ranks_;
  const std::vector<int>& channels_;
};

bool ScheduleChecker::same_item(const Item& item, const Item& image) const {
  return alike(
      item, image, [&](Rank peer) { return rank_image(peer); },
      [](const Dependency& after) { return after.index; });
}

// Of chunks that differ by an element at most, as those of a channel do, the last slice of a step
// tells.
bool ScheduleChecker::same_items(const std::vector<Seat>& round, int lane) const {
  const std::int64_t slices = schedule_.slices_per_step(round[0].channel);
  const std::int64_t slice = schedule_.items_per_slice(round[0].rank, round[0].channel, lane);
  const std::int64_t items = schedule_.items(round[0].rank, round[0].channel, lane);
  for (const auto& [rank, channel] : round) {
    if (schedule_.slices_per_step(channel) != slices ||
        schedule_.items_per_slice(rank, channel, lane) != slice ||
        schedule_.items(rank, channel, lane) != items) {
      return false;
    }
  }
  for (std::int64_t step = 0; step < items; step += slices * slice) {
    const std::int64_t end = std::min(step + slices * slice, items);
    for (std::int64_t index = std::max(step, end - slice); index < end; ++index) {
      if (!same_all_round(round, lane, index)) return false;
    }
  }
  return true;
}

bool ScheduleChecker::same_all_round(const std::vector<Seat>& round, int lane,
                                     std::int64_t index) const {
  const auto item = [&](std::size_t i) {
    return schedule_.item(round[i].rank, round[i].channel, lane, index);
  };
  const Item first = item(0);
  Item before = first;
  for (std::size_t i = 1; i < round.size(); ++i) {
    const Item next = item(i);
    if (!same_item(before, next)) return false;
    before = next;
  }
  return same_item(before, first);
}

bool ScheduleChecker::check() const {
  const int channels = schedule_.channels();
  std::vector<bool> seen(static_cast<std::size_t>(schedule_.ranks() * channels), false);
  for (int i = 0; i < schedule_.ranks() * channels; ++i) {
    // From where the move takes this channel of this rank to until it is back.
    std::vector<Seat> round;
    Seat seat{i / channels, i % channels};
    while (!seen[static_cast<std::size_t>(seat.rank * channels + seat.channel)]) {
      seen[static_cast<std::size_t>(seat.rank * channels + seat.channel)] = true;
      round.push_back(seat);
      seat = {rank_image(seat.rank), channels_[static_cast<std::size_t>(seat.channel)]};
    }
    for (int lane = 0; lane < schedule_.lanes() && !round.empty(); ++lane) {
      if (!same_items(round, lane)) return false;
    }
  }
  return true;
}

}  // namespace

bool asks_for_the_same(const Schedule& schedule, const std::vector<Rank>& rank_images,
                       const std::vector<int>& channel_images) {
  return ScheduleChecker(schedule, rank_images, channel_images).check();
}

}  // namespace gradhaul
