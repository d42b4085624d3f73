// How an endpoint is set up: rails, memory, queues, and what ranks have to tell each other before
// the first write. The rest of VerbsEndpoint is in verbs_endpoint.cpp.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <utility>

#include "backends/verbs/join_exchange.h"
#include "backends/verbs/queue_pair_states.h"
#include "backends/verbs/verbs_endpoint.h"
#include "core/assert.h"

namespace gradhaul {
namespace {

// Completion queues are made for several queue pairs at once.
constexpr int kQueueEntries = 4096;

// A hash of what differs from one life of a queue pair to the next, so that a packet left over from
// an earlier one does not fit: SplitMix64's finaliser, cut to 24 bits.
std::uint32_t first_packet_number(std::uint64_t place) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  std::uint64_t z = static_cast<std::uint64_t>(now) * 0x9e3779b97f4a7c15U +
                    static_cast<std::uint64_t>(getpid()) * 0xd1b54a32d192ed03U + place;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return static_cast<std::uint32_t>(z ^ (z >> 31)) & 0xffffff;
}

std::string error_of(const std::function<void()>& step) {
  try {
    step();
  } catch (const VerbsError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

VerbsEndpoint::VerbsEndpoint(VerbsLibrary& verbs, const std::vector<RdmaRail>& rails,
                             const VerbsSettings& settings, const VerbsWiring& wiring,
                             Exchange& exchange)
    : verbs_(verbs),
      rails_(rails),
      settings_(settings),
      rank_(exchange.rank()),
      memory_(wiring.memory),
      slots_(wiring.slots),
      slot_size_(wiring.slot_size),
      reach_(wiring.reach),
      of_device_(wiring.device != nullptr),
      reads_back_(reads_back(settings, wiring.device)),
      flush_times_(wiring.flush_times),
      thread_(wiring.thread),
      last_look_(Clock::now()) {
  // A write that takes its bytes along has them read by the CPU, which can't read a GPU's.
  if (of_device_) settings_.inline_bytes = 0;
  join(exchange, wiring);
}

VerbsEndpoint::~VerbsEndpoint() = default;

void VerbsEndpoint::join(Exchange& exchange, const VerbsWiring& wiring) {
  ConnectionRecord own;
  const std::string failed_to_open = error_of([&] {
    open(wiring);
    own = record_of_this_rank(wiring);
  });
  if (!failed_to_open.empty()) {
    own = {};
    own.error = failed_to_open;
  }
  const std::vector<ConnectionRecord> records = gather_records(exchange, own);
  std::map<std::pair<ConnectionKey, bool>, std::pair<Rank, const EndRecord*>> ends;
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    for (const EndRecord& end : records[rank].ends) {
      ends[{end.key, end.sends}] = {static_cast<Rank>(rank), &end};
    }
  }
  const std::string failed_to_join = error_of([&] {
    for (std::size_t id = 0; id < connections_.size(); ++id) {
      const VerbsConnection& connection = connections_[id];
      const auto found = ends.find({connection.key(), !connection.sends()});
      if (found == ends.end() || found->second.first != connection.peer()) {
        throw VerbsError("rank " + std::to_string(connection.peer()) +
                         " has no other end of channel " +
                         std::to_string(connection.key().channel) + ", rank " +
                         std::to_string(connection.key().source) + " to " +
                         std::to_string(connection.key().destination));
      }
      const auto& [peer, end] = found->second;
      join_connection(static_cast<ConnectionId>(id), records[static_cast<std::size_t>(peer)], *end);
    }
  });
  gather_readiness(exchange, failed_to_join);
}

// All that can be made without the peers.
void VerbsEndpoint::open(const VerbsWiring& wiring) {
  limits_.max_writes_in_flight = settings_.max_writes_in_flight;
  GRADHAUL_ASSERT(wiring.nics.empty() || wiring.nics.size() == wiring.connections.size(),
                  "each connection has its NIC");
  check_immediate();
  connections_.reserve(wiring.connections.size());
  wires_.resize(wiring.connections.size());
  for (std::size_t id = 0; id < wiring.connections.size(); ++id) {
    wires_[id].rail = use_rail(wiring.nics.empty() ? 0 : wiring.nics[id]);
    UsedRail& used = used_[wires_[id].rail];
    if (used.memory.empty()) register_regions(used, wiring);
    if (reads_back_ && !used.read_back) used.read_back.emplace(verbs_, *used.rail, settings_);
    open_connection(wiring, id);
  }
}

// What is left of an immediate has to tell the length of what goes into a slot.
void VerbsEndpoint::check_immediate() const {
  if (!settings_.immediate_apart) return;
  const Bytes longest =
      ImmediateFormat::apart(slots_, settings_.split_writes ? settings_.queue_pairs : 1).longest();
  if (slot_size_ <= longest) return;
  throw VerbsError("immediate=apart: slot_size is " + std::to_string(slot_size_.count) +
                   " bytes, and with " + std::to_string(slots_) +
                   " slots an immediate tells of at most " + std::to_string(longest.count) +
                   ": choose a smaller communication.slot_size, or immediate=with_data");
}

std::size_t VerbsEndpoint::use_rail(int nic) {
  GRADHAUL_ASSERT(nic >= 0, "a connection between nodes goes by a NIC");
  const RdmaRail& rail = rails_[static_cast<std::size_t>(nic) % rails_.size()];
  const auto found = std::ranges::find(used_, &rail, &UsedRail::rail);
  if (found != used_.end()) return static_cast<std::size_t>(found - used_.begin());
  const std::int64_t most = rail.port.attributes.max_msg_sz;
  if (slot_size_.count > most) {
    throw VerbsError("slot_size is " + std::to_string(slot_size_.count) + " bytes, and " +
                     rail.port.name() + " sends messages of at most " + std::to_string(most) +
                     ": choose a smaller communication.slot_size");
  }
  limits_.max_write = std::min(limits_.max_write, Bytes{most});
  UsedRail& used = used_.emplace_back();
  used.rail = &rail;
  used.relaxed = settings_.relaxed_ordering;
  if (settings_.completion != CompletionMode::kPolling) {
    errno = 0;
    used.channel =
        CompletionChannel(verbs_.create_comp_channel(rail.port.context.get()), {&verbs_});
    if (!used.channel) {
      throw VerbsError(rail.port.name() + ": no completion channel: " + errno_text(errno));
    }
  }
  return used_.size() - 1;
}

void VerbsEndpoint::register_regions(UsedRail& used, const VerbsWiring& wiring) {
  const bool in_place = wiring.memory.input.data() == wiring.memory.output.data();
  for (const Region region : {Region::kInput, Region::kOutput, Region::kSlots}) {
    const std::span<std::byte> bytes = gradhaul::region_of(wiring.memory, region);
    MemoryRegion& registered = used.memory.emplace_back();
    if (bytes.empty() || (region == Region::kInput && in_place)) continue;
    registered = register_memory(verbs_, *used.rail,
                                 {bytes.data(), bytes.size(), wiring.reach.path, wiring.device,
                                  reads_back_ && region == Region::kSlots},
                                 used.relaxed);
  }
}

ibv_cq* VerbsEndpoint::completion_queue(UsedRail& used, int entries) {
  if (!used.queues.empty() && used.room >= entries) {
    used.room -= entries;
    return used.queues.back().get();
  }
  const int most = used.rail->port.device_attributes.max_cqe;
  const int size = std::max(entries, std::min(kQueueEntries, most));
  errno = 0;
  CompletionQueue queue(verbs_.create_cq(used.rail->port.context.get(), size, used.channel.get()),
                        {&verbs_});
  if (!queue) {
    throw VerbsError(
        used.rail->port.name() + ": no completion queue of " + std::to_string(size) +
        " entries (the device allows " + std::to_string(most) + "): " + errno_text(errno) +
        (errno == ENOMEM ? ". Check the limit on locked memory (ulimit -l unlimited)" : ""));
  }
  used.queues.push_back(std::move(queue));
  used.room = size - entries;
  return used.queues.back().get();
}

VerbsConnection::OpenedQueuePair VerbsEndpoint::open_queue_pair(UsedRail& used, int sends,
                                                                int receives) {
  ibv_qp_init_attr attributes{};
  attributes.qp_type = IBV_QPT_RC;
  attributes.send_cq = completion_queue(used, sends + receives);
  attributes.recv_cq = attributes.send_cq;
  const auto create = [&](int inline_bytes) {
    attributes.cap = {.max_send_wr = static_cast<std::uint32_t>(sends),
                      .max_recv_wr = static_cast<std::uint32_t>(receives),
                      .max_send_sge = 1,
                      .max_recv_sge = 1,
                      .max_inline_data = static_cast<std::uint32_t>(inline_bytes)};
    errno = 0;
    return QueuePair(verbs_.create_qp(used.rail->pd.get(), &attributes), {&verbs_});
  };
  QueuePair qp = create(settings_.inline_bytes);
  if (!qp && settings_.inline_bytes > 0) qp = create(0);  // more than the device has
  if (!qp) {
    throw VerbsError(
        used.rail->port.name() + ": no queue pair of " + std::to_string(sends) + " sends and " +
        std::to_string(receives) + " receives (the device allows " +
        std::to_string(used.rail->port.device_attributes.max_qp_wr) + "): " + errno_text(errno) +
        (errno == ENOMEM ? ". Check the limit on locked memory (ulimit -l unlimited)" : ""));
  }
  const std::uint32_t granted =
      std::min(attributes.cap.max_inline_data, static_cast<std::uint32_t>(settings_.inline_bytes));
  to_init(verbs_, qp.get(), *used.rail, settings_);
  return {std::move(qp), granted, first_packet_number(places_.size())};
}

void VerbsEndpoint::open_connection(const VerbsWiring& wiring, std::size_t id) {
  UsedRail& used = used_[wires_[id].rail];
  const VerbsConnection::Shape shape{.id = static_cast<ConnectionId>(id),
                                     .end = wiring.connections[id],
                                     .slots = slots_,
                                     .slot_size = slot_size_,
                                     .split_writes = settings_.split_writes,
                                     .immediate_apart = settings_.immediate_apart,
                                     .max_in_flight = limits_.max_writes_in_flight,
                                     .signal_interval = settings_.signal_interval,
                                     .first_place = static_cast<std::uint32_t>(places_.size())};
  std::vector<VerbsConnection::OpenedQueuePair> pairs;
  for (int index = 0; index < settings_.queue_pairs; ++index) {
    pairs.push_back(
        open_queue_pair(used, VerbsConnection::send_capacity(shape, index, settings_.queue_pairs),
                        VerbsConnection::receive_capacity(shape, index)));
    places_.push_back({shape.id, static_cast<std::size_t>(index)});
  }
  connections_.emplace_back(verbs_, shape, std::move(pairs));
  if (reads_back_) connections_.back().hold_arrivals();
  if (const int error = connections_.back().post_receives(); error != 0) {
    throw VerbsError(used.rail->port.name() + " takes no receives: " + errno_text(error));
  }
}

const ibv_mr* VerbsEndpoint::region_of(const UsedRail& used, Region region) {
  const auto at = [&](Region r) { return used.memory[static_cast<std::size_t>(r)].get(); };
  const ibv_mr* own = at(region);
  return own == nullptr && region == Region::kInput ? at(Region::kOutput) : own;
}

ConnectionRecord VerbsEndpoint::record_of_this_rank(const VerbsWiring& wiring) const {
  ConnectionRecord record;
  record.slots = static_cast<std::uint32_t>(slots_);
  record.slot_size = static_cast<std::uint64_t>(slot_size_.count);
  record.queue_pairs = static_cast<std::uint32_t>(settings_.queue_pairs);
  record.split_writes = settings_.split_writes;
  record.immediate_apart = settings_.immediate_apart;
  for (const UsedRail& used : used_) record.rails.push_back(record_of(*used.rail));
  for (std::size_t id = 0; id < connections_.size(); ++id) {
    const VerbsConnection& connection = connections_[id];
    EndRecord& end = record.ends.emplace_back();
    end.key = connection.key();
    end.sends = connection.sends();
    end.rail = static_cast<std::uint32_t>(wires_[id].rail);
    if (!connection.sends()) {
      const std::span<std::byte> slots = bytes_at(
          memory_, {Region::kSlots, wiring.connections[id].slots_offset}, slot_size_ * slots_);
      end.slots_address = reinterpret_cast<std::uint64_t>(slots.data());
      end.slots_key = region_of(used_[wires_[id].rail], Region::kSlots)->rkey;
    }
    for (std::size_t pair = 0; pair < connection.queue_pairs(); ++pair) {
      end.queue_pairs.push_back(
          {connection.queue_pair(pair)->qp_num, connection.packet_number(pair)});
    }
  }
  return record;
}

void VerbsEndpoint::join_connection(ConnectionId id, const ConnectionRecord& peer,
                                    const EndRecord& end) {
  VerbsConnection& connection = connections_[static_cast<std::size_t>(id)];
  Wire& wire = wires_[static_cast<std::size_t>(id)];
  const RdmaRail& rail = *used_[wire.rail].rail;
  QueuePairPath path{.peer = peer.rails[end.rail], .peer_queue_pair = {}};
  const auto to_peer = [&] { return "to rank " + std::to_string(connection.peer()) + ": "; };
  if (const std::string reason = mismatch(rail, path.peer); !reason.empty()) {
    throw VerbsError(to_peer() + reason);
  }
  if (end.queue_pairs.size() != connection.queue_pairs()) {
    throw VerbsError(to_peer() + "it has another number of queue pairs");
  }
  path.mtu = path_mtu(rail, path.peer, settings_);
  for (std::size_t index = 0; index < connection.queue_pairs(); ++index) {
    path.peer_queue_pair = end.queue_pairs[index];
    path.packet_number = connection.packet_number(index);
    try {
      to_ready_to_receive(verbs_, connection.queue_pair(index), rail, settings_, path);
      to_ready_to_send(verbs_, connection.queue_pair(index), rail, settings_, path);
    } catch (const VerbsError& error) {
      throw VerbsError(to_peer() + error.what());
    }
  }
  connection.connect({end.slots_address, end.slots_key});
  ibv_gid gid{};
  std::copy(path.peer.gid.begin(), path.peer.gid.end(), gid.raw);
  wire.mtu = path.mtu;
  wire.path = rail.port.name() + " (" + gid_text(rail.gid.gid) + ") to " + path.peer.device +
              " port " + std::to_string(path.peer.port) + " (" + gid_text(gid) + "), MTU " +
              std::to_string(mtu_bytes(path.mtu));
}

}  // namespace gradhaul
