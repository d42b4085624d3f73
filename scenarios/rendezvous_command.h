#pragma once

// Where ranks meet, as the command line says.

#include <string>

#include "backends/bootstrap/socket.h"

namespace gradhaul {

// What --rendezvous says. Throws ConfigError.
SocketAddress rendezvous_address(const std::string& option);

}  // namespace gradhaul
