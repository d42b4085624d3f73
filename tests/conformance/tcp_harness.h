#pragma once

// The tcp transport under test, over real sockets of the loopback interface. Sockets are kept from
// one world to the next, where nothing is left in them.

#include <sys/socket.h>

#include <chrono>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "backends/bootstrap/socket.h"
#include "backends/tcp/tcp_endpoint.h"
#include "tests/conformance/endpoint_world.h"

namespace gradhaul::conformance {

using SocketPair = std::pair<Socket, Socket>;

class SocketPool {
 public:
  SocketPair take() {
    if (pairs_.empty()) return make();
    SocketPair pair = std::move(pairs_.back());
    pairs_.pop_back();
    return pair;
  }
  void put_back(SocketPair pair) { pairs_.push_back(std::move(pair)); }

 private:
  SocketPair make() {
    if (!listener_.open()) listener_ = listen_at({"127.0.0.1", 0});
    std::optional<Socket> connecting = begin_connect(local_address(listener_));
    std::optional<Socket> accepted;
    while (!accepted) accepted = accept_from(listener_);
    wait_for(*connecting, Waiting::kWrite, std::chrono::milliseconds(10'000));
    // No TIME_WAIT is left behind, of which there is room for some ten thousand only.
    const linger at_once{1, 0};
    for (const Socket* socket : {&*connecting, &*accepted}) {
      setsockopt(socket->descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    return {std::move(*connecting), std::move(*accepted)};
  }

  Socket listener_;
  std::vector<SocketPair> pairs_;
};

class TcpWorld final : public EndpointWorld {
 public:
  TcpWorld(const WorldShape& shape, int queue_pairs) : EndpointWorld(shape, queue_pairs) {
    for (std::size_t rank = 0; rank < shape.connections.size(); ++rank) {
      std::vector<std::vector<int>> descriptors;
      for (const ConnectionEnd& end : shape.connections[rank]) {
        std::vector<SocketPair>& pairs = sockets_[end.key];
        while (pairs.size() < static_cast<std::size_t>(queue_pairs)) pairs.push_back(pool().take());
        std::vector<int>& of_end = descriptors.emplace_back();
        for (const SocketPair& pair : pairs) {
          of_end.push_back((end.sends ? pair.first : pair.second).descriptor());
        }
      }
      auto endpoint = std::make_unique<TcpEndpoint>(request(rank), std::move(descriptors),
                                                    static_cast<Rank>(rank));
      tcp_.push_back(endpoint.get());
      transports_.push_back(std::make_unique<BreakableTransport>(*endpoint, *this));
      endpoints_.push_back(std::move(endpoint));
    }
    ends_ = shape.connections;
  }
  ~TcpWorld() override {
    const bool clean = !broken_ && in_flight() == 0;
    endpoints_.clear();
    if (!clean) return;
    for (auto& [key, pairs] : sockets_) {
      for (SocketPair& pair : pairs) pool().put_back(std::move(pair));
    }
  }
  TcpWorld(const TcpWorld&) = delete;
  TcpWorld& operator=(const TcpWorld&) = delete;

  Transport& transport(Rank rank) override { return *transports_[static_cast<std::size_t>(rank)]; }

  bool fail_write(const ConnectionKey& key, std::int64_t ordinal) override {
    breaks_ = {key, ordinal};
    broken_ = true;
    return true;
  }

 private:
  // Cuts a connection just before one of its writes.
  class BreakableTransport final : public Transport {
   public:
    BreakableTransport(TcpEndpoint& endpoint, TcpWorld& world)
        : endpoint_(endpoint), world_(world) {}
    TransportLimits limits() const override { return endpoint_.limits(); }
    void post_write(const WriteRequest& request) override {
      if (request.kind == WriteKind::kData && world_.is_due(*this, request.connection)) {
        endpoint_.flush();
        world_.cut();
      }
      endpoint_.post_write(request);
    }
    void flush() override { endpoint_.flush(); }

   private:
    TcpEndpoint& endpoint_;
    TcpWorld& world_;
  };

  static SocketPool& pool() {
    static SocketPool pool;
    return pool;
  }

  bool is_due(const BreakableTransport& transport, ConnectionId id) {
    if (!broken_) return false;
    const auto rank = static_cast<std::size_t>(breaks_.first.source);
    if (transports_[rank].get() != &transport) return false;
    if (ends_[rank][static_cast<std::size_t>(id)].key != breaks_.first) return false;
    return posted_++ == breaks_.second;
  }
  void cut() {
    for (const SocketPair& pair : sockets_.at(breaks_.first)) {
      shutdown(pair.first.descriptor(), SHUT_RDWR);
    }
  }

  std::int64_t in_flight() const {
    std::int64_t bytes = 0;
    for (const TcpEndpoint* endpoint : tcp_) {
      bytes +=
          endpoint->bytes_sent() - endpoint->bytes_received() + (endpoint->has_unsent() ? 1 : 0);
    }
    return bytes;
  }
  // Where a connection was cut bytes are lost, and only patience tells the end.
  bool may_come() override {
    if (!broken_) return in_flight() != 0;
    const auto now = std::chrono::steady_clock::now();
    if (rounds_without_++ == 0) idle_since_ = now;
    std::this_thread::yield();
    if (now - idle_since_ < std::chrono::milliseconds(5)) return true;
    rounds_without_ = 0;
    return false;
  }

  std::map<ConnectionKey, std::vector<SocketPair>> sockets_;
  std::vector<TcpEndpoint*> tcp_;
  std::vector<std::unique_ptr<BreakableTransport>> transports_;
  std::vector<std::vector<ConnectionEnd>> ends_;
  bool broken_ = false;
  std::pair<ConnectionKey, std::int64_t> breaks_;
  std::int64_t posted_ = 0;
  int rounds_without_ = 0;
  std::chrono::steady_clock::time_point idle_since_;
};

// One to three sockets for each connection, by the seed.
class TcpHarness final : public TransportHarness {
 public:
  std::unique_ptr<ConformanceWorld> make_world(const WorldShape& shape,
                                               std::uint64_t seed) const override {
    return std::make_unique<TcpWorld>(shape, static_cast<int>(1 + seed % 3));
  }
  std::uint64_t one_case_in() const override { return 7; }
};

}  // namespace gradhaul::conformance
