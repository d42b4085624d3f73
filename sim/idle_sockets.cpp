#include "sim/idle_sockets.h"

#include <algorithm>
#include <utility>

#include "sim/host_cores.h"

namespace gradhaul {

IdleSockets::IdleSockets(const TcpSettings& settings, Bytes packet_payload, IdleRoute send_copy,
                         IdleRoute receive_copy)
    : settings_(settings),
      packet_payload_(packet_payload),
      sockets_free_(static_cast<std::size_t>(settings.sockets), 0) {
  const auto cores = static_cast<std::size_t>(settings.cores);
  sending_ = {std::move(send_copy), std::vector<std::int64_t>(cores, 0),
              std::vector<std::int64_t>(cores, 0)};
  receiving_ = {std::move(receive_copy), std::vector<std::int64_t>(cores, 0),
                std::vector<std::int64_t>(cores, 0)};
}

// When the core of a socket, which may begin at `from`, is through: its own time and the copy's.
std::int64_t IdleSockets::work_on(Cores& cores, int socket, std::int64_t bytes, std::int64_t from,
                                  bool receiving) const {
  const auto core = static_cast<std::size_t>(socket % settings_.cores);
  const std::int64_t start = std::max(from, cores.free[core]);
  std::int64_t end = start + work(bytes, receiving).ps;
  for (std::int64_t copied = 0; copied < bytes; copied += kCopiedAtOnce) {
    const std::int64_t piece = std::min<std::int64_t>(kCopiedAtOnce, bytes - copied);
    end = std::max(end, cores.copy.pass({kCopyPasses * piece}, start).delivered);
  }
  cores.busy[core] += end - start;
  return cores.free[core] = end;
}

std::int64_t IdleSockets::send(std::int64_t bytes, std::int64_t ready) {
  const std::int64_t from =
      std::max(ready, *std::min_element(sockets_free_.begin(), sockets_free_.end()));
  int socket = turn_;
  while (sockets_free_[static_cast<std::size_t>(socket)] > from) {
    socket = (socket + 1) % settings_.sockets;
  }
  turn_ = (socket + 1) % settings_.sockets;
  return sockets_free_[static_cast<std::size_t>(socket)] =
             work_on(sending_, socket, bytes, from, false);
}

// An idle core is woken by an interrupt.
std::int64_t IdleSockets::receive(std::int64_t bytes, std::int64_t landed) {
  const int socket = receiving_socket_;
  receiving_socket_ = (socket + 1) % settings_.sockets;
  const bool idle = receiving_.free[static_cast<std::size_t>(socket % settings_.cores)] <= landed;
  return work_on(receiving_, socket, bytes, idle ? landed + settings_.interrupt.ps : landed, true);
}

std::int64_t IdleSockets::receiving_time() const {
  return *std::max_element(receiving_.busy.begin(), receiving_.busy.end());
}

}  // namespace gradhaul
