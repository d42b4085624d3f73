#include "sim/played_chain.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/channel_groups.h"
#include "core/item_cursor.h"
#include "sim/connection_traffic.h"

namespace gradhaul {
namespace {

// A moment, and the message that it comes of: an index into those that were played; -1: the start.
struct Moment {
  Duration time;
  std::int32_t message = -1;
  void offer(const Moment& other) {
    if (other.time > time) *this = other;
  }
};

struct PlayedMessage {
  ChainStep step;
  Bytes bytes;
  Moment sent;
  std::int32_t next = -1;  // on the same connection
};

// By rank and lane, of one channel.
struct PlayedLane {
  std::int64_t played = 0;
  Moment ready;                 // all operations so far are done
  std::vector<Moment> written;  // by item: all up to it are finished
};

class ChainPlayer {
 public:
  ChainPlayer(const PredictionRequest& request, const Placement& placement, const Schedule& chunks,
              HopLatency& latency)
      : placement_(placement),
        cluster_(request.cluster),
        chunks_(chunks),
        latency_(latency),
        element_(size_of(request.workload.datatype)),
        slot_(element_ * elements_of_slot(request)) {}

  void play(int channel);
  CollectiveChain longest() { return std::move(longest_); }

 private:
  using Connection = std::pair<std::pair<Rank, Rank>, int>;  // source, destination; stream
  struct Ends {
    std::int32_t first = -1;  // the oldest message that was not received
    std::int32_t last = -1;
  };

  PlayedLane& lane_of(Rank rank, int lane) {
    return lanes_[static_cast<std::size_t>(rank * chunks_.lanes() + lane)];
  }
  PlayedMessage& message(std::int32_t index) { return messages_[static_cast<std::size_t>(index)]; }
  Bytes first_slice(Bytes bytes) const { return std::min(bytes, slot_); }
  bool play_item(int channel, Rank rank, int lane);
  Moment receive(const Item& item, Rank rank, Moment start);
  void send(const Item& item, int channel, Rank rank, const Moment& ready, Moment& written);
  void offer(const Moment& end, const PlayedMessage& last);

  const Placement& placement_;
  const Cluster& cluster_;
  const Schedule& chunks_;
  HopLatency& latency_;
  Bytes element_;
  Bytes slot_;
  std::vector<PlayedLane> lanes_;
  std::vector<PlayedMessage> messages_;
  std::map<Connection, Ends> connections_;
  CollectiveChain longest_;
};

void ChainPlayer::play(int channel) {
  lanes_.assign(static_cast<std::size_t>(chunks_.ranks() * chunks_.lanes()), {});
  messages_.clear();
  connections_.clear();
  bool again = true;
  while (again) {
    again = false;
    for (Rank rank = 0; rank < chunks_.ranks(); ++rank) {
      for (int lane = 0; lane < chunks_.lanes(); ++lane) {
        while (play_item(channel, rank, lane)) again = true;
      }
    }
  }
}

bool ChainPlayer::play_item(int channel, Rank rank, int number) {
  PlayedLane& lane = lane_of(rank, number);
  if (lane.played == chunks_.items(rank, channel, number)) return false;
  Item item = chunks_.item(rank, channel, number, lane.played);
  drop_empty_transfers(item);
  Moment start = lane.ready;
  if (item.after) {
    const PlayedLane& other = lane_of(rank, item.after->lane);
    if (other.played <= item.after->index) return false;
    start.offer(other.written[static_cast<std::size_t>(item.after->index)]);
  }
  for (int i = 0; i < item.receive_count; ++i) {
    const ItemReceive& from = item.receives[static_cast<std::size_t>(i)];
    const auto known = connections_.find({{from.peer, rank}, from.stream});
    if (known == connections_.end() || known->second.first < 0) return false;
  }
  lane.ready = receive(item, rank, start);
  Moment written = lane.ready;
  if (!lane.written.empty()) written.offer(lane.written.back());
  send(item, channel, rank, lane.ready, written);
  lane.written.push_back(written);
  ++lane.played;
  return true;
}

Moment ChainPlayer::receive(const Item& item, Rank rank, Moment start) {
  const bool reduces = item.operation == Operation::kReduce;
  for (int i = 0; i < item.receive_count; ++i) {
    const ItemReceive& from = item.receives[static_cast<std::size_t>(i)];
    Ends& ends = connections_[{{from.peer, rank}, from.stream}];
    PlayedMessage& received = message(ends.first);
    received.step.kind = reduces ? ReduceKind::kReduce : ReduceKind::kCopy;
    received.step.operations = item.receive_count;
    const Duration on_the_way =
        latency_.message(received.step.hop, first_slice(received.bytes)).arrived;
    start.offer({received.sent.time + on_the_way, ends.first});
    ends.first = received.next;
  }
  if (item.operation == Operation::kNone) return start;
  const Bytes slice = first_slice(element_ * item.span.count);
  const ReduceKind kind = reduces ? ReduceKind::kReduce : ReduceKind::kCopy;
  start.time += latency_.kernel(rank, kind, slice) * std::max(1, item.receive_count);
  if (start.message >= 0) offer(start, message(start.message));
  return start;
}

void ChainPlayer::send(const Item& item, int channel, Rank rank, const Moment& ready,
                       Moment& written) {
  for (int i = 0; i < item.send_count; ++i) {
    const ItemSend& to = item.sends[static_cast<std::size_t>(i)];
    PlayedMessage sent;
    sent.step.hop = hop_between(placement_, cluster_, channel, rank, to.peer);
    sent.bytes = element_ * to.span.count;
    sent.sent = ready;
    const auto index = static_cast<std::int32_t>(messages_.size());
    Ends& ends = connections_[{{rank, to.peer}, to.stream}];
    if (ends.first < 0) {
      ends.first = index;
    } else {
      message(ends.last).next = index;
    }
    ends.last = index;
    written.offer({ready.time + latency_.message(sent.step.hop, first_slice(sent.bytes)).done,
                   ready.message});
    messages_.push_back(sent);
  }
}

// A chain that ends with an operation on what came with `last`.
void ChainPlayer::offer(const Moment& end, const PlayedMessage& last) {
  const Bytes slice = first_slice(last.bytes);
  const std::int64_t full = std::max<std::int64_t>(1, last.bytes.count / slot_.count);
  const Duration kernel = latency_.kernel(last.step.hop.destination, last.step.kind, slice);
  const Duration pace =
      std::max(latency_.message(last.step.hop, slice).spacing, kernel * last.step.operations);
  const Duration total = end.time + pace * (full - 1);
  if (total <= longest_.total) return;
  longest_ = {};
  longest_.slice = slice;
  longest_.slices = (last.bytes.count + slot_.count - 1) / slot_.count;
  longest_.full_slices = full;
  longest_.pace = pace;
  longest_.total = longest_.likely = total;
  if (last.bytes > slot_) {
    const Int128 rest = Int128{pace.ps} * (last.bytes.count % slot_.count);
    longest_.likely += Duration{static_cast<std::int64_t>(rest / slot_.count)};
  }
  for (std::int32_t index = end.message; index >= 0; index = message(index).sent.message) {
    longest_.steps.push_back(message(index).step);
  }
  std::reverse(longest_.steps.begin(), longest_.steps.end());
}

}  // namespace

CollectiveChain longest_played_chain(const PredictionRequest& request, const Placement& placement,
                                     const Schedule& chunks, HopLatency& latency) {
  ChainPlayer player(request, placement, chunks, latency);
  for (const std::vector<int>& group : channel_groups(placement, request.cluster)) {
    player.play(group.front());
  }
  return player.longest();
}

}  // namespace gradhaul
