#pragma once

// The send queue of one queue pair: writes are staged in a chain and rung with one ibv_post_send().
// Only some are signalled (each `signal_interval`-th of a chain, and its last); the completion of
// one retires all before it, so that the count of what occupies the queue is always known and never
// exceeds its capacity. Since every chain ends signalled, nothing waits for a completion that would
// never come.

#include <cstdint>
#include <vector>

#include "backends/verbs/verbs_library.h"

namespace gradhaul {

struct RemoteWrite {
  std::uint64_t address = 0;  // local
  std::uint32_t length = 0;   // 0: immediate data alone
  std::uint32_t key = 0;      // local
  std::uint64_t remote_address = 0;
  std::uint32_t remote_key = 0;
  std::uint32_t immediate = 0;  // host order
  bool plain = false;           // without immediate data: the peer does not hear of it
  std::int64_t write = 0;       // which write of its connection this is a part of
};

struct SendQueueSettings {
  int capacity = 1;
  int signal_interval = 16;
  std::uint32_t inline_bytes = 0;  // what the device granted
  std::uint64_t id_base = 0;       // upper half of the wr_id of all
};

class SendQueue {
 public:
  SendQueue(VerbsLibrary& verbs, ibv_qp* qp, const SendQueueSettings& settings);

  void stage(const RemoteWrite& write);
  bool has_staged() const { return staged_ > 0; }
  // 0, or the errno of ibv_post_send; what was staged is then lost.
  int ring();

  // The signalled work request `number` (lower half of its wr_id) is done: how many that retires.
  int retired_by(std::uint32_t number) const { return static_cast<int>(number - retired_) + 1; }
  // The write that the oldest belongs to, which leaves the queue.
  std::int64_t retire();

  int occupied() const { return static_cast<int>(next_ - retired_); }
  std::int64_t rings() const { return rings_; }
  std::int64_t signalled() const { return signalled_; }
  std::int64_t posted() const { return posted_; }

 private:
  struct Entry {
    ibv_send_wr request{};
    ibv_sge piece{};
    std::int64_t write = 0;
  };
  Entry& entry(std::uint32_t number) { return entries_[number % entries_.size()]; }

  VerbsLibrary& verbs_;
  ibv_qp* qp_;
  SendQueueSettings settings_;
  std::vector<Entry> entries_;
  // Work requests are numbered as they are staged; a size that divides 2^32 keeps their places.
  std::uint32_t next_ = 0;
  std::uint32_t retired_ = 0;
  int staged_ = 0;
  std::int64_t rings_ = 0;
  std::int64_t signalled_ = 0;
  std::int64_t posted_ = 0;
};

}  // namespace gradhaul
