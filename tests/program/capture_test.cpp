// predict --pcap from end to end: captures that tshark reads without complaint, and that count what
// the counters count. Skipped where tshark is not installed.

#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "core/infiniband_framing.h"
#include "core/roce_framing.h"
#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

// Preamble, FCS and gap.
constexpr Bytes kNotCaptured{24};

bool has_tshark() { return std::system("tshark --version >/dev/null 2>&1") == 0; }

// A row for each packet, of the fields asked for.
using Rows = std::vector<std::vector<std::string>>;

Rows read_capture(const std::string& file, const std::vector<std::string>& fields) {
  std::string command =
      "tshark -n -r '" + file + "' -o ip.check_checksum:TRUE -T fields -E separator=';'";
  for (const std::string& field : fields) command += " -e " + field;
  FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  std::string text;
  std::array<char, 4096> buffer{};
  while (pipe != nullptr && std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    text += buffer.data();
  }
  EXPECT_EQ(pclose(pipe), 0);
  Rows rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string>& row = rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ';');) row.push_back(cell);
    row.resize(fields.size());
  }
  return rows;
}

struct Captured {
  json result;
  std::string folder;
};

Captured capture(std::vector<std::string> arguments, const std::string& ports) {
  Captured captured;
  captured.folder = temporary_file("captures");
  const std::string result = temporary_file("result.json");
  arguments.insert(arguments.end(), {"--progress", "off", "--json", result, "--pcap",
                                     captured.folder, "--pcap-ports", ports});
  const ProgramRun run = run_program(arguments);
  EXPECT_EQ(run.status, 0) << run.err;
  captured.result = json::parse(text_of(result));
  return captured;
}

std::int64_t counter_of(const json& result, const std::string& port, const std::string& name) {
  for (const json& entry : result["counters"]) {
    if (entry["port"] == port) return entry[name];
  }
  return 0;
}

std::int64_t bytes_of(const json& result, const std::string& resource) {
  for (const json& entry : result["resources"]) {
    if (entry["name"] == resource) return entry["bytes"];
  }
  return 0;
}

// Sequence numbers of a queue pair follow each other.
class SequenceCheck {
 public:
  void add(const std::string& destination, const std::string& queue_pair, std::int64_t sequence) {
    const auto [place, first] = next_.try_emplace({destination, queue_pair}, sequence);
    EXPECT_TRUE(first || sequence == place->second) << queue_pair << ": " << sequence;
    place->second = (sequence + 1) & 0xFFFFFF;
  }
  std::size_t queue_pairs() const { return next_.size(); }

 private:
  std::map<std::pair<std::string, std::string>, std::int64_t> next_;
};

// Four nodes, two of which share each uplink of their leaf: packets are marked and links paused.
const std::vector<std::string> kCongested{
    "predict",
    "ideal-ring",
    "--set",
    "workload.size=2MiB",
    "--set",
    "cluster.nodes=4",
    "--set",
    "cluster.node=flat-h100",
    "--set",
    "cluster.network={name: tight, kind: roce, link: 100Gb/s, routing: ecmp, topology: {kind: "
    "leaf_spine, switch_ports: 3}, oversubscription: 2, flow_control: {kind: pfc, xoff: 60kB}, "
    "congestion_control: {kind: dcqcn, kmin: 20kB, kmax: 50kB}}",
    "--set",
    "communication.channels=2",
    "--set",
    "communication.slot_size=64KiB",
    "--set",
    "communication.slots=2",
    "--set",
    "communication.queue_pairs=2",
    "--set",
    "communication.ring_order=[0,2,1,3]"};

// What a capture of RoCE holds, as tshark sees it.
struct RoceCount {
  std::int64_t payload = 0;
  std::map<std::string, std::int64_t> marked;         // by sender
  std::map<std::string, std::int64_t> notifications;  // by sender
  std::map<std::string, std::int64_t> pauses;         // by sender
  SequenceCheck sequences;
};

std::int64_t headers_beside(int opcode) {
  switch (opcode) {
    case 6:  // RDMA WRITE first
      return kRethBytes.count;
    case 7:  // middle
      return 0;
    case 9:  // last, with immediate
      return kImmediateBytes.count;
    case 11:  // only, with immediate
      return (kRethBytes + kImmediateBytes).count;
    case 17:
      return kAethBytes.count;
    default:
      EXPECT_EQ(opcode, 0x81);
      return kNotificationBytes.count;
  }
}

