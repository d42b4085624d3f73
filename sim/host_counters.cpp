#include "sim/host_counters.h"

#include "core/network_framing.h"
#include "core/port_trouble.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kWord = 4;       // bytes
constexpr std::int64_t kTickBits = 64;  // 8 bytes
constexpr std::int64_t kVcrc = 2;
// Preamble and start, FCS and the gap between frames [IEEE 802.3].
constexpr std::int64_t kFrameEnds = 8 + 4 + 12;

bool is_nic_port(const std::string& port) { return port.starts_with("node"); }

class HostNames {
 public:
  HostNames(const FinishedRun& world, std::map<std::string, PortCounters>& ports)
      : world_(world),
        fabric_(world.fabric()),
        network_(world.fabric().cluster().network),
        ports_(ports) {}

  void fill() {
    count_walks();
    if (network_.kind == NetworkKind::kIdeal) return;
    for (std::size_t i = 0; i < fabric_.links().size(); ++i) {
      const Link& link = fabric_.links()[i];
      if (link.port.empty()) continue;
      PortCounters& port = ports_[link.port];
      if (!is_nic_port(link.port) && !counts_trouble(port)) continue;
      count_link(link, static_cast<LinkId>(i), port);
      count_pauses(port);
    }
    const Cluster& cluster = fabric_.cluster();
    for (int node = 0; node < cluster.nodes; ++node) {
      for (int nic = 0; nic < cluster.node.nic_count; ++nic) count_nic(node, nic);
    }
  }

 private:
  static void add(PortCounters& port, const std::string& name, std::int64_t count) {
    if (count > 0) port.as_on_host[name] += count;
  }
  std::int64_t words(LinkId link) const {
    const LinkState& state = world_.link(link);
    const std::int64_t ends = network_.kind == NetworkKind::kInfiniband ? kVcrc : kFrameEnds;
    const std::int64_t headers = packet_overhead(network_).count - ends;
    return (state.payload_total + state.extra_total + state.digest.count * headers) / kWord;
  }

  // A root port that translates has no counters of its own that a host shows.
  void count_walks() const {
    const PcieSettings& settings = fabric_.cluster().node.pcie_settings;
    if (!settings.iommu) return;
    for (std::size_t i = 0; i < fabric_.links().size(); ++i) {
      const Link& link = fabric_.links()[i];
      if (!link.name.ends_with(".page_walks")) continue;
      const std::int64_t bytes = world_.link(static_cast<LinkId>(i)).payload_total;
      const std::string& owner = fabric_.resources()[static_cast<std::size_t>(link.resource)].name;
      const std::int64_t page = settings.iotlb_page.count;
      if (bytes > 0) add(ports_[owner], "iotlb_misses", (bytes + page - 1) / page);
    }
  }

  void count_link(const Link& link, LinkId id, PortCounters& port) const {
    const LinkId back = fabric_.reverse_of(link);
    add(port, "port_xmit_packets", world_.link(id).digest.count);
    add(port, "port_xmit_data", words(id));
    add(port, "port_rcv_packets", world_.link(back).digest.count - world_.losses(back).lost);
    add(port, "port_rcv_data", words(back));
    if (!link.rate.unlimited()) {
      const Int128 bits = Int128{world_.stalled(id)} * link.rate.bits_per_second;
      add(port, "port_xmit_wait", static_cast<std::int64_t>(bits / 1'000'000'000'000 / kTickBits));
    }
    const bool ethernet = network_.kind != NetworkKind::kInfiniband;
    // Under both names of what is damaged: the model knows packets, not symbols. What is lost on a
    // link that is down, nobody sees.
    const std::int64_t lost = fabric_.link(back).outages.empty() ? world_.losses(back).lost : 0;
    add(port, ethernet ? "rx_crc_errors_phy" : "port_rcv_errors", lost);
    if (!ethernet) add(port, "symbol_error", lost);
    std::int64_t downs = 0;
    for (const Outage& outage : link.outages) downs += outage.from.ps <= world_.end() ? 1 : 0;
    add(port, ethernet ? "link_down_events_phy" : "link_downed", downs);
  }

  void count_pauses(PortCounters& port) const {
    if (network_.kind != NetworkKind::kRoce) return;
    add(port, "tx_discards_phy", port.tx_discards);
    add(port, "rx_discards_phy", port.rx_discards);
    const std::string priority = "prio" + std::to_string(network_.pause.priority);
    add(port, "rx_" + priority + "_pause", port.pfc_pause_frames);
    add(port, "tx_" + priority + "_pause", port.pfc_pause_frames_sent);
    add(port, "rx_" + priority + "_pause_duration", port.pfc_paused.ps / 1'000'000);
  }

  void count_nic(int node, int nic) {
    const std::string name = "node" + std::to_string(node) + ".nic" + std::to_string(nic);
    const auto found = ports_.find(name);
    if (found == ports_.end()) return;
    PortCounters& port = found->second;
    add(port, "out_of_sequence", port.out_of_sequence);
    add(port, "packet_seq_err", port.packet_seq_err);
    add(port, "local_ack_timeout_err", port.local_ack_timeout_err);
    add(port, "rnr_nak_retry_err", port.rnr_nak_retry_err);
    const NotificationCounts counts = world_.notifications(node, nic);
    add(port, "np_cnp_sent", counts.sent);
    add(port, "rp_cnp_handled", counts.heeded);
    add(port, "np_ecn_marked_roce_packets", counts.marked);
    // No NIC shows it under a name that is documented.
    add(port, "context_misses", world_.context_misses(node, nic));
  }

  const FinishedRun& world_;
  const Fabric& fabric_;
  const Network& network_;
  std::map<std::string, PortCounters>& ports_;
};

}  // namespace

void name_as_on_host(const FinishedRun& world, std::map<std::string, PortCounters>& ports) {
  HostNames(world, ports).fill();
}

}  // namespace gradhaul
