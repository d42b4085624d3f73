#include "backends/verbs/queue_pair_states.h"

#include <algorithm>
#include <cerrno>
#include <string>

namespace gradhaul {
namespace {

// [RFC 8200]; routed RoCE needs more than one.
constexpr std::uint8_t kHopLimit = 64;

std::string name_of(const ibv_qp* qp, const RdmaRail& rail) {
  return "queue pair " + std::to_string(qp->qp_num) + " of " + rail.port.name();
}

struct Transition {
  const char* states;
  std::string attributes;  // what was set, in words
};

std::string what_to_check(int error, const Transition& transition) {
  if (error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH || error == ENODEV) {
    return "the peer's address could not be resolved: check `ip route get` to it from the "
           "interface "
           "of this port, its ARP or neighbour entry, and that both GIDs are of one network";
  }
  if (error == ENOMEM) return "check the limit on locked memory (ulimit -l unlimited)";
  if (error == EPERM || error == EACCES) return "check the rights on /dev/infiniband/uverbs*";
  if (std::string(transition.states) == "INIT -> RTR") {
    return "check the path MTU against both ports, the GID index against the GID table, the peer's "
           "GID or LID, and whether the device's driver logged more (dmesg)";
  }
  return "check the attributes named against the limits of the device (ibv_devinfo -v), and the "
         "driver's messages (dmesg)";
}

void modify(VerbsLibrary& verbs, ibv_qp* qp, const RdmaRail& rail, ibv_qp_attr& attributes,
            int mask, const Transition& transition) {
  errno = 0;
  int error = verbs.modify_qp(qp, &attributes, mask);
  if (error == 0) return;
  if (error < 0) error = errno;
  throw VerbsError(name_of(qp, rail) + " refuses " + transition.states + ": " + errno_text(error) +
                   ". Set were " + transition.attributes + "; " + what_to_check(error, transition));
}

ibv_ah_attr address_of_peer(const RdmaRail& rail, const VerbsSettings& settings,
                            const RailRecord& peer) {
  ibv_ah_attr address{};
  address.port_num = rail.port.port;  // the local port's number, whatever the peer's is
  address.sl = static_cast<std::uint8_t>(settings.service_level);
  address.dlid = peer.lid;
  const bool other_subnet = !std::equal(peer.gid.begin(), peer.gid.begin() + 8, rail.gid.gid.raw);
  const bool needs_header = (rail.port.attributes.flags & IBV_QPF_GRH_REQUIRED) != 0;
  if (rail.ethernet() || needs_header || other_subnet) {
    address.is_global = 1;
    std::copy(peer.gid.begin(), peer.gid.end(), address.grh.dgid.raw);
    address.grh.sgid_index = static_cast<std::uint8_t>(rail.gid.index);
    address.grh.hop_limit = kHopLimit;
    address.grh.traffic_class = static_cast<std::uint8_t>(settings.traffic_class);
  }
  return address;
}

}  // namespace

RailRecord record_of(const RdmaRail& rail) {
  RailRecord record;
  record.device = rail.port.device;
  record.port = rail.port.port;
  record.link_layer = rail.port.attributes.link_layer;
  record.active_mtu = static_cast<std::uint8_t>(rail.port.attributes.active_mtu);
  record.lid = rail.port.attributes.lid;
  record.pkey = rail.pkey;
  record.gid_type = rail.gid.type;
  std::copy(std::begin(rail.gid.gid.raw), std::end(rail.gid.gid.raw), record.gid.begin());
  return record;
}

ibv_mtu path_mtu(const RdmaRail& rail, const RailRecord& peer, const VerbsSettings& settings) {
  int code = std::min<int>(rail.port.attributes.active_mtu, peer.active_mtu);
  if (settings.mtu.count > 0) code = std::min<int>(code, mtu_of(settings.mtu.count));
  return static_cast<ibv_mtu>(code);
}

std::string mismatch(const RdmaRail& rail, const RailRecord& peer) {
  const auto layer = [](bool ethernet) { return ethernet ? "Ethernet" : "InfiniBand"; };
  const bool peer_ethernet = peer.link_layer == IBV_LINK_LAYER_ETHERNET;
  const std::string here = rail.port.name();
  const std::string there = "the peer's " + peer.device + " port " + std::to_string(peer.port);
  if (rail.ethernet() != peer_ethernet) {
    return here + " is on " + layer(rail.ethernet()) + ", " + there + " on " + layer(peer_ethernet);
  }
  if ((rail.pkey & 0x7fff) != (peer.pkey & 0x7fff)) {
    return here + " and " + there +
           " are in different partitions: choose pkey_index on one of them";
  }
  // The upper bit is that of full members; two limited ones may not speak to each other
  // [IBTA vol. 1, 10.9.3].
  if (((rail.pkey | peer.pkey) & 0x8000) == 0) {
    return here + " and " + there +
           " are both limited members of their partition, which reach full members only: have the "
           "subnet manager make one of them a full member, or choose pkey_index";
  }
  if (!rail.ethernet()) return "";
  ibv_gid gid{};
  std::copy(peer.gid.begin(), peer.gid.end(), gid.raw);
  if (rail.gid.type != peer.gid_type) {
    return here + " uses GID " + std::to_string(rail.gid.index) + ", " +
           gid_type_text(rail.gid.type) + ", " + there + " " + gid_type_text(peer.gid_type) +
           ": choose gid_index so that both are alike";
  }
  if (is_ipv4_mapped(rail.gid.gid) != is_ipv4_mapped(gid)) {
    return here + " uses the address " + gid_text(rail.gid.gid) + ", " + there + " " +
           gid_text(gid) + ": choose gid_index so that both are IPv4 or both are IPv6";
  }
  return "";
}

void to_init(VerbsLibrary& verbs, ibv_qp* qp, const RdmaRail& rail, const VerbsSettings& settings,
             unsigned access) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.pkey_index = static_cast<std::uint16_t>(settings.pkey_index);
  attributes.port_num = rail.port.port;
  attributes.qp_access_flags = access;
  modify(verbs, qp, rail, attributes,
         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
         {"RESET -> INIT", "pkey_index " + std::to_string(settings.pkey_index) + ", port " +
                               std::to_string(rail.port.port) + ", access remote " +
                               (access == IBV_ACCESS_REMOTE_READ ? "read" : "write")});
}