RoceCount count_roce(const std::string& file) {
  RoceCount count;
  double last = 0;
  for (const auto& row :
       read_capture(file, {"frame.len", "infiniband.bth.opcode", "ip.src", "ip.dst",
                           "ip.dsfield.ecn", "macc.opcode", "eth.src", "infiniband.bth.destqp",
                           "infiniband.bth.psn", "_ws.malformed.expert", "_ws.col.Info",
                           "ip.checksum.status", "frame.time_epoch", "udp.dstport"})) {
    EXPECT_THAT(row[9] + row[10], testing::Not(HasSubstr("alformed")));
    EXPECT_GE(std::stod(row[12]), last);
    last = std::stod(row[12]);
    // Preamble, FCS and gap are not captured.
    const std::int64_t on_wire = std::stoll(row[0]) + 24;
    if (!row[5].empty()) {
      EXPECT_EQ(row[5], "0x0101");
      EXPECT_EQ(on_wire, kPauseFrame.count);
      ++count.pauses[row[6]];
      continue;
    }
    EXPECT_EQ(row[11], "1") << "the checksum of IPv4";
    EXPECT_EQ(row[13], "4791");
    const int opcode = std::stoi(row[1]);
    count.payload += on_wire - kRoceOverhead.count - headers_beside(opcode);
    if (opcode == 0x81) ++count.notifications[row[2]];
    if (row[4] == "3") ++count.marked[row[2]];
    if (opcode < 17) count.sequences.add(row[3], row[7], std::stoll(row[8]));
  }
  return count;
}

TEST(Capture, OfRoceCountsWhatTheCountersSay) {
  if (!has_tshark()) GTEST_SKIP() << "tshark is not installed";
  const Captured captured = capture(kCongested, "node0.nic0,leaf0:1,leaf0:3");
  RoceCount nic = count_roce(captured.folder + "/node0.nic0.pcap");
  EXPECT_EQ(nic.payload, bytes_of(captured.result, "node0.nic0"));
  // Two channels, each with a peer before and one after; of data two queue pairs, of credits one.
  EXPECT_EQ(nic.sequences.queue_pairs(), 2U * 2 * (2 + 1));
  EXPECT_GT(nic.notifications["10.0.0.1"], 0);
  EXPECT_EQ(nic.notifications["10.0.0.1"], counter_of(captured.result, "node0.nic0", "cnp"));
  EXPECT_EQ(nic.pauses["02:00:00:00:00:00"],
            counter_of(captured.result, "node0.nic0", "pfc_pause_frames_sent"));
  nic.pauses.erase("02:00:00:00:00:00");
  ASSERT_EQ(nic.pauses.size(), 1U) << "all others are of the switch";
  EXPECT_GT(nic.pauses.begin()->second, 0);
  EXPECT_EQ(nic.pauses.begin()->second,
            counter_of(captured.result, "node0.nic0", "pfc_pause_frames"));
  // The port at the other end of the cable sees the same packets.
  EXPECT_EQ(fs::file_size(captured.folder + "/leaf0_1.pcap"),
            fs::file_size(captured.folder + "/node0.nic0.pcap"));
  // What the leaf sends up comes from its two nodes, unmarked until then.
  RoceCount up = count_roce(captured.folder + "/leaf0_3.pcap");
  const std::int64_t marked = up.marked["10.0.0.1"] + up.marked["10.0.1.1"];
  EXPECT_GT(marked, 0);
  EXPECT_EQ(marked, counter_of(captured.result, "leaf0:3", "ecn_marked"));
}

// Slices of 64 KiB by two queue pairs: of each, either has a write of its own, to its half of the
// slot.
TEST(Capture, OfWritesInPartsHasEachOfThem) {
  if (!has_tshark()) GTEST_SKIP() << "tshark is not installed";
  std::vector<std::string> arguments = kCongested;
  arguments.insert(arguments.end(), {"--set", "communication.split_over_queue_pairs=true"});
  const Captured captured = capture(arguments, "node0.nic0");
  const std::string file = captured.folder + "/node0.nic0.pcap";
  RoceCount nic = count_roce(file);
  EXPECT_EQ(nic.payload, bytes_of(captured.result, "node0.nic0"));
  EXPECT_EQ(nic.sequences.queue_pairs(), 2U * 2 * (2 + 1));
  std::map<std::uint64_t, int> begins;  // by place in the slot
  for (const auto& row : read_capture(file, {"infiniband.reth.dmalen", "infiniband.reth.va"})) {
    if (row[0].empty() || row[0] == "0") continue;
    EXPECT_EQ(row[0], std::to_string(32 << 10));
    ++begins[std::stoull(row[1], nullptr, 0) % (64 << 10)];
  }
  // 2 (n - 1) steps of four ranks, in each two chunks of four slices, which go and come.
  EXPECT_THAT(begins, testing::ElementsAre(std::pair(0, 6 * 2 * 4 * 2),
                                           std::pair(32 << 10, 6 * 2 * 4 * 2)));
}

