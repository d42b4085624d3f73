#pragma once

// The schedule of a listed program: all its steps for one slice of the chunks, then for the next
// one, as MSCCL's interpreter runs them.

#include <memory>

#include "core/listed_program.h"
#include "core/schedule.h"

namespace gradhaul {

class ListedSchedule final : public Schedule {
 public:
  // Of a message of `count` elements, a whole number of chunks; a slot holds at least one.
  ListedSchedule(std::shared_ptr<const ListedProgram> program, std::int64_t count,
                 std::int64_t slot_elements);

  Rank ranks() const override { return static_cast<Rank>(program_->ranks.size()); }
  int channels() const override { return program_->channels; }
  int lanes() const override { return program_->lanes; }
  std::int64_t items(Rank rank, int channel, int lane) const override;
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override;
  std::int64_t slices_per_step(int /*channel*/) const override { return slices_; }
  std::int64_t items_per_slice(Rank rank, int channel, int lane) const override;
  std::int64_t scratch(Rank rank) const override;
  bool crosses_channels() const override { return program_->crosses_channels; }

 private:
  const ListedLane& lane(Rank rank, int channel, int lane) const;
  // Of a slice of a chunk that lies at this place.
  Span span(int chunk, std::int64_t slice) const;

  std::shared_ptr<const ListedProgram> program_;
  std::int64_t chunk_elements_;
  std::int64_t slot_elements_;
  std::int64_t slices_;
};

}  // namespace gradhaul
