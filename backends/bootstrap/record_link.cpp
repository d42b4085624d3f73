#include "backends/bootstrap/record_link.h"

#include <array>

namespace gradhaul {
namespace {

constexpr int kMostBuffersAtOnce = 16;

}  // namespace

void RecordLink::send(RecordKind kind, std::span<const std::byte> body) {
  if (over()) return;
  const std::vector<std::byte> bytes = encoded(kind, body);
  unsent_.insert(unsent_.end(), bytes.begin(), bytes.end());
  push();
}

void RecordLink::push() {
  while (!over() && has_unsent()) {
    const auto sent = send_some(socket_, std::span(unsent_).subspan(sent_));
    if (!sent) return close();
    if (*sent == 0) return;
    sent_ += *sent;
  }
  unsent_.clear();
  sent_ = 0;
}

void RecordLink::pull() {
  std::array<std::byte, 64 * 1024> buffer;
  // No stranger keeps us here: the rest comes with the next call.
  for (int i = 0; i < kMostBuffersAtOnce && !over(); ++i) {
    const auto received = receive_some(socket_, buffer);
    if (!received) return close();
    if (*received == 0) return;
    reader_.feed(std::span(buffer).first(*received));
    if (*received < buffer.size()) return;
  }
}

}  // namespace gradhaul
