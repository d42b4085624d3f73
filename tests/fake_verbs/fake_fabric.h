#pragma once

// The network and the NICs behind fake libraries: one fabric, shared by the ranks of a test.
// Nothing happens of itself: step() executes one work request or brings one acknowledgement, of a
// queue pair chosen by a hash, so that what the standard leaves open comes in every order. Sources
// are read as late as that; a send queue is free again only when a completion was polled.
//
// Failures: `verdict` is asked before each work request is executed, and gives the status it fails
// with. Where the fake is misused (a queue overflows, something is destroyed too early), `mistakes`
// says so.

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/fake_verbs/fake_objects.h"

namespace gradhaul::fake {

class FakeFabric {
 public:
  explicit FakeFabric(std::uint64_t seed = 0) : draws_(seed) {}

  std::function<ibv_wc_status(const FakeQp&, const FakeSend&)> verdict;
  // Addresses that the kernel can't resolve: RTR to them is refused.
  std::set<std::string> unreachable;
  std::vector<std::string> mistakes;
  int live_objects = 0;

  std::mutex& mutex() { return mutex_; }

  std::uint64_t draw(std::uint64_t below) {
    std::uint64_t z = draws_++ * 0x9e3779b97f4a7c15U + 0x632be59bd9b4e019U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return (z ^ (z >> 31)) % below;
  }

  std::uint32_t next_number() { return ++numbers_; }
  void add(FakeQp& qp) { qps_[qp.qp_num] = &qp; }
  void add(FakeMr& mr) { regions_[mr.rkey] = &mr; }
  void remove(FakeMr& mr) {
    land_waiting_writes(mr.context);
    regions_.erase(mr.rkey);
  }
  void remove(FakeQp& qp) {
    qps_.erase(qp.qp_num);
    std::erase(active_, &qp);
    for (ibv_cq* cq : {qp.send_cq, qp.recv_cq}) {
      std::erase_if(static_cast<FakeCq*>(cq)->completions,
                    [&](const FakeCompletion& c) { return c.qp == &qp; });
    }
    // Of what is gone nobody hears any more [rdma-core, ibv_destroy_qp()].
    std::erase_if(static_cast<FakeContext*>(qp.context)->events,
                  [&](const ibv_async_event& event) { return event.element.qp == &qp; });
  }

  void activate(FakeQp& qp) {
    if (!std::exchange(qp.active, true)) active_.push_back(&qp);
  }

  // false: nothing is posted that could go on.
  bool step() {
    const std::scoped_lock lock(mutex_);
    while (!active_.empty()) {
      const std::size_t at = draw(active_.size());
      FakeQp& qp = *active_[at];
      const bool may_execute = !qp.sends.empty() && qp.state == IBV_QPS_RTS;
      if (!may_execute && qp.executed.empty()) {
        active_[at] = active_.back();
        active_.pop_back();
        qp.active = false;
        continue;
      }
      const bool acknowledges = !qp.executed.empty() && (!may_execute || draw(2) == 0);
      if (acknowledges) {
        acknowledge(qp);
      } else {
        execute(qp);
      }
      return true;
    }
    return false;
  }

  // What is posted comes back, and nothing more goes or comes.
  void move_to_error(FakeQp& qp) {
    if (qp.state == IBV_QPS_ERR) return;
    qp.state = IBV_QPS_ERR;
    while (!qp.executed.empty()) acknowledge(qp);
    for (const FakeSend& send : std::exchange(qp.sends, {})) {
      complete_send(qp, send.request.wr_id, IBV_WC_WR_FLUSH_ERR);
    }
    for (const ibv_recv_wr& receive : std::exchange(qp.receives, {})) {
      complete_receive(qp, failed(qp, receive.wr_id, IBV_WC_WR_FLUSH_ERR));
    }
  }

  void complete_send(FakeQp& qp, std::uint64_t wr_id, ibv_wc_status status) {
    ++qp.since_signal;
    ibv_wc completion = failed(qp, wr_id, status);
    if (status == IBV_WC_SUCCESS) completion.opcode = IBV_WC_RDMA_WRITE;  // reads ask for none
    push(*static_cast<FakeCq*>(qp.send_cq), {completion, &qp, std::exchange(qp.since_signal, 0U)});
  }
  void complete_receive(FakeQp& qp, const ibv_wc& completion) {
    push(*static_cast<FakeCq*>(qp.recv_cq), {completion, &qp, 0});
  }

