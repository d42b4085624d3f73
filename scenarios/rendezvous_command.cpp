#include "scenarios/rendezvous_command.h"

#include "scenarios/config_error.h"

namespace gradhaul {

SocketAddress rendezvous_address(const std::string& option) {
  if (const auto address = parse_socket_address(option)) return *address;
  refuse("--rendezvous " + option, "not HOST:PORT, as node7:4000, 10.0.0.7:4000 or [fe80::7]:4000");
}

}  // namespace gradhaul
