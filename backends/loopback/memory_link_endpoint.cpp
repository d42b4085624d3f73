#include "backends/loopback/memory_link_endpoint.h"

#include <cstring>
#include <thread>

#include "core/assert.h"

namespace gradhaul {

MemoryLinkEndpoint::MemoryLinkEndpoint(const std::vector<MemoryJoint>& joints,
                                       const HostMemory& memory, Bytes slot_size, std::string path,
                                       Waker* own, std::unique_ptr<SlotCopier> copier)
    : copier_(std::move(copier)),
      memory_(memory),
      slot_size_(slot_size),
      path_(std::move(path)),
      own_(own) {
  for (const MemoryJoint& joint : joints) connections_.push_back({joint, 0, 0, 0, 0, {}, {}});
}

void MemoryLinkEndpoint::post_write(const WriteRequest& request) {
  Wired& wired = connections_[static_cast<std::size_t>(request.connection)];
  GRADHAUL_ASSERT(wired.posted - wired.done < limits().max_writes_in_flight,
                  "no more writes in flight than the limits say");
  GRADHAUL_ASSERT(wired.joint.end.sends == (request.kind == WriteKind::kData),
                  "data leaves the sending end, credits the receiving end");
  GRADHAUL_ASSERT(request.length <= limits().max_write, "no longer write than the limits say");
  staged_.push_back(request);
  ++wired.posted;
}

void MemoryLinkEndpoint::flush() {
  for (const WriteRequest& request : staged_) send(request);
  staged_.clear();
}

bool MemoryLinkEndpoint::poll(CompletionSink& sink) {
  if (own_ != nullptr) seen_ = own_->seen();
  if (copying_ > 0) publish_copied();
  bool any = false;
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    any |= deliver(connections_[i], static_cast<ConnectionId>(i), sink);
  }
  return any;
}

void MemoryLinkEndpoint::wait(std::chrono::microseconds most) {
  // Nobody is woken by a copy.
  if (own_ == nullptr || copying_ > 0) return std::this_thread::yield();
  own_->wait(seen_, most);
}

void MemoryLinkEndpoint::send(const WriteRequest& request) {
  Wired& wired = connections_[static_cast<std::size_t>(request.connection)];
  if (request.kind == WriteKind::kCredit) {
    wired.joint.link.publish_credit(wired.sent++, request.slots_returned);
    return wake(wired);
  }
  GRADHAUL_ASSERT(request.length <= slot_size_, "a write fits its slot");
  const std::span<std::byte> source = bytes_at(memory_, request.source, request.length);
  std::byte* const slot = wired.joint.slots + (slot_size_ * request.slot).count;
  if (copier_ != nullptr) {
    copier_->copy(request.connection, slot, source);
    wired.copying.push_back(request.length.count);
    ++copying_;
    return;
  }
  std::memcpy(slot, source.data(), source.size());
  publish(wired, request.length.count);
}

void MemoryLinkEndpoint::publish(Wired& wired, std::int64_t length) {
  wired.lengths.push_back(length);
  wired.joint.link.publish_write(wired.sent++, length);
  wake(wired);
}

void MemoryLinkEndpoint::publish_copied() {
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    Wired& wired = connections_[i];
    if (wired.copying.empty()) continue;
    for (int left = copier_->take_completed(static_cast<ConnectionId>(i)); left > 0; --left) {
      publish(wired, wired.copying.front());
      wired.copying.pop_front();
      --copying_;
    }
  }
}

void MemoryLinkEndpoint::wake(const Wired& wired) {
  if (wired.joint.peer != nullptr) wired.joint.peer->wake();
}

bool MemoryLinkEndpoint::deliver(Wired& wired, ConnectionId id, CompletionSink& sink) {
  const bool sends = wired.joint.end.sends;
  const MemoryLink& link = wired.joint.link;
  const std::int64_t done_before = wired.done;
  const std::int64_t seen_before = wired.seen;
  const std::int64_t done = wired.sent;
  const std::int64_t seen = sends ? link.credits() : link.writes();
  while (wired.done < done) {
    Completion completion{.kind = CompletionKind::kCreditDone, .id = id};
    if (sends) {
      completion.kind = CompletionKind::kWriteDone;
      completion.amount = wired.lengths.front();
      wired.lengths.pop_front();
    }
    ++wired.done;
    sink.on_completion(completion);
  }
  while (wired.seen < seen) {
    const std::int64_t ordinal = wired.seen++;
    sink.on_completion(
        {.kind = sends ? CompletionKind::kCreditArrived : CompletionKind::kWriteArrived,
         .id = id,
         .amount = sends ? link.returned(ordinal) : link.length(ordinal)});
  }
  return wired.done != done_before || wired.seen != seen_before;
}

}  // namespace gradhaul