  std::function<void(FakeCq&)> on_completion;  // wakes whoever asked to be

 private:
  // Opcode and length of a failed completion are undefined: nobody is to believe these.
  static ibv_wc failed(const FakeQp& qp, std::uint64_t wr_id, ibv_wc_status status) {
    ibv_wc completion{};
    completion.wr_id = wr_id;
    completion.status = status;
    completion.vendor_err = status == IBV_WC_SUCCESS ? 0 : 0x81;
    completion.opcode = IBV_WC_TM_ADD;
    completion.byte_len = 0xdeadbeef;
    completion.qp_num = qp.qp_num;
    return completion;
  }

  void push(FakeCq& cq, const FakeCompletion& completion) {
    if (static_cast<int>(cq.completions.size()) >= cq.capacity) {
      mistakes.emplace_back("a completion queue overflows");
    }
    cq.completions.push_back(completion);
    if (std::exchange(cq.armed, false) && on_completion) on_completion(cq);
  }

  void acknowledge(FakeQp& qp) {
    const FakeSend send = std::move(qp.executed.front());
    qp.executed.pop_front();
    if ((send.request.send_flags & IBV_SEND_SIGNALED) != 0) {
      complete_send(qp, send.request.wr_id, IBV_WC_SUCCESS);
    } else {
      ++qp.since_signal;
    }
  }

  FakeQp* peer_of(const FakeQp& qp) {
    const auto found = qps_.find(qp.attributes.dest_qp_num);
    if (found == qps_.end()) return nullptr;
    FakeQp& peer = *found->second;
    const bool receives = peer.state == IBV_QPS_RTR || peer.state == IBV_QPS_RTS;
    const bool joined = peer.attributes.dest_qp_num == qp.qp_num &&
                        peer.attributes.rq_psn == qp.attributes.sq_psn &&
                        peer.attributes.path_mtu == qp.attributes.path_mtu;
    return receives && joined ? &peer : nullptr;
  }

  void execute(FakeQp& qp) {
    const FakeSend& send = qp.sends.front();
    FakeQp* peer = peer_of(qp);
    ibv_wc_status status = verdict ? verdict(qp, send) : IBV_WC_SUCCESS;
    if (status == IBV_WC_SUCCESS && peer == nullptr) status = IBV_WC_RETRY_EXC_ERR;
    const bool reads = send.request.opcode == IBV_WR_RDMA_READ;
    if (status == IBV_WC_SUCCESS) status = reads ? read(qp, *peer, send) : carry(qp, *peer, send);
    if (status != IBV_WC_SUCCESS) return fail(qp, peer, status);
    qp.executed.push_back(std::move(qp.sends.front()));
    qp.sends.pop_front();
  }

  void fail(FakeQp& qp, FakeQp* peer, ibv_wc_status status) {
    while (!qp.executed.empty()) acknowledge(qp);
    const std::uint64_t wr_id = qp.sends.front().request.wr_id;
    qp.sends.pop_front();
    complete_send(qp, wr_id, status);
    move_to_error(qp);
    const bool told = status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR;
    if (!told || peer == nullptr) return;
    ibv_async_event event{};
    event.event_type =
        status == IBV_WC_REM_ACCESS_ERR ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR;
    event.element.qp = peer;
    static_cast<FakeContext*>(peer->context)->events.push_back(event);
    move_to_error(*peer);
  }

  const FakeMr* region(std::uint32_t key, const ibv_pd* pd, std::uint64_t address,
                       std::uint64_t length) const {
    const auto found = regions_.find(key);
    if (found == regions_.end() || found->second->pd != pd) return nullptr;
    const std::uint64_t start = found->second->start;
    const bool inside = address >= start && address + length <= start + found->second->length;
    return inside ? found->second : nullptr;
  }

  static std::byte* seen_at(const FakeMr& region, std::uint64_t address) {
    return region.seen + (address - region.start);
  }

  static FakeContext& context_of(const ibv_context* context) {
    return *static_cast<FakeContext*>(const_cast<ibv_context*>(context));
  }
  // What a NIC wrote is there before what it reads afterwards.
  static void land_waiting_writes(const ibv_context* context) {
    for (const auto& write : std::exchange(context_of(context).waiting_writes, {})) write();
  }

