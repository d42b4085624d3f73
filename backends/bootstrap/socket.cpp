#include "backends/bootstrap/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "backends/bootstrap/exchange.h"

namespace gradhaul {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList addresses_of(const SocketAddress& address, bool to_listen) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  if (to_listen) hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) {
    throw ExchangeError("there is no host \"" + address.host + "\": " + gai_strerror(error));
  }
  return {found, &freeaddrinfo};
}

Socket make_socket(const addrinfo& address) {
  return Socket(socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                       address.ai_protocol));
}

void set_flag(const Socket& socket, int level, int option) {
  const int on = 1;
  setsockopt(socket.descriptor(), level, option, &on, sizeof on);
}

SocketAddress address_of(const sockaddr_storage& storage, socklen_t length) {
  char host[NI_MAXHOST] = "?";
  char port[NI_MAXSERV] = "0";
  getnameinfo(reinterpret_cast<const sockaddr*>(&storage), length, host, sizeof host, port,
              sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  SocketAddress address{host, 0};
  std::from_chars(port, port + std::strlen(port), address.port);
  return address;
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<SocketAddress> parse_socket_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  SocketAddress address{text.substr(0, colon), 0};
  const bool brackets = address.host.front() == '[' && address.host.back() == ']';
  if (brackets) address.host = address.host.substr(1, address.host.size() - 2);
  if (!brackets && address.host.find(':') != std::string::npos) return std::nullopt;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, address.port);
  const bool port = error == std::errc() && stop == end && address.port >= 1;
  if (address.host.empty() || !port || address.port > 65535) return std::nullopt;
  return address;
}

std::string text_of(const SocketAddress& address) {
  const bool colons = address.host.find(':') != std::string::npos;
  return (colons ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

Socket listen_at(const SocketAddress& address) {
  std::string problem = "no address to listen at";
  const AddressList list = addresses_of(address, true);
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    Socket socket = make_socket(*at);
    if (!socket.open()) continue;
    set_flag(socket, SOL_SOCKET, SO_REUSEADDR);
    if (bind(socket.descriptor(), at->ai_addr, at->ai_addrlen) == 0 &&
        listen(socket.descriptor(), SOMAXCONN) == 0) {
      return socket;
    }
    problem = std::strerror(errno);
    if (errno == EADDRINUSE) problem += "; give another port";
    if (errno == EADDRNOTAVAIL) problem += "; it has to be an address of rank 0's own host";
  }
  throw ExchangeError("can't listen at " + text_of(address) + ": " + problem);
}

std::optional<Socket> accept_from(const Socket& listener) {
  Socket socket(accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.open()) return std::nullopt;
  set_flag(socket, IPPROTO_TCP, TCP_NODELAY);
  return socket;
}

std::optional<Socket> begin_connect(const SocketAddress& address) {
  const AddressList list = addresses_of(address, false);
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    Socket socket = make_socket(*at);
    if (!socket.open()) continue;
    set_flag(socket, IPPROTO_TCP, TCP_NODELAY);
    if (connect(socket.descriptor(), at->ai_addr, at->ai_addrlen) == 0 || errno == EINPROGRESS) {
      return socket;
    }
  }
  return std::nullopt;
}

int connect_error(const Socket& socket) {
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

bool other_end_left(const Socket& socket) {
  pollfd asked{socket.descriptor(), POLLRDHUP, 0};
  return poll(&asked, 1, 0) > 0 && (asked.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

SocketAddress local_address(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&storage), &length);
  return address_of(storage, length);
}

SocketAddress peer_address(const Socket& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  getpeername(socket.descriptor(), reinterpret_cast<sockaddr*>(&storage), &length);
  return address_of(storage, length);
}

bool wait_for(const Socket& socket, Waiting what, std::chrono::milliseconds most) {
  pollfd waiting{socket.descriptor(), static_cast<short>(what == Waiting::kRead ? POLLIN : POLLOUT),
                 0};
  return poll(&waiting, 1, static_cast<int>(most.count())) > 0;
}

std::optional<std::size_t> receive_some(const Socket& socket, std::span<std::byte> bytes) {
  const ssize_t count = recv(socket.descriptor(), bytes.data(), bytes.size(), 0);
  if (count > 0) return static_cast<std::size_t>(count);
  if (count < 0 && would_block(errno)) return 0;
  return std::nullopt;
}

std::optional<std::size_t> send_some(const Socket& socket, std::span<const std::byte> bytes) {
  const ssize_t count = send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count >= 0) return static_cast<std::size_t>(count);
  if (would_block(errno)) return 0;
  return std::nullopt;
}

}  // namespace gradhaul
