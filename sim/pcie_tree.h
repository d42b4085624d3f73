#pragma once

// The way up a node's PCIe tree.

#include <string>
#include <vector>

#include "core/cluster.h"

namespace gradhaul {

// What lies above a device ("gpu0", "nic3"), nearest first: switches, then the socket. Requires a
// checked node.
std::vector<std::string> elements_above(const Node& node, const std::string& device);

// By which a device and what lies above it hang at their socket: its topmost switch, or itself.
inline const std::string& root_port(const std::string& device,
                                    const std::vector<std::string>& above) {
  return above.size() > 1 ? above[above.size() - 2] : device;
}

// Of the elements above devices.
inline bool is_socket(const std::string& element) { return element.rfind("socket", 0) == 0; }
inline int socket_number(const std::string& socket) { return std::stoi(socket.substr(6)); }

}  // namespace gradhaul
