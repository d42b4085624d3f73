#include "scenarios/capture_command.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <tuple>

#include "core/packet_loss.h"
#include "core/receive_queue.h"
#include "scenarios/command_context.h"
#include "scenarios/config_error.h"
#include "scenarios/did_you_mean.h"
#include "scenarios/trace_command.h"
#include "sim/fabric.h"

namespace gradhaul {
namespace {

std::vector<std::string> checked_ports(const std::string& text, const Cluster& cluster) {
  std::set<std::string> known;
  const Fabric fabric(cluster);
  for (const Link& link : fabric.links()) {
    if (!link.port.empty()) known.insert(link.port);
  }
  const std::vector<std::string> all(known.begin(), known.end());
  std::vector<std::string> ports;
  for (const std::string& port : split_list(text)) {
    if (known.count(port) == 0) {
      refuse("--pcap-ports " + text,
             "there is no port \"" + port + "\"" + did_you_mean(port, all) +
                 "; there are those of NICs, as node0.nic0, and of switches, as leaf0:1");
    }
    if (std::find(ports.begin(), ports.end(), port) == ports.end()) ports.push_back(port);
  }
  return ports;
}

void check_scenario(const std::string& option, const Scenario& scenario) {
  if (scenario.fidelity != Fidelity::kPacket) {
    refuse(option, "only simulation.fidelity=packet has packets to capture");
  }
  if (scenario.cluster.nodes < 2) {
    refuse(option, "one node alone sends no packets through a network");
  }
  if (scenario.cluster.network.kind == NetworkKind::kIdeal) {
    refuse(option, "packets of the ideal network have no headers; cluster.network=ndr or roce do");
  }
  if (scenario.communication.tcp) {
    refuse(option,
           "captures of TCP are not available in this version; communication.transport=rdma");
  }
}

void check_losses(const std::string& option, const Scenario& scenario) {
  if (spreads_packets(scenario.cluster)) {
    refuse(option,
           "captures of packets that go several ways are not available in this version; "
           "cluster.network.routing=static has each pair of NICs keep to one");
  }
  if (may_lack_receives(scenario.communication, scenario.cluster)) {
    refuse(option,
           "captures of packets that find no receive and are sent again are not available in this "
           "version; communication.receives=auto and cluster.faults=[] leave that out");
  }
  if (!may_lose_packets(scenario.cluster)) return;
  refuse(option,
         "captures of packets that are lost and sent again are not available in this version; "
         "cluster.faults=[], cluster.network.flow_control=pfc and communication.traffic_class=auto "
         "leave the losses out");
}

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (!std::filesystem::is_directory(folder)) {
    const std::string why = error ? error.message() : "it is no folder";
    throw FileError(folder + ": captures need a folder: " + why);
  }
}

}  // namespace

CaptureRecording::CaptureRecording(const CaptureOptions& options, const Scenario& scenario) {
  if (options.folder.empty()) return;
  check_scenario("--pcap " + options.folder, scenario);
  check_losses("--pcap " + options.folder, scenario);
  CaptureSettings settings;
  settings.folder = options.folder;
  settings.ports = checked_ports(options.ports, scenario.cluster);
  settings.nics = scenario.cluster.node.nic_count;
  const Network& network = scenario.cluster.network;
  settings.infiniband = network.kind == NetworkKind::kInfiniband;
  settings.form = {network.vlan, network.ipv6, network.grh};
  settings.snap = static_cast<std::size_t>(options.snap);
  settings.most_packets = options.most_packets;
  if (!options.window.empty()) {
    std::tie(settings.from, settings.until) = parse_window(options.window, "--pcap-window");
  }
  make_folder(options.folder);
  capture_ = std::make_unique<PacketCapture>(settings);
}

void CaptureRecording::join(PredictionRequest& request) {
  if (capture_ == nullptr) return;
  request.port_observer = capture_.get();
  request.skip_recurrences = false;
}

bool CaptureRecording::write() {
  if (capture_ == nullptr) return true;
  try {
    for (const std::string& sentence : capture_->commit()) complain(sentence);
  } catch (const FileError& error) {
    complain(error.what());
    return false;
  }
  return true;
}

}  // namespace gradhaul
