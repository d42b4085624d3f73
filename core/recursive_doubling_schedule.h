#pragma once

// All-reduce by recursive doubling: in step k every rank exchanges the sum it has, the whole
// message, with its neighbour in dimension k of the cube of ranks (core/binary_cube.h), and adds
// what it gets. The fewest steps there can be, log2 P of them, two more where N is no power of two;
// each rank sends the message log2 P times, a host once more, a guest once: T = log2 P (alpha +
// S/B) for a power of two (Thakur, Rabenseifner, Gropp, IJHPCA 19, 2005, 4.1).
//
// One lane of steps of the channel's slices:
//   member   send the input; then for each dimension: receive, reduce into the output, send that on
//   host     first receive its guest's input and reduce; at the end send the result to it
//   guest    send the input; receive, copy to the output
// A sum is overwritten only when it is written out to whom it was sent. Hence in place works. Two
// ranks add the same two numbers in either order, which gives the same bits.

#include "core/binary_cube.h"
#include "core/message_plan.h"
#include "core/rank_orders.h"
#include "core/schedule.h"

namespace gradhaul {

class RecursiveDoublingSchedule final : public Schedule {
 public:
  // The message is one chunk of each channel. `orders`: which rank stands where in the cube.
  RecursiveDoublingSchedule(const MessagePlan& plan, const std::vector<std::vector<Rank>>& orders);

  Rank ranks() const override { return orders_.ranks(); }
  int channels() const override { return plan_.channels(); }
  int lanes() const override { return 1; }
  std::int64_t items(Rank rank, int channel, int lane) const override;
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override;
  std::int64_t slices_per_step(int channel) const override {
    return plan_.slices_per_chunk(channel);
  }

 private:
  MessagePlan plan_;
  RankOrders orders_;
  BinaryCube cube_;
};

}  // namespace gradhaul