  static void write(const FakeMr& region, std::uint64_t address, std::vector<std::byte> bytes) {
    FakeContext& context = context_of(region.context);
    const auto land = [to = seen_at(region, address), bytes = std::move(bytes)] {
      std::memcpy(to, bytes.data(), bytes.size());
    };
    if (!region.of_device || !context.of->spec.device_writes_wait) return land();
    context.waiting_writes.emplace_back(land);
  }

  ibv_wc_status read(FakeQp& qp, FakeQp& peer, const FakeSend& send) {
    const auto& source = send.request.wr.rdma;
    const ibv_sge& piece = send.pieces.front();
    const FakeMr* local = region(piece.lkey, qp.pd, piece.addr, piece.length);
    if (local == nullptr || (local->access & IBV_ACCESS_LOCAL_WRITE) == 0) {
      return IBV_WC_LOC_PROT_ERR;
    }
    if (qp.attributes.max_rd_atomic < 1 || peer.attributes.max_dest_rd_atomic < 1) {
      return IBV_WC_REM_INV_REQ_ERR;
    }
    const FakeMr* remote = region(source.rkey, peer.pd, source.remote_addr, piece.length);
    const unsigned needed = IBV_ACCESS_REMOTE_READ;
    const bool allowed = (peer.attributes.qp_access_flags & needed) != 0;
    if (remote == nullptr || (remote->access & needed) == 0 || !allowed) {
      return IBV_WC_REM_ACCESS_ERR;
    }
    FakeContext& context = context_of(peer.context);
    if (context.of->spec.read_status != IBV_WC_SUCCESS) return context.of->spec.read_status;
    land_waiting_writes(&context);
    ++context.reads;
    std::memcpy(seen_at(*local, piece.addr), seen_at(*remote, source.remote_addr), piece.length);
    return IBV_WC_SUCCESS;
  }

  ibv_wc_status carry(FakeQp& qp, FakeQp& peer, const FakeSend& send) {
    const auto& target = send.request.wr.rdma;
    std::uint64_t length = send.inline_bytes.size();
    for (const ibv_sge& piece : send.pieces) {
      length += piece.length;
      if (region(piece.lkey, qp.pd, piece.addr, piece.length) == nullptr) {
        return IBV_WC_LOC_PROT_ERR;
      }
    }
    const FakeMr* remote = nullptr;
    if (length > 0) {
      remote = region(target.rkey, peer.pd, target.remote_addr, length);
      const unsigned needed = IBV_ACCESS_REMOTE_WRITE;
      const bool allowed = (peer.attributes.qp_access_flags & needed) != 0;
      if (remote == nullptr || (remote->access & needed) == 0 || !allowed) {
        return IBV_WC_REM_ACCESS_ERR;
      }
    }
    const bool tells = send.request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    if (tells && peer.receives.empty()) return IBV_WC_RNR_RETRY_EXC_ERR;
    std::vector<std::byte> bytes = send.inline_bytes;
    for (const ibv_sge& piece : send.pieces) {
      const std::byte* from =
          seen_at(*region(piece.lkey, qp.pd, piece.addr, piece.length), piece.addr);
      bytes.insert(bytes.end(), from, from + piece.length);
    }
    if (remote != nullptr) write(*remote, target.remote_addr, std::move(bytes));
    if (!tells) return IBV_WC_SUCCESS;
    ibv_wc arrival{};
    arrival.wr_id = peer.receives.front().wr_id;
    peer.receives.pop_front();
    arrival.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    arrival.byte_len = static_cast<std::uint32_t>(length);
    arrival.imm_data = send.request.imm_data;
    arrival.wc_flags = IBV_WC_WITH_IMM;
    arrival.qp_num = peer.qp_num;
    complete_receive(peer, arrival);
    return IBV_WC_SUCCESS;
  }

  std::mutex mutex_;
  std::uint64_t draws_;
  std::uint32_t numbers_ = 16;
  std::map<std::uint32_t, FakeQp*> qps_;
  std::map<std::uint32_t, FakeMr*> regions_;
  std::vector<FakeQp*> active_;
};

}  // namespace gradhaul::fake
