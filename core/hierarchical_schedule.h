#pragma once

// All-reduce in two levels, for nodes whose ranks reach each other faster than other nodes: within
// each node a reduce-scatter, among the ranks of one local number of all nodes a ring all-reduce of
// that number's part (core/ring_schedule.h), within each node an all-gather (Jia et al., "Highly
// scalable deep learning training system with mixed-precision", arXiv:1807.11205, 2018, and the
// hierarchical all-reduce of Horovod). With n nodes of g ranks, every rank sends
// 2(g-1)/g of the message within its node and 2(n-1)/(n g) to one rank of the next node, in
// 2 + 2(n-1) steps: T >= max(2(g-1)/g S/B_within, 2(n-1)/(n g) S/B_across).
//
// Within a node all ranks exchange directly, as a switch of NVLink allows. A channel has n g
// chunks: chunk j n + k goes the way of local number j, and starts around the ring at the k-th
// node. Lanes:
//   0  send the other local numbers' chunks to them, from the input
//   1  receive and reduce what they send of one's own, in the order in which the ring asks for it
//   2  the ring, as in core/ring_schedule.h, but on the sums of lane 1; complete chunks are also
//      sent to the others of the node
//   3  receive and copy what the others have complete, when one's own contribution to it has left
// An item has up to four peers, so a slice is several items. In place works.

#include <vector>

#include "core/message_plan.h"
#include "core/rank_orders.h"
#include "core/schedule.h"

namespace gradhaul {

class HierarchicalSchedule final : public Schedule {
 public:
  // The plan's parts are the ranks, rank r is on node r / ranks_per_node; at least two nodes, of at
  // least two ranks. Nodes follow each other as in the ring of the channel.
  HierarchicalSchedule(const MessagePlan& plan, const std::vector<std::vector<Rank>>& rings,
                       int ranks_per_node);

  Rank ranks() const override { return plan_.parts(); }
  int channels() const override { return plan_.channels(); }
  int lanes() const override { return 4; }
  std::int64_t items(Rank rank, int channel, int lane) const override;
  Item item(Rank rank, int channel, int lane, std::int64_t index) const override;
  std::int64_t slices_per_step(int channel) const override {
    return plan_.slices_per_chunk(channel);
  }
  std::int64_t items_per_slice(Rank rank, int channel, int lane) const override;

 private:
  // Step, slice and item of that slice in its lane.
  struct Place {
    Rank rank = 0;
    int channel = 0;
    int node = 0;   // its place in the order of nodes
    int local = 0;  // number within the node
    std::int64_t step = 0;
    std::int64_t slice = 0;
    int batch = 0;
  };
  int nodes() const { return orders_.ranks(); }
  std::int64_t steps(int lane) const;
  std::int64_t index_of(int channel, int lane, std::int64_t step, std::int64_t slice,
                        int batch) const;
  // The chunk of a local number that the ring has at this node in this step.
  Span span_of(const Place& place, int local, std::int64_t step) const;
  Rank peer(const Place& place, int distance) const;
  Item scatter(const Place& place) const;
  Item reduce(const Place& place) const;
  Item around(const Place& place) const;
  Item gather(const Place& place) const;

  MessagePlan plan_;
  int per_node_;
  RankOrders orders_;  // of nodes
};

}  // namespace gradhaul
