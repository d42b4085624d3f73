#include "sim/background_traffic.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/network_framing.h"
#include "core/pcie_distance.h"
#include "core/prediction_request.h"
#include "sim/link_digest.h"

namespace gradhaul {
namespace {

// More would be no plan of a network any more.
constexpr std::size_t kMostConnections = 100'000;

enum class Draw : std::uint8_t { kOrder, kMoment, kDestination };

std::uint64_t draw(std::uint64_t seed, std::uint64_t traffic, Draw what, std::uint64_t place,
                   std::uint64_t count) {
  std::uint64_t value = mix64(seed + 0x9E3779B97F4A7C15);
  for (const std::uint64_t next : {traffic, static_cast<std::uint64_t>(what), place, count}) {
    value = mix64(value ^ (next + 0x9E3779B97F4A7C15));
  }
  return value;
}

class Nics final : public Membership {
 public:
  explicit Nics(const Cluster& cluster) : cluster_(cluster), distances_(cluster.node) {}
  int gpu(Rank nic) const override {
    const Node& node = cluster_.node;
    return nic / node.nic_count * node.gpu_count +
           distances_.nearest_gpus(nic % node.nic_count, node.gpu_count).front();
  }
  Hop hop(int /*channel*/, Rank source, Rank destination) const override {
    const int nics = cluster_.node.nic_count;
    Hop hop{source, destination, source % nics, destination % nics, -1};
    // Sockets read and write memory of the host.
    hop.staged_out = hop.staged_in = cluster_.network.tcp.has_value();
    return hop;
  }

 private:
  const Cluster& cluster_;
  PcieDistances distances_;
};

// Each node to the next in an order that is drawn, the last to the first: a permutation in which
// nobody sends to itself.
std::vector<int> drawn_order(std::vector<int> nodes, std::uint64_t seed, std::uint64_t traffic,
                             int nic) {
  const auto place = [&](int node) {
    return std::pair(draw(seed, traffic, Draw::kOrder, static_cast<std::uint64_t>(nic),
                          static_cast<std::uint64_t>(node)),
                     node);
  };
  std::sort(nodes.begin(), nodes.end(), [&](int a, int b) { return place(a) < place(b); });
  return nodes;
}

class SourceBuilder {
 public:
  SourceBuilder(const Cluster& cluster, const BackgroundTraffic& traffic, std::uint64_t seed,
                std::uint64_t key)
      : cluster_(cluster), traffic_(traffic), seed_(seed), key_(key), nodes_(traffic.nodes) {
    if (!nodes_.empty()) return;
    nodes_.resize(static_cast<std::size_t>(cluster.nodes));
    std::iota(nodes_.begin(), nodes_.end(), 0);
  }

  std::vector<TrafficSource> build() {
    if (traffic_.pattern == TrafficPattern::kPairs) {
      for (const auto& pair : traffic_.pairs) add(pair.source, {pair.destination}, 1);
    } else if (nodes_.size() > 1) {
      for (int nic = 0; nic < cluster_.node.nic_count; ++nic) add_nics(nic);
    }
    std::stable_sort(sources_.begin(), sources_.end(),
                     [](const TrafficSource& a, const TrafficSource& b) { return a.nic < b.nic; });
    return std::move(sources_);
  }

 private:
  int number_of(int node, int nic) const { return node * cluster_.node.nic_count + nic; }

  // Between NICs of one index.
  void add_nics(int nic) {
    if (traffic_.pattern == TrafficPattern::kPermutation) {
      const std::vector<int> order = drawn_order(nodes_, seed_, key_, nic);
      for (std::size_t i = 0; i < order.size(); ++i) {
        add(number_of(order[i], nic), {number_of(order[(i + 1) % order.size()], nic)}, 1);
      }
      return;
    }
    if (traffic_.pattern == TrafficPattern::kIncast) {
      const auto senders = static_cast<int>(nodes_.size()) - 1;
      for (std::size_t i = 1; i < nodes_.size(); ++i) {
        add(number_of(nodes_[i], nic), {number_of(nodes_[0], nic)}, senders);
      }
      return;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      std::vector<int> others;
      for (std::size_t step = 1; step < nodes_.size(); ++step) {
        others.push_back(number_of(nodes_[(i + step) % nodes_.size()], nic));
      }
      add(number_of(nodes_[i], nic), others, 1);
    }
  }

