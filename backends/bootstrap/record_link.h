#pragma once

// A socket that carries records: what is to be sent waits here until the socket takes it.

#include <optional>

#include "backends/bootstrap/record.h"
#include "backends/bootstrap/socket.h"

namespace gradhaul {

class RecordLink {
 public:
  RecordLink() : reader_(0) {}
  RecordLink(Socket socket, std::size_t longest) : socket_(std::move(socket)), reader_(longest) {}

  const Socket& socket() const { return socket_; }
  bool over() const { return !socket_.open(); }
  void close() { socket_ = Socket(); }
  void allow(std::size_t longest) { reader_.allow(longest); }

  void send(RecordKind kind, std::span<const std::byte> body);
  bool has_unsent() const { return sent_ < unsent_.size(); }
  // As much as the socket takes and gives at once; closes itself where the connection is over, what
  // came before still being there.
  void push();
  void pull();
  // Throws WireError.
  std::optional<Record> next() { return reader_.next(); }
  // So that others can use the socket; nothing is under way.
  Socket release() { return std::move(socket_); }

 private:
  Socket socket_;
  RecordReader reader_;
  std::vector<std::byte> unsent_;
  std::size_t sent_ = 0;
};

}  // namespace gradhaul
