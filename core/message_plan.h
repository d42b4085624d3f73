#pragma once

// How a message is cut (interface.md, section 2): channel c takes a contiguous 1/C of the elements,
// chunk k a 1/parts of that, remainders to the first ones; a slice is min(slot, largest chunk)
// floored to whole elements; all chunks of a channel have the same number of slices, some possibly
// empty or absent.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/assert.h"
#include "core/quantities.h"
#include "core/workload.h"

namespace gradhaul {

// Elements [first, first + count) of the message.
struct Span {
  std::int64_t first = 0;
  std::int64_t count = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

// Part `index` of `parts` nearly equal parts of `whole`, remainders to the first ones.
Span part_of(Span whole, std::int64_t index, std::int64_t parts);

class MessagePlan {
 public:
  // `count` elements of `datatype` in `channels` channels, each in `parts` chunks; `slot` holds at
  // least one element. Any count from 0.
  MessagePlan(std::int64_t count, DataType datatype, int channels, int parts, Bytes slot);

  std::int64_t count() const { return count_; }
  DataType datatype() const { return datatype_; }
  int channels() const { return channels_; }
  int parts() const { return parts_; }
  // As many as a slot holds, whole ones.
  std::int64_t slot_elements() const { return slot_elements_; }

  Span channel(int channel) const { return cut(channel).whole; }
  Span chunk(int channel, int chunk) const {
    GRADHAUL_ASSERT(chunk >= 0 && chunk < parts_, "no such chunk");
    const ChannelCut& of = cut(channel);
    return {of.whole.first + chunk * of.share + std::min<std::int64_t>(chunk, of.larger_chunks),
            of.share + (chunk < of.larger_chunks ? 1 : 0)};
  }
  // The same for every chunk of a channel; at least 1.
  std::int64_t slices_per_chunk(int channel) const { return cut(channel).slices; }
  // Slice `slice` of a chunk; empty where the chunk has no more elements.
  Span slice(int channel, int chunk, std::int64_t slice) const {
    const Span whole = this->chunk(channel, chunk);
    const std::int64_t length = cut(channel).slice_elements;
    const std::int64_t begin = std::min(whole.count, slice * length);
    return {whole.first + begin, std::min(length, whole.count - begin)};
  }
  Bytes bytes(std::int64_t elements) const { return size_of(datatype_) * elements; }

 private:
  // Of a channel, worked out once: engines ask for slices three times a message.
  struct ChannelCut {
    Span whole;
    std::int64_t share = 0;          // elements of each chunk,
    std::int64_t larger_chunks = 0;  // of which the first so many have one more
    std::int64_t slice_elements = 0;
    std::int64_t slices = 0;
  };
  const ChannelCut& cut(int channel) const {
    GRADHAUL_ASSERT(channel >= 0 && channel < channels_, "no such channel");
    return cuts_[static_cast<std::size_t>(channel)];
  }

  std::int64_t count_;
  DataType datatype_;
  int channels_;
  int parts_;
  std::int64_t slot_elements_;
  std::vector<ChannelCut> cuts_;
};

}  // namespace gradhaul
