#pragma once

// The simulated transport and kernels without collectives: ranks joined by given connections, whose
// completions go to whom a test likes, a completion at a time.

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/collective_engine.h"
#include "core/placement.h"
#include "sim/kernel_reducer.h"
#include "sim/packet_transport.h"

namespace gradhaul::examples {

class TransportWorld final : private Endpoints, private CompletionRouter {
 public:
  // `streams`: of the reducer, of each rank. `seed`: of what is drawn.
  TransportWorld(const Cluster& cluster, const Communication& communication,
                 std::vector<std::vector<ConnectionEnd>> ends, int streams, std::uint64_t seed = 1)
      : communication_(communication),
        ends_(std::move(ends)),
        placement_(place(cluster, communication_, Collective::kSendRecv)),
        fabric_(cluster),
        engine_(fabric_, *this),
        context_{fabric_, engine_, blame_, *this},
        memory_(cluster.nodes * cluster.node.gpu_count, cluster.node.gpu.memory_bandwidth),
        transport_(context_, memory_),
        kernels_(context_, memory_, cluster.ranks(), cluster.ranks_per_node, streams),
        sinks_(ends_.size(), nullptr) {
    std::vector<const std::vector<ConnectionEnd>*> pointers;
    std::vector<ConnectionKey> keys;
    for (const auto& of_rank : ends_) {
      pointers.push_back(&of_rank);
      for (const ConnectionEnd& end : of_rank) {
        if (end.sends) keys.push_back(end.key);
      }
    }
    pointers.resize(static_cast<std::size_t>(cluster.ranks()), nullptr);
    engine_.draw_by(seed);
    const Wiring wiring = wire_up(fabric_, placement_, communication_, 1, keys);
    transport_.add_flows(wiring);
    transport_.open(wiring.connections, pointers, communication_.slots, communication_.protocol,
                    thread_costs(communication_, communication_.slot_size));
    context_.cause = &origin_;
  }

  Transport& transport(Rank rank) { return transport_.of(rank); }
  Reducer& reducer(Rank rank) { return kernels_.of(rank); }
  void connect(Rank rank, CompletionSink& sink) { sinks_[static_cast<std::size_t>(rank)] = &sink; }
  // Calls `then` at `time`, which is not past.
  void at(std::int64_t time, std::function<void()> then) {
    calls_.push_back(std::move(then));
    engine_.schedule(time, kCall, static_cast<std::int32_t>(calls_.size() - 1), 0);
  }
  // On to the next instant at which completions are delivered; false where nothing more will come.
  bool step() {
    delivered_ = false;
    while (!delivered_) {
      if (engine_.run(INT64_MAX - 1) == PacketEngine::Pause::kIdle) break;
    }
    return delivered_;
  }
  std::int64_t now() const { return engine_.now(); }
  const PacketEngine& engine() const { return engine_; }
  const Fabric& fabric() const { return fabric_; }
  const PacketTransport& packets() const { return transport_; }
  const KernelReducer& kernels() const { return kernels_; }
  const Blame& blame() const { return blame_; }

 private:
  // Of a kind that the transport and its kernels do not have.
  static constexpr auto kCall = static_cast<std::uint32_t>(RunEvent::kBackground);

  void on_first_start(const Packet& packet, std::int64_t now) override {
    transport_.on_first_start(packet, now);
  }
  void on_delivery(const Packet& packet, std::int64_t delivered) override {
    transport_.on_delivery(packet, delivered);
  }
  void on_loss(const Packet& packet, LinkId link) override { transport_.on_loss(packet, link); }
  void on_event(std::uint32_t kind, std::int32_t index) override {
    if (kind == kCall) return calls_[static_cast<std::size_t>(index)]();
    const auto event = static_cast<RunEvent>(kind);
    if (event == RunEvent::kReduceDone) return kernels_.on_event(event, index);
    transport_.on_event(event, index);
  }
  void deliver(Rank rank, const Completion& completion, CauseChain& cause) override {
    delivered_ = true;
    engine_.stop();
    context_.cause = &cause;
    CompletionSink* sink = sinks_[static_cast<std::size_t>(rank)];
    if (sink != nullptr) sink->on_completion(completion);
    context_.cause = &origin_;
  }

  Communication communication_;
  std::vector<std::vector<ConnectionEnd>> ends_;
  Placement placement_;
  Fabric fabric_;
  PacketEngine engine_;
  Blame blame_;
  CauseChain origin_{blame_, blame_.start()};
  RunContext context_;
  MemoryPorts memory_;
  PacketTransport transport_;
  KernelReducer kernels_;
  std::vector<CompletionSink*> sinks_;
  std::vector<std::function<void()>> calls_;
  bool delivered_ = false;
};

}  // namespace gradhaul::examples
