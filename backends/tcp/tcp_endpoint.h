#pragma once

// A transport over sockets that are joined already (tcp_endpoint_maker.h joins them): one epoll
// set, no thread of its own. A write is done when the system has taken its bytes; it has arrived
// when they lie in the slot. Memory is the host's.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/bootstrap/socket.h"
#include "backends/measure/endpoint_maker.h"
#include "backends/tcp/tcp_connection.h"

namespace gradhaul {

class TcpEndpoint final : public Endpoint {
 public:
  // descriptors[c]: the sockets of request.connections[c], in the same order at both ends, for the
  // caller to close after the endpoint has gone.
  TcpEndpoint(const EndpointRequest& request, std::vector<std::vector<int>> descriptors, Rank rank);
  ~TcpEndpoint() override;
  TcpEndpoint(const TcpEndpoint&) = delete;
  TcpEndpoint& operator=(const TcpEndpoint&) = delete;

  TransportLimits limits() const override;
  void post_write(const WriteRequest& request) override;
  void flush() override;
  bool poll(CompletionSink& sink) override;
  void wait(std::chrono::microseconds most) override;
  std::optional<RankFailure> failure() const override { return failure_; }
  std::vector<std::pair<std::string, std::string>> facts() const override;

  // For tests: bytes that have gone into sockets and come out of them, and whether more wait.
  bool has_unsent() const;
  std::int64_t bytes_sent() const;
  std::int64_t bytes_received() const;

 private:
  struct Place {
    std::size_t connection = 0;
    std::size_t socket = 0;
  };
  void watch(std::size_t place, bool for_writing);
  void push(std::size_t connection);
  void push_socket(const Place& place);
  void pull(const Place& place);
  void fail(const Place& place);
  void note_ready(std::size_t connection);
  std::size_t place_of(const Place& place) const {
    return first_place_[place.connection] + place.socket;
  }

  HostMemory memory_;
  Rank rank_;
  int queue_pairs_;
  int epoll_;
  std::vector<TcpConnection> connections_;
  std::vector<std::size_t> first_place_;   // by connection
  std::vector<Place> places_;              // of all sockets
  std::vector<bool> watched_for_writing_;  // by place
  std::vector<std::size_t> staged_;        // connections with posts since the last flush()
  std::vector<std::size_t> ready_;         // connections with completions
  std::vector<bool> is_ready_;
  std::optional<RankFailure> failure_;
};

}  // namespace gradhaul