void to_ready_to_receive(VerbsLibrary& verbs, ibv_qp* qp, const RdmaRail& rail,
                         const VerbsSettings& settings, const QueuePairPath& path) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = path.mtu;
  attributes.dest_qp_num = path.peer_queue_pair.number;
  attributes.rq_psn = path.peer_queue_pair.packet_number;
  attributes.max_dest_rd_atomic = 1;
  attributes.min_rnr_timer = static_cast<std::uint8_t>(settings.rnr_timer);
  attributes.ah_attr = address_of_peer(rail, settings, path.peer);
  ibv_gid gid{};
  std::copy(path.peer.gid.begin(), path.peer.gid.end(), gid.raw);
  modify(verbs, qp, rail, attributes,
         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
         {"INIT -> RTR", "path_mtu " + std::to_string(mtu_bytes(path.mtu)) + ", dest_qp_num " +
                             std::to_string(path.peer_queue_pair.number) + ", " +
                             (attributes.ah_attr.is_global != 0
                                  ? "sgid_index " + std::to_string(rail.gid.index) + " (" +
                                        gid_text(rail.gid.gid) + "), dgid " + gid_text(gid)
                                  : "dlid " + std::to_string(path.peer.lid)) +
                             ", sl " + std::to_string(settings.service_level) + ", traffic_class " +
                             std::to_string(settings.traffic_class)});
}

void to_ready_to_send(VerbsLibrary& verbs, ibv_qp* qp, const RdmaRail& rail,
                      const VerbsSettings& settings, const QueuePairPath& path) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = static_cast<std::uint8_t>(settings.timeout);
  attributes.retry_cnt = static_cast<std::uint8_t>(settings.retry);
  attributes.rnr_retry = static_cast<std::uint8_t>(settings.rnr_retry);
  attributes.sq_psn = path.packet_number;
  attributes.max_rd_atomic = 1;
  modify(verbs, qp, rail, attributes,
         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
             IBV_QP_MAX_QP_RD_ATOMIC,
         {"RTR -> RTS", "timeout " + std::to_string(settings.timeout) + ", retry_cnt " +
                            std::to_string(settings.retry) + ", rnr_retry " +
                            std::to_string(settings.rnr_retry)});
}

void to_error(VerbsLibrary& verbs, ibv_qp* qp) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  // Where even this is refused, the device is gone, and what follows says so.
  static_cast<void>(verbs.modify_qp(qp, &attributes, IBV_QP_STATE));
}

}  // namespace gradhaul