TEST(Capture, OfInfinibandIsReadWithoutComplaint) {
  if (!has_tshark()) GTEST_SKIP() << "tshark is not installed";
  const Captured captured =
      capture({"predict", "quick", "--set", "workload.size=1MiB"}, "node1.nic3");
  const Rows rows = read_capture(
      captured.folder + "/node1.nic3.pcap",
      {"frame.len", "infiniband.bth.opcode", "infiniband.lrh.dlid", "infiniband.bth.destqp",
       "infiniband.bth.psn", "_ws.col.Info", "infiniband.lrh.pktlen"});
  std::int64_t payload = 0;
  SequenceCheck sequences;
  for (const auto& row : rows) {
    EXPECT_THAT(row[5], testing::Not(HasSubstr("alformed")));
    const std::int64_t length = std::stoll(row[0]);
    EXPECT_EQ(std::stoll(row[6]) * 4 + 2, length) << "VCRC is not in the packet's length";
    const int opcode = std::stoi(row[1]);
    EXPECT_THAT(opcode, testing::AnyOf(6, 7, 9, 11, 17));
    payload += length - kInfinibandOverhead.count - headers_beside(opcode);
    if (opcode < 17) sequences.add(row[2], row[3], std::stoll(row[4]));
  }
  EXPECT_GT(payload, 0);
  EXPECT_EQ(payload, bytes_of(captured.result, "node1.nic3"));
}

// With all that may stand around a packet, tshark still finds what is in it.
TEST(Capture, OfFurtherHeadersIsReadWithoutComplaint) {
  if (!has_tshark()) GTEST_SKIP() << "tshark is not installed";
  const struct {
    std::vector<std::string> network;
    Bytes overhead;
    const char* destination;
    std::vector<std::pair<std::string, std::string>> fields;
  } cases[] = {{{"cluster.network=roce", "cluster.network.vlan=true", "cluster.network.ip=v6"},
                kRoceOverhead + kVlanTag + kIpv6OverIpv4 - kNotCaptured,
                "ipv6.dst",
                {{"vlan.id", "100"}, {"vlan.priority", "3"}, {"udp.dstport", "4791"}}},
               {{"cluster.network=ndr", "cluster.network.grh=true"},
                kInfinibandOverhead + kGrhBytes,
                "infiniband.lrh.dlid",
                {{"infiniband.lrh.lnh", "0x03"},
                 {"infiniband.grh.ipver", "6"},
                 {"infiniband.grh.nxthdr", "27"}}}};
  for (const auto& c : cases) {
    std::vector<std::string> arguments{"predict", "quick", "--set", "workload.size=1MiB"};
    for (const std::string& setting : c.network) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    std::vector<std::string> fields{"frame.len",          "infiniband.bth.opcode",
                                    c.destination,        "infiniband.bth.destqp",
                                    "infiniband.bth.psn", "_ws.col.Info"};
    const std::size_t first = fields.size();
    for (const auto& [field, value] : c.fields) fields.push_back(field);
    const Captured captured = capture(arguments, "node1.nic3");
    std::int64_t payload = 0;
    SequenceCheck sequences;
    for (const auto& row : read_capture(captured.folder + "/node1.nic3.pcap", fields)) {
      EXPECT_THAT(row[5], testing::Not(HasSubstr("alformed")));
      const int opcode = std::stoi(row[1]);
      payload += std::stoll(row[0]) - c.overhead.count - headers_beside(opcode);
      if (opcode < 17) sequences.add(row[2], row[3], std::stoll(row[4]));
      for (std::size_t i = 0; i < c.fields.size(); ++i) {
        EXPECT_EQ(row[first + i], c.fields[i].second) << c.fields[i].first;
      }
    }
    EXPECT_GT(payload, 0) << c.network[0];
    EXPECT_EQ(payload, bytes_of(captured.result, "node1.nic3")) << c.network[0];
  }
}

TEST(Capture, KeepsAsManyAsAskedAndSaysWhatItLeftOut) {
  const std::string folder = temporary_file("captures");
  std::vector<std::string> arguments = kCongested;
  arguments.insert(arguments.end(), {"--progress", "off", "--pcap", folder, "--pcap-limit", "5",
                                     "--pcap-snap", "96"});
  const ProgramRun run = run_program(arguments);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("node0.nic0.pcap: 5 packets; "));
  EXPECT_THAT(run.err, HasSubstr("more are left out"));
  EXPECT_LE(fs::file_size(folder + "/node0.nic0.pcap"), 24U + 5 * (16 + 96));
}

TEST(Capture, RefusesWhatCannotBe) {
  const std::string folder = temporary_file("captures");
  const auto error_of = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--pcap", folder});
    const ProgramRun run = run_program(arguments);
    EXPECT_EQ(run.status, 2);
    EXPECT_FALSE(fs::exists(folder));
    return run.err;
  };
  EXPECT_THAT(error_of({"predict", "ideal-ring"}), HasSubstr("have no headers"));
  EXPECT_THAT(error_of({"predict", "quick", "--pcap-ports", "node0.nci0"}),
              HasSubstr("did you mean \"node0.nic0\"?"));
  EXPECT_THAT(error_of({"predict", "quick", "--set", "simulation.fidelity=analytic"}),
              HasSubstr("fidelity=packet"));
}

}  // namespace
}  // namespace gradhaul
