#pragma once

// All-reduce by recursive halving and doubling (Thakur, Rabenseifner, Gropp, "Optimization of
// collective communication operations in MPICH", IJHPCA 19, 2005, after Rabenseifner), over the
// cube of ranks of core/binary_cube.h with P corners and L = log2 P dimensions. In step k = 0 … L-1
// a rank gives half of what it still reduces to its neighbour in dimension k and receives that
// one's contribution to the other half; at the end it has one of P chunks complete. Then it all
// goes back: steps in the dimensions L-1 … 0, each of which doubles what a rank has. So most is
// exchanged with the nearest rank, which is of the same node where nodes hold a power of two.
//
// For a power of two each rank sends 2(P-1)/P of the message in 2 L steps:
// T = 2 L alpha + 2(P-1)/P S/B. Where N is no power of two, a guest sends the message to its host
// before and a host sends the result back: a host sends 1 + 2(P-1)/P of the message, a guest 1, in
// two steps more. Here slices are sent on as soon as they are reduced or received, so steps
// overlap.
//
// The chunk of the rank at corner v is number v with its L bits in reverse, so that what is given
// or received in a step are neighbouring chunks; as many of them, a power of two, as a slot holds
// travel as one message. A half is received in the order in which it is best passed on: what goes
// to the next dimension first, what the rank keeps to the end last; and on the way back in reverse.
// One lane; what comes back overwrites what was given only when that is written out. Hence in place
// works.

#include <array>
#include <cstdint>
#include <vector>

#include "core/binary_cube.h"
#include "core/message_plan.h"
#include "core/rank_orders.h"
#include "core/schedule.h"

namespace gradhaul {

class HalvingDoublingSchedule final : public Schedule {
 public:
  // The plan's parts are the corners: BinaryCube(ranks).corners(). `orders`: which rank stands
  // where in the cube.
  HalvingDoublingSchedule(const MessagePlan& plan, const std::vector<std::vector<Rank>>& orders);

  Rank ranks() const override { return orders_.ranks(); }
  int channels() const override { return plan_.channels(); }
  int lanes() const override { return 1; }
  std::int64_t items(Rank rank, int channel, int lane) const override;
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override;
  std::int64_t slices_per_step(int channel) const override {
    return cuts_[static_cast<std::size_t>(channel)].slices;
  }

 private:
  enum class Role : std::uint8_t { kMember, kHost, kGuest };
  enum class Kind : std::uint8_t {
    kGive,    // a member's first half, from its input
    kTakeIn,  // a host receives its guest's input
    kHalve,   // a half of 2^level chunks is received and reduced
    kPass,    // what was complete before the following kDouble is sent to the dimension after it
    kDouble,  // 2^level complete chunks are received
    kHandIn,  // a guest sends its input
    kResult,  // a guest receives 2^level complete chunks beside those of its host
    kOwn,     // a guest receives its host's chunk
  };
  struct Phase {
    Kind kind = Kind::kGive;
    int level = 0;  // it is about ranges of 2^level chunks
    std::int64_t first = 0;
  };
  // How a channel's chunks become messages: one chunk in several slices, or several in one.
  struct Cut {
    std::int64_t slices = 1;
    std::int64_t group = 1;
    std::array<std::vector<Phase>, 3> phases;  // by role; the last is the end
  };
  // Who acts, and on which message of which phase.
  struct Place {
    int channel = 0;
    int position = 0;
    bool host = false;
    std::int64_t own = 0;  // the chunk of the rank, or of a guest's host
    Phase phase;
    std::int64_t unit = 0;  // in order
    std::int64_t slice = 0;
  };

  Role role_of(int position) const;
  std::int64_t own_chunk(int position) const;
  std::int64_t units(const Cut& cut, int level) const;
  void add_phases(Cut& cut, Role role) const;
  const Phase& phase_at(const Cut& cut, Role role, std::int64_t index) const;
  Span span_of(const Place& place, std::int64_t base, int level, std::int64_t unit) const;
  Span whole_range(const Place& place, std::int64_t base, int level) const;
  Span given(const Place& place, int level) const;
  Span falling(const Place& place, std::int64_t base, int level) const;
  Span rising(const Place& place, std::int64_t base, int level) const;
  std::int64_t last_given(const Place& place, int dimension) const;
  void receive(Item& item, const Place& place, int from, Operation operation, Span span) const;
  void send(Item& item, const Place& place, int to, Region source, Span span) const;
  void send_half_on(Item& item, const Place& place, int level) const;
  void send_double_on(Item& item, const Place& place) const;
  const Cut& cut(int channel) const { return cuts_[static_cast<std::size_t>(channel)]; }

  MessagePlan plan_;
  RankOrders orders_;
  BinaryCube cube_;
  std::vector<Cut> cuts_;  // by channel
};

}  // namespace gradhaul
