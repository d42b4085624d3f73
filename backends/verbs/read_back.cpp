#include "backends/verbs/read_back.h"

#include <cerrno>
#include <thread>
#include <utility>

#include "backends/verbs/completion_table.h"
#include "backends/verbs/queue_pair_states.h"

namespace gradhaul {
namespace {

// Of a queue pair with itself, which is made anew for each endpoint.
constexpr std::uint32_t kPacketNumber = 0x5f3759;
// Within one host, and by then the device itself would have given up.
constexpr std::chrono::seconds kTrial{10};

std::string cant(const RdmaRail& rail, const std::string& what) {
  return rail.port.name() + " can't read back what has arrived (flush): " + what;
}

MemoryRegion registered_word(VerbsLibrary& verbs, const RdmaRail& rail, void* word,
                             std::size_t length) {
  errno = 0;
  MemoryRegion region(verbs.reg_mr(rail.pd.get(), word, length, IBV_ACCESS_LOCAL_WRITE), {&verbs});
  if (!region) throw VerbsError(cant(rail, "its word is not registered: " + errno_text(errno)));
  return region;
}

QueuePair opened_pair(VerbsLibrary& verbs, const RdmaRail& rail, ibv_cq* queue) {
  ibv_qp_init_attr attributes{};
  attributes.qp_type = IBV_QPT_RC;
  attributes.send_cq = queue;
  attributes.recv_cq = queue;
  attributes.cap = {.max_send_wr = 1,
                    .max_recv_wr = 1,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
  errno = 0;
  QueuePair pair(verbs.create_qp(rail.pd.get(), &attributes), {&verbs});
  if (!pair) throw VerbsError(cant(rail, "no queue pair: " + errno_text(errno)));
  return pair;
}

void join_to_itself(VerbsLibrary& verbs, const RdmaRail& rail, const VerbsSettings& settings,
                    ibv_qp* pair) {
  const RailRecord itself = record_of(rail);
  const QueuePairPath path{.peer = itself,
                           .peer_queue_pair = {pair->qp_num, kPacketNumber},
                           .packet_number = kPacketNumber,
                           .mtu = path_mtu(rail, itself, settings)};
  try {
    to_init(verbs, pair, rail, settings, IBV_ACCESS_REMOTE_READ);
    to_ready_to_receive(verbs, pair, rail, settings, path);
    to_ready_to_send(verbs, pair, rail, settings, path);
  } catch (const VerbsError& error) {
    throw VerbsError(cant(rail, error.what()));
  }
}

// One that has to end well. Throws VerbsError.
void try_reading_back(VerbsLibrary& verbs, const RdmaRail& rail, const VerbsSettings& settings,
                      const std::byte* from, const ibv_mr& region) {
  ReadBack read(verbs, rail, settings);
  const int error = read.begin(reinterpret_cast<std::uint64_t>(from), region.rkey);
  if (error != 0) throw VerbsError(cant(rail, "ibv_post_send: " + errno_text(error)));
  std::optional<ibv_wc_status> status;
  while (!(status = read.take())) {
    if (ReadBack::Clock::now() - read.since() > kTrial) {
      throw VerbsError(cant(rail, "nothing came of a read for 10 s"));
    }
    std::this_thread::yield();
  }
  if (*status == IBV_WC_SUCCESS) return;
  throw VerbsError(cant(rail, "a read of its own memory completed with \"" +
                                  std::string(meaning_of(*status).name) + "\""));
}

}  // namespace

bool reads_back(const VerbsSettings& settings, const DeviceMemory* device) {
  if (settings.flush != FlushMode::kAuto) return settings.flush == FlushMode::kOn;
  return device != nullptr && device->needs_read_back();
}

ReadBack::ReadBack(VerbsLibrary& verbs, const RdmaRail& rail, const VerbsSettings& settings)
    : verbs_(verbs), word_(std::make_unique<Word>()) {
  region_ = registered_word(verbs, rail, word_->bytes.data(), word_->bytes.size());
  errno = 0;
  queue_ = CompletionQueue(verbs.create_cq(rail.port.context.get(), 2, nullptr), {&verbs});
  if (!queue_) throw VerbsError(cant(rail, "no completion queue: " + errno_text(errno)));
  pair_ = opened_pair(verbs, rail, queue_.get());
  join_to_itself(verbs, rail, settings, pair_.get());
}

int ReadBack::begin(std::uint64_t address, std::uint32_t key) {
  ibv_sge piece{.addr = reinterpret_cast<std::uint64_t>(word_->bytes.data()),
                .length = static_cast<std::uint32_t>(word_->bytes.size()),
                .lkey = region_->lkey};
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = address;
  request.wr.rdma.rkey = key;
  under_way_ = true;
  since_ = Clock::now();
  ibv_send_wr* bad = nullptr;
  return verbs_.post_send(pair_.get(), &request, &bad);
}

std::optional<ibv_wc_status> ReadBack::take() {
  ibv_wc completion{};
  const int count = verbs_.poll_cq(queue_.get(), 1, &completion);
  if (count == 0) return std::nullopt;
  under_way_ = false;
  return count < 0 ? IBV_WC_GENERAL_ERR : completion.status;
}

DeviceReach reach_of(VerbsLibrary& verbs, const std::vector<RdmaRail>& rails,
                     const VerbsSettings& settings, std::span<std::byte> bytes,
                     const DeviceMemory& device) {
  const bool read_back = reads_back(settings, &device);
  DeviceReach reach;
  for (const MemoryPath path : {MemoryPath::kDmaBuf, MemoryPath::kPeerMemory}) {
    try {
      for (const RdmaRail& rail : rails) {
        bool relaxed = true;
        const MemoryRegion region = register_memory(
            verbs, rail, {bytes.data(), bytes.size(), path, &device, read_back}, relaxed);
        if (read_back) try_reading_back(verbs, rail, settings, bytes.data(), *region);
      }
      reach.path = path;
      return reach;
    } catch (const VerbsError& error) {
      reach.why += (reach.why.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  reach.why += " (is the module nvidia-peermem loaded?)";
  return reach;
}

}  // namespace gradhaul
