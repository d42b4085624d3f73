#pragma once

// At which socket of its node a rank's communication thread runs, and with it all that it
// allocates: queues, flags, buffers for staging.

#include <cstdint>

namespace gradhaul {

struct ThreadPlacement {
  enum class At : std::uint8_t {
    kGpu,    // that of the GPU it serves
    kOther,  // the one after that
    kOne,    // `socket`, all threads of a node alike
  };
  At at = At::kGpu;
  int socket = 0;

  // Of a node with `sockets` of them, for a GPU at `own`.
  int socket_for(int own, int sockets) const {
    if (at == At::kGpu) return own;
    return at == At::kOne ? socket : (own + 1) % sockets;
  }
  friend bool operator==(const ThreadPlacement&, const ThreadPlacement&) = default;
};

}  // namespace gradhaul