  // `sharers`: sources that offer the load together.
  void add(int nic, std::vector<int> destinations, int sharers) {
    const BitRate rate = std::min(cluster_.network.link, cluster_.node.nic.rate);
    const double bits =
        static_cast<double>(wire_bytes(cluster_.network, traffic_.message).count) * 8;
    const double time = bits * 1e12 / static_cast<double>(rate.bits_per_second);
    const auto interval = std::llround(time * sharers / traffic_.load);
    sources_.push_back({nic, std::move(destinations), std::max<std::int64_t>(1, interval)});
  }

  const Cluster& cluster_;
  const BackgroundTraffic& traffic_;
  std::uint64_t seed_;
  std::uint64_t key_;
  std::vector<int> nodes_;
  std::vector<TrafficSource> sources_;
};

}  // namespace

Bytes wire_bytes(const Network& network, Bytes message) {
  if (network.kind == NetworkKind::kIdeal) return message;
  const std::int64_t packets = (message.count + network.mtu.count - 1) / network.mtu.count;
  const Bytes once = network.tcp ? Bytes{} : kRethBytes + kImmediateBytes;
  return message + packet_overhead(network) * packets + once;
}

TrafficPlan plan_traffic(const Cluster& cluster, const BackgroundTraffic& traffic,
                         std::uint64_t seed) {
  TrafficPlan plan;
  plan.name = traffic.name;
  // Whoever else is there changes nothing.
  for (const char letter : traffic.name) {
    plan.key = mix64(plan.key ^ (static_cast<unsigned char>(letter) + 0x9E3779B97F4A7C15));
  }
  plan.pattern = traffic.pattern;
  plan.message = traffic.message;
  plan.sources = SourceBuilder(cluster, traffic, seed, plan.key).build();
  for (const TrafficSource& source : plan.sources) plan.connections += source.destinations.size();
  if (plan.connections == 0) {
    throw SimulationError("background traffic " + traffic.name +
                          " finds nobody to send to: it goes between nodes");
  }
  if (plan.connections > kMostConnections) {
    throw SimulationError("background traffic " + traffic.name + " goes between " +
                          std::to_string(plan.connections) + " pairs of NICs; up to " +
                          std::to_string(kMostConnections) + " are simulated: name fewer nodes");
  }
  return plan;
}

std::vector<ConnectionKey> connections_of(const TrafficPlan& plan) {
  std::vector<ConnectionKey> keys;
  std::int32_t stream = 0;
  for (const TrafficSource& source : plan.sources) {
    for (const int destination : source.destinations) {
      keys.push_back({0, source.nic, destination, stream});
    }
    ++stream;
  }
  return keys;
}

Wiring wire_traffic(const Fabric& fabric, const TrafficPlan& plan, std::uint64_t seed) {
  const Cluster& cluster = fabric.cluster();
  Placement placement;
  placement.ranks_per_node = cluster.node.nic_count;
  std::vector<Rank>& all = placement.rings.emplace_back(
      static_cast<std::size_t>(cluster.nodes * cluster.node.nic_count));
  std::iota(all.begin(), all.end(), 0);
  // Flow labels of different traffic are drawn apart.
  const std::uint64_t own_seed = mix64(seed + plan.key + 1);
  return wire_up(fabric, placement, Nics(cluster), {1, own_seed, false}, connections_of(plan));
}

std::int64_t message_start(const TrafficPlan& plan, std::size_t source, std::int64_t count,
                           std::uint64_t seed) {
  const TrafficSource& sending = plan.sources[source];
  const std::uint64_t drawn =
      draw(seed, plan.key, Draw::kMoment, source, static_cast<std::uint64_t>(count));
  return count * sending.interval +
         static_cast<std::int64_t>(drawn % static_cast<std::uint64_t>(sending.interval));
}

std::size_t message_destination(const TrafficPlan& plan, std::size_t source, std::int64_t count,
                                std::uint64_t seed) {
  const std::size_t others = plan.sources[source].destinations.size();
  if (plan.pattern != TrafficPattern::kUniform) {
    return static_cast<std::size_t>(count) % others;
  }
  return draw(seed, plan.key, Draw::kDestination, source, static_cast<std::uint64_t>(count)) %
         others;
}

}  // namespace gradhaul
