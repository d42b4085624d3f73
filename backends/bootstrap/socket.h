#pragma once

// TCP sockets, never blocking: IPv4 and IPv6.

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace gradhaul {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }

  int descriptor() const { return descriptor_; }
  bool open() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

struct SocketAddress {
  std::string host;  // a name, or digits
  int port = 0;
};

// "127.0.0.1:4000", "[::1]:4000", "node7:4000"; nothing where it is not of that form.
std::optional<SocketAddress> parse_socket_address(const std::string& text);
std::string text_of(const SocketAddress& address);

// Port 0: any that is free. Throws ExchangeError, which says what to do.
Socket listen_at(const SocketAddress& address);
// Nothing where nobody is waiting.
std::optional<Socket> accept_from(const Socket& listener);

// Begins to connect. Nothing where it can't even begin; else what follows shows in poll()
// (writable) and connect_error(). Throws ExchangeError where there is no host of that name.
std::optional<Socket> begin_connect(const SocketAddress& address);
// 0, or the error with which it failed.
int connect_error(const Socket& socket);

// Whether the other end has closed, also where not all that it sent is read yet.
bool other_end_left(const Socket& socket);

SocketAddress local_address(const Socket& socket);
SocketAddress peer_address(const Socket& socket);

enum class Waiting { kRead, kWrite };
// Whether it is ready before the time is over.
bool wait_for(const Socket& socket, Waiting what, std::chrono::milliseconds most);

// How many bytes went in or out, 0 where none can now; nothing where the connection is over.
std::optional<std::size_t> receive_some(const Socket& socket, std::span<std::byte> bytes);
std::optional<std::size_t> send_some(const Socket& socket, std::span<const std::byte> bytes);

}  // namespace gradhaul
