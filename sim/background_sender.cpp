#include "sim/background_sender.h"

#include <algorithm>

#include "core/assert.h"

namespace gradhaul {

BackgroundSender::BackgroundSender(RunContext& context, PacketTransport& transport,
                                   const TrafficPlan& plan, std::span<const WiredConnection> wired,
                                   std::uint64_t seed)
    : context_(context), transport_(transport), plan_(plan), seed_(seed) {
  const Cluster& cluster = context.fabric.cluster();
  ends_.resize(static_cast<std::size_t>(cluster.nodes * cluster.node.nic_count));
  pair_of_end_.resize(ends_.size());
  counts_.assign(plan.sources.size(), 0);
  pairs_.resize(plan.sources.size());
  for (const ConnectionKey& key : connections_of(plan)) {
    std::vector<Pair>& pairs = pairs_[static_cast<std::size_t>(key.stream)];
    for (const Rank nic : {key.source, key.destination}) {
      std::vector<ConnectionEnd>& ends = ends_[static_cast<std::size_t>(nic)];
      if (nic == key.source) {
        pairs.emplace_back().connection = static_cast<ConnectionId>(ends.size());
      }
      ends.push_back({key, nic == key.source, {}});
      pair_of_end_[static_cast<std::size_t>(nic)].emplace_back(
          key.stream, static_cast<std::int32_t>(pairs.size() - 1));
    }
  }
  PacketTransport::PortEnds ends;
  for (const auto& of_nic : ends_) ends.push_back(&of_nic);
  first_port_ = transport.open(wired, ends, kMostUnderWay / 2);
  origin_ = context.blame.start();
}

std::int64_t BackgroundSender::next_start(int source) const {
  const auto place = static_cast<std::size_t>(source);
  return message_start(plan_, place, counts_[place], seed_);
}

void BackgroundSender::begin_message(int source) {
  const auto place = static_cast<std::size_t>(source);
  const std::size_t other = message_destination(plan_, place, counts_[place]++, seed_);
  Pair& pair = pairs_[place][other];
  ++begun_;
  if (pair.under_way() < kMostUnderWay) return post(place, pair);
  ++pair.waiting;
  ++held_back_;
}

void BackgroundSender::post(std::size_t source, Pair& pair) {
  ++pair.posted;
  WriteRequest request;
  request.connection = pair.connection;
  request.length = plan_.message;
  CauseChain origin(context_.blame, origin_);
  context_.cause = &origin;
  transport_.of(first_port_ + plan_.sources[source].nic).post_write(request);
  context_.cause = nullptr;
}

void BackgroundSender::on_completion(Rank port, const Completion& completion) {
  const auto nic = static_cast<std::size_t>(port - first_port_);
  const auto [source, other] = pair_of_end_[nic][static_cast<std::size_t>(completion.id)];
  Pair& pair = pairs_[static_cast<std::size_t>(source)][static_cast<std::size_t>(other)];
  const std::int64_t before = pair.complete();
  ++(completion.kind == CompletionKind::kWriteDone ? pair.written : pair.arrived);
  complete_ += pair.complete() - before;
  if (pair.waiting == 0 || pair.under_way() >= kMostUnderWay) return;
  --pair.waiting;
  post(static_cast<std::size_t>(source), pair);
}

BackgroundResult BackgroundSender::result(std::int64_t end) const {
  const Cluster& cluster = context_.fabric.cluster();
  const BitRate rate = std::min(cluster.network.link, cluster.node.nic.rate);
  const double capacity =
      static_cast<double>(rate.bits_per_second) / 8 * 1e-12 * static_cast<double>(end) * sources();
  const auto wire = static_cast<double>(wire_bytes(cluster.network, plan_.message).count);
  BackgroundResult result;
  result.name = plan_.name;
  result.sources = sources();
  result.messages = complete_;
  result.held_back = held_back_;
  result.sent = plan_.message * complete_;
  if (capacity > 0) {
    result.offered = static_cast<double>(begun_) * wire / capacity;
    result.carried = static_cast<double>(complete_) * wire / capacity;
  }
  return result;
}

}  // namespace gradhaul
