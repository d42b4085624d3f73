#pragma once

// The sockets of one direction of a TCP connection with nothing else on its hosts' cores: when each
// aggregate is the kernel's, and when the receiver has it, by the rules of sim/packet_tcp.cpp.

#include <cstdint>
#include <vector>

#include "core/tcp_settings.h"
#include "sim/fabric.h"
#include "sim/idle_route.h"

namespace gradhaul {

class IdleSockets {
 public:
  // `copy`: within the memory of the socket at either end.
  IdleSockets(const TcpSettings& settings, Bytes packet_payload, IdleRoute send_copy,
              IdleRoute receive_copy);

  std::int64_t aggregate() const { return tcp_aggregate(packet_payload_).count; }
  // The next aggregate, in the sender's memory at `ready`: when its kernel has it.
  std::int64_t send(std::int64_t bytes, std::int64_t ready);
  // The next one, in the receiver's host memory at `landed`: when its user has it.
  std::int64_t receive(std::int64_t bytes, std::int64_t landed);
  // A slot that is given back, which no memory is copied for.
  Duration send_credit() const { return work(kTcpCredit.count, false); }
  Duration receive_credit() const { return settings_.interrupt + work(kTcpCredit.count, true); }
  Duration interrupt() const { return settings_.interrupt; }
  // How long the fullest of the receiver's cores has worked.
  std::int64_t receiving_time() const;

 private:
  struct Cores {
    IdleRoute copy;
    std::vector<std::int64_t> free;  // from when on
    std::vector<std::int64_t> busy;  // how long
  };
  Duration work(std::int64_t bytes, bool receiving) const {
    return tcp_work(settings_, packet_payload_, {bytes}, receiving);
  }
  std::int64_t work_on(Cores& cores, int socket, std::int64_t bytes, std::int64_t from,
                       bool receiving) const;

  TcpSettings settings_;
  Bytes packet_payload_;
  Cores sending_;
  Cores receiving_;
  std::vector<std::int64_t> sockets_free_;
  int turn_ = 0;
  int receiving_socket_ = 0;
};

}  // namespace gradhaul
