#include "backends/doctor/counter_meanings.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace gradhaul {
namespace {

constexpr Severity kP = Severity::kProblem;
constexpr Severity kW = Severity::kWarning;
constexpr Severity kF = Severity::kFact;

constexpr const char* kCable =
    "Reseat or swap cable and transceiver, at both ends; then the port they are in.";
constexpr const char* kLoses =
    "A lost packet costs go-back-N: all that was sent after it is sent again, and a timeout of up "
    "to "
    "seconds where it was the last.";
constexpr const char* kReliability =
    "Look at the counters of the link (symbol_error, *_phy) at both ends and of the switches "
    "between: "
    "what lost it stands there. On RoCE, check that PFC covers the priority in use.";
constexpr const char* kCongested =
    "Several senders meet at one port. Compare with `gradhaul predict`: is it expected there? "
    "Otherwise look for hosts that put all traffic on one rail, and for static routes that "
    "collide.";
constexpr const char* kBits =
    "Bit errors that FEC did not repair: each spoils a packet, which has to be sent again.";

constexpr std::array kMeanings{
    // InfiniBand ports.
    CounterMeaning{"symbol_error", kP, kW, "symbols received with errors", kBits, kCable},
    CounterMeaning{"link_error_recovery", kP, kW, "times that the link recovered by retraining",
                   "No traffic passes meanwhile.", kCable},
    CounterMeaning{"link_downed", kP, kW, "times that the link went down",
                   "Each ends or stalls whatever ran over it; one or two are usual at boot.",
                   kCable},
    CounterMeaning{"local_link_integrity_errors", kP, kW,
                   "times that too many packets in a row came damaged", kBits, kCable},
    CounterMeaning{"port_rcv_errors", kP, kW, "packets that came damaged", kBits, kCable},
    CounterMeaning{"port_rcv_remote_physical_errors", kW, kW,
                   "packets that came marked as damaged further up",
                   "The bad link is another one on the path.",
                   "Look at symbol_error on the switches towards the senders (ibqueryerrors)."},
    CounterMeaning{"port_rcv_switch_relay_errors", kF, kF, "packets a switch could not pass on",
                   "Usual for multicast that comes back to its sender.", ""},
    CounterMeaning{"excessive_buffer_overrun_errors", kP, kW, "times that a buffer ran over",
                   "Credits should make that impossible: a fault of the link or of its other end.",
                   kCable},
    CounterMeaning{"port_xmit_discards", kP, kW, "packets that could not be sent in time", kLoses,
                   kCongested},
    CounterMeaning{"port_xmit_wait", kW, kF, "ticks with data to send and no credit to send it",
                   "The other end, or something behind it, takes data slower than this port offers "
                   "it.",
                   kCongested},
    CounterMeaning{"port_xmit_constraint_errors", kW, kW, "packets dropped for their partition",
                   "They never arrive.", "Compare the pkeys of the hosts."},
    CounterMeaning{"port_rcv_constraint_errors", kW, kW, "packets refused for their partition",
                   "They never arrive.", "Compare the pkeys of the hosts."},
    // What the transport of RDMA NICs counts.
    CounterMeaning{"packet_seq_err", kP, kW, "packets that the peer reported as missing (NAK)",
                   kLoses, kReliability},
    CounterMeaning{"out_of_sequence", kW, kW, "packets that came out of order",
                   "Packets were lost before, or adaptive routing reorders them; only the first "
                   "costs anything.",
                   kReliability},
    CounterMeaning{"implied_nak_seq_err", kP, kW, "acknowledgements that revealed a loss", kLoses,
                   kReliability},
    CounterMeaning{"local_ack_timeout_err", kP, kW, "acknowledgements that never came",
                   "Each costs a timeout: 4.096 us x 2^timeout, 67 ms at 14 and 4.3 s at 20.",
                   kReliability},
    CounterMeaning{"rnr_nak_retry_err", kP, kW, "times that the peer had no receive posted",
                   "The sender pauses, 0.64 ms at timer code 12 and 655 ms at code 0.",
                   "Post more receives there, or let credits say when there is one."},
    CounterMeaning{"out_of_buffer", kW, kW, "packets dropped since no receive was posted", kLoses,
                   "Post more receives, or take completions sooner."},
    CounterMeaning{"duplicate_request", kW, kW, "requests that came again",
                   "The peer had to repeat: an acknowledgement, or a request, was lost or late.",
                   kReliability},
    CounterMeaning{"rx_icrc_encapsulated", kP, kW, "RoCE packets with a wrong checksum",
                   "Something between the NICs damages packets and hides it from the link's own "
                   "check.",
                   "Look for a switch or NIC with bad memory, beginning with those on every bad "
                   "path."},
    CounterMeaning{"roce_adp_retrans", kW, kW, "repeats that adaptive retransmission made", kLoses,
                   kReliability},
    CounterMeaning{"req_transport_retries_exceeded", kP, kW, "requests given up",
                   "The connection is lost, and the job with it.", kReliability},
    CounterMeaning{"rp_cnp_handled", kW, kF,
                   "congestion notices that slowed a queue pair down here",
                   "This host sends slower than it could.", kCongested},
    CounterMeaning{"np_cnp_sent", kW, kF, "congestion notices sent to those who send to this host",
                   "Traffic to this port was marked on its way: they send slower than they could.",
                   kCongested},
    CounterMeaning{"np_ecn_marked_roce_packets", kW, kF,
                   "packets that a switch marked for congestion", "Senders are told to slow down.",
                   kCongested},
    CounterMeaning{"rp_cnp_ignored", kP, kW, "congestion notices that nothing was done about",
                   "The NIC does not slow down, and the fabric fills up.",
                   "Enable DCQCN for this priority on this NIC."},
    // Ethernet ports.
    CounterMeaning{"rx_prio#_pause", kW, kF,
                   "pause frames received: the switch told this port to "
                   "stop",
                   "The port stands still meanwhile, and what waits behind it too.", kCongested},
    CounterMeaning{"tx_prio#_pause", kW, kF, "pause frames sent: this host told the switch to stop",
                   "The host takes data slower than the wire brings it (PCIe, memory, IOMMU), and "
                   "the switch holds up others for it.",
                   "Look for the PCIe and IOMMU findings of this NIC first."},
    CounterMeaning{"rx_prio#_discards", kP, kW, "packets of a priority dropped on arrival", kLoses,
                   "Enable PFC on this priority, at the NIC and at the switch."},
    CounterMeaning{"rx_discards_phy", kP, kW, "packets dropped for want of room in the port",
                   kLoses, "Enable flow control for the priority in use; look for slow PCIe."},
    CounterMeaning{"tx_discards_phy", kP, kW, "packets dropped on leaving", kLoses, kCongested},
    CounterMeaning{"rx_symbol_err_phy", kP, kW, "symbols received with errors", kBits, kCable},
    CounterMeaning{"rx_pcs_symbol_err_phy", kP, kW, "symbols that could not be corrected", kBits,
                   kCable},
    CounterMeaning{"rx_crc_errors_phy", kP, kW, "frames with a wrong checksum", kBits, kCable},
    CounterMeaning{"link_down_events_phy", kP, kW, "times that the link went down",
                   "Each ends or stalls whatever ran over it; one or two are usual at boot.",
                   kCable},
    CounterMeaning{"rx_crc_errors", kP, kW, "frames with a wrong checksum", kBits, kCable},
    CounterMeaning{"carrier_down_count", kP, kW, "times that the interface lost its carrier",
                   "Each ends or stalls whatever ran over it.", kCable},
    // PCI Express.
    CounterMeaning{"pcie_corrected_errors", kP, kW, "PCIe errors that were corrected",
                   "Each costs a replay of some microseconds; many are a bad contact.",
                   "Reseat the device or its riser; then let its maker see the kernel's log."},
    CounterMeaning{"pcie_nonfatal_errors", kP, kW, "PCIe transactions that failed",
                   "Data was lost between device and host.",
                   "The kernel's log names the error (dmesg | grep -i aer)."},
    CounterMeaning{"pcie_fatal_errors", kP, kP, "PCIe errors after which a link had to be reset",
                   "The device was gone meanwhile.",
                   "The kernel's log names the error (dmesg | grep -i aer)."},
    // GPUs, as NVIDIA's management library counts.
    CounterMeaning{"gpu_pcie_replays", kW, kF, "PCIe packets of the GPU that had to be sent again",
                   "Each costs some microseconds; many are a bad contact.",
                   "Reseat the GPU or its riser, if they keep coming."},
    CounterMeaning{"nvlink_replay_errors", kW, kF, "NVLink packets that had to be sent again",
                   "Each costs some microseconds within the node; many are a bad link.",
                   "Let the maker of the board see nvidia-smi nvlink -e, if they keep coming."},
    CounterMeaning{"nvlink_recovery_errors", kP, kW, "times that an NVLink retrained",
                   "No traffic passes it meanwhile.",
                   "Let the maker of the board see nvidia-smi nvlink -e."},
};

bool matches(std::string_view pattern, std::string_view name) {
  return pattern.size() == name.size() &&
         std::equal(pattern.begin(), pattern.end(), name.begin(), [](char wanted, char found) {
           return wanted == found || (wanted == '#' && found >= '0' && found <= '9');
         });
}

}  // namespace

const CounterMeaning* counter_meaning(const std::string& name) {
  const auto found =
      std::find_if(kMeanings.begin(), kMeanings.end(),
                   [&](const CounterMeaning& meaning) { return matches(meaning.name, name); });
  return found == kMeanings.end() ? nullptr : &*found;
}

}  // namespace gradhaul
