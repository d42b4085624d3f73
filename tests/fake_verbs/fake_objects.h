#pragma once

// What a fake libibverbs hands out: its public structs, and behind them what a device would keep.

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace gradhaul::fake {

struct FakeGid {
  ibv_gid gid{};
  std::uint32_t type = IBV_GID_TYPE_ROCE_V2;
  int query_error = 0;   // of ibv_query_gid_ex
  int handle_error = 0;  // of ibv_create_ah with it
};

inline ibv_gid ipv4_gid(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}};
}
inline ibv_gid ipv6_gid(std::uint8_t first, std::uint8_t second, std::uint8_t last) {
  return {{first, second, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last}};
}

struct FakePort {
  ibv_port_state state = IBV_PORT_ACTIVE;
  std::uint8_t physical_state = 5;
  std::uint8_t link_layer = IBV_LINK_LAYER_ETHERNET;
  ibv_mtu active_mtu = IBV_MTU_4096;
  ibv_mtu max_mtu = IBV_MTU_4096;
  std::uint16_t lid = 0;
  std::uint32_t max_message = 1U << 30;
  std::vector<FakeGid> gids;
  std::vector<std::uint16_t> pkeys{0xffff};
};

struct FakeDeviceSpec {
  std::string name = "fake0";
  std::string pci_path = "/pci/0";
  std::vector<FakePort> ports{FakePort{}};
  int max_cqe = 1 << 16;
  std::uint32_t max_inline = 64;
  bool takes_relaxed_ordering = true;
  int dma_buf_error = EOPNOTSUPP;  // of ibv_reg_dmabuf_mr; 0: it is taken
  // Peer memory: where lies what is at an address of a device, which the host can't read. Without,
  // such addresses are no memory.
  std::function<std::byte*(void* address, std::size_t length)> peer_memory;
  // What is written into memory of a device is there only once the NIC has read from one.
  bool device_writes_wait = false;
  // Work requests are executed as its completion queues are looked at, without a step().
  bool runs_by_itself = false;
  ibv_wc_status read_status = IBV_WC_SUCCESS;  // of RDMA reads
  int open_error = 0;
};

struct FakeDevice : ibv_device {
  FakeDeviceSpec spec;
};

struct FakeContext : ibv_context {
  FakeDevice* of = nullptr;
  std::deque<ibv_async_event> events;
  int events_unacknowledged = 0;
  std::vector<std::function<void()>> waiting_writes;
  int reads = 0;  // that were carried out
};

struct FakeMr : ibv_mr {
  unsigned access = 0;
  // As work requests have it; of a DMA-BUF `addr` is the offset in that [rdma-core,
  // ibv_reg_dmabuf_mr()].
  std::uint64_t start = 0;
  std::byte* seen = nullptr;  // where the fabric reads and writes what lies at start
  bool mapped = false;        // for this region
  bool of_device = false;
};

struct FakeQp;

struct FakeCompletion {
  ibv_wc completion{};
  FakeQp* qp = nullptr;
  std::uint32_t frees = 0;  // work requests that leave the send queue when it is polled
};

struct FakeCq : ibv_cq {
  int capacity = 0;
  bool armed = false;
  std::deque<FakeCompletion> completions;
};

// A work request in a send queue, with what an inline one took along.
struct FakeSend {
  ibv_send_wr request{};
  std::vector<ibv_sge> pieces;
  std::vector<std::byte> inline_bytes;
};

struct FakeQp : ibv_qp {
  ibv_qp_cap cap{};
  ibv_qp_attr attributes{};
  std::deque<FakeSend> sends;        // posted, not yet executed
  std::deque<ibv_recv_wr> receives;  // posted, not yet taken
  std::deque<FakeSend> executed;     // and not yet acknowledged
  std::uint32_t occupied = 0;        // of the send queue, until a completion is polled
  std::uint32_t since_signal = 0;    // acknowledged work requests that no completion told
  bool active = false;               // in the fabric's list of those with something to do
};

inline std::uint32_t immediate_of(const FakeSend& send) { return ntohl(send.request.imm_data); }

}  // namespace gradhaul::fake
