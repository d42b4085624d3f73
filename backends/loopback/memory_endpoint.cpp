#include "backends/loopback/memory_endpoint.h"

#include <cstring>
#include <thread>

#include "core/assert.h"

namespace gradhaul {
namespace {

class MemoryEndpoint final : public Endpoint {
 public:
  struct Wired {
    ConnectionEnd end;
    MemoryLink* link = nullptr;
    std::byte* slots = nullptr;  // of the receiver
    // Data at the sending end, credits at the receiving one: done <= sent <= posted.
    std::int64_t posted = 0;
    std::int64_t sent = 0;
    std::int64_t done = 0;
    std::int64_t seen = 0;             // of the peer's
    std::deque<std::int64_t> lengths;  // of writes whose kWriteDone is due
  };

  MemoryEndpoint(std::vector<Wired> connections, const EndpointRequest& request)
      : connections_(std::move(connections)),
        memory_(request.memory),
        slot_size_(request.slot_size) {}

  TransportLimits limits() const override { return {}; }

  // The copy is the write; its completions wait for poll().
  void post_write(const WriteRequest& request) override {
    Wired& wired = connections_[static_cast<std::size_t>(request.connection)];
    GRADHAUL_ASSERT(wired.posted - wired.done < limits().max_writes_in_flight,
                    "no more writes in flight than the limits say");
    GRADHAUL_ASSERT(wired.end.sends == (request.kind == WriteKind::kData),
                    "data leaves the sending end, credits the receiving end");
    GRADHAUL_ASSERT(request.length <= limits().max_write, "no longer write than the limits say");
    staged_.push_back(request);
    ++wired.posted;
  }

  void flush() override {
    for (const WriteRequest& request : staged_) send(request);
    staged_.clear();
  }

  bool poll(CompletionSink& sink) override {
    bool any = false;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      any |= deliver(connections_[i], static_cast<ConnectionId>(i), sink);
    }
    return any;
  }

  void wait(std::chrono::microseconds /*most*/) override { std::this_thread::yield(); }
  std::optional<RankFailure> failure() const override { return std::nullopt; }
  std::vector<std::pair<std::string, std::string>> facts() const override {
    return {{"path", "copies between threads of one process"}};
  }

 private:
  void send(const WriteRequest& request) {
    Wired& wired = connections_[static_cast<std::size_t>(request.connection)];
    if (request.kind == WriteKind::kCredit) {
      wired.link->publish_credit(wired.sent++, request.slots_returned);
      return;
    }
    GRADHAUL_ASSERT(request.length <= slot_size_, "a write fits its slot");
    const std::span<std::byte> source = bytes_at(memory_, request.source, request.length);
    std::memcpy(wired.slots + (slot_size_ * request.slot).count, source.data(), source.size());
    wired.lengths.push_back(request.length.count);
    wired.link->publish_write(wired.sent++, request.length.count);
  }

  bool deliver(Wired& wired, ConnectionId id, CompletionSink& sink) {
    const std::int64_t done_before = wired.done;
    const std::int64_t seen_before = wired.seen;
    const std::int64_t done = wired.sent;
    const std::int64_t seen = wired.end.sends ? wired.link->credits() : wired.link->writes();
    while (wired.done < done) {
      Completion completion{.kind = CompletionKind::kCreditDone, .id = id};
      if (wired.end.sends) {
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
          {.kind = wired.end.sends ? CompletionKind::kCreditArrived : CompletionKind::kWriteArrived,
           .id = id,
           .amount =
               wired.end.sends ? wired.link->returned(ordinal) : wired.link->length(ordinal)});
    }
    return wired.done != done_before || wired.seen != seen_before;
  }

  std::vector<Wired> connections_;
  HostMemory memory_;
  Bytes slot_size_;
  std::vector<WriteRequest> staged_;
};

}  // namespace

MemoryMeetingPlace::Joint& MemoryMeetingPlace::joint(const ConnectionKey& key, int slots) {
  const std::lock_guard lock(mutex_);
  Joint& joint = joints_[key];
  if (joint.link == nullptr) joint.link = std::make_unique<MemoryLink>(slots);
  return joint;
}

void MemoryMeetingPlace::clear() {
  const std::lock_guard lock(mutex_);
  joints_.clear();
}

std::unique_ptr<Endpoint> MemoryEndpointMaker::make(const EndpointRequest& request) {
  exchange_.all_gather({});  // nobody uses the links of before any more
  if (exchange_.rank() == 0) place_.clear();
  exchange_.all_gather({});
  std::vector<MemoryMeetingPlace::Joint*> joints;
  for (const ConnectionEnd& end : request.connections) {
    MemoryMeetingPlace::Joint& joint = place_.joint(end.key, request.slots);
    joints.push_back(&joint);
    if (end.sends) continue;
    joint.slots =
        bytes_at(request.memory, {Region::kSlots, end.slots_offset}, request.slot_size).data();
  }
  exchange_.all_gather({});
  std::vector<MemoryEndpoint::Wired> wired;
  for (std::size_t i = 0; i < joints.size(); ++i) {
    wired.emplace_back();
    wired.back().end = request.connections[i];
    wired.back().link = joints[i]->link.get();
    wired.back().slots = joints[i]->slots;
  }
  return std::make_unique<MemoryEndpoint>(std::move(wired), request);
}

}  // namespace gradhaul
