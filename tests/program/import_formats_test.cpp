// gradhaul import of what lstopo, nvidia-smi and NCCL's search for rings write. The files are
// written here, in their documented formats.

#include <gmock/gmock.h>

#include "tests/program/imported_nodes.h"
#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ProgramRun import_text(const std::string& kind, const std::string& text,
                       const std::vector<std::string>& more = {}) {
  const std::string file = temporary_file("imported.txt");
  write_text(file, text);
  std::vector<std::string> arguments = {"import", kind, file};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

// Of one package: a switch (a port up, two down) below a root port, with GPU and NIC; `nic_kind` is
// what this version calls OpenFabrics. Beside it what nobody counts: a display and a plain NIC.
std::string package(int number, const std::string& bus, const std::string& nic_kind) {
  return R"(
  <object type="Package" os_index=")" +
         std::to_string(number) + R"(">
   <info name="CPUVendor" value="GenuineIntel"/><info name="CPUFamilyNumber" value="6"/>
   <info name="CPUModelNumber" value="143"/>
   <object type="NUMANode" os_index="0"/>
   <object type="Bridge" bridge_type="0-1" depth="0" bridge_pci="0000:[)" +
         bus + R"(0-)" + bus + R"(f]">
    <object type="Bridge" bridge_type="1-1" pci_busid="0000:)" +
         bus + R"(0:01.0" pci_type="0604 [8086:352a] [0000:0000] 04" pci_link_speed="63.015385">
     <object type="Bridge" bridge_type="1-1" pci_busid="0000:)" +
         bus + R"(1:00.0" pci_type="0604 [1000:c030] [1000:0001] b0" pci_link_speed="63.015385">
      <object type="Bridge" bridge_type="1-1" pci_busid="0000:)" +
         bus + R"(2:00.0" pci_type="0604 [1000:c030] [1000:0001] b0" pci_link_speed="4.000000">
       <object type="PCIDev" pci_busid="0000:)" +
         bus + R"(3:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1" pci_link_speed="4.000000"/>
      </object>
      <object type="Bridge" bridge_type="1-1" pci_busid="0000:)" +
         bus + R"(2:01.0" pci_type="0604 [1000:c030] [1000:0001] b0" pci_link_speed="63.015385">
       <object type="PCIDev" pci_busid="0000:)" +
         bus + R"(4:00.0" pci_type="0207 [15b3:1021] [15b3:0041] 00" pci_link_speed="63.015385">
        <object type="OSDev" name="mlx5_)" +
         std::to_string(number) + R"(" osdev_type=")" + nic_kind + R"("/>
       </object>
      </object>
     </object>
    </object>
    <object type="Bridge" bridge_type="1-1" pci_busid="0000:)" +
         bus + R"(0:02.0" pci_type="0604 [8086:352b] [0000:0000] 04" pci_link_speed="0.985">
     <object type="PCIDev" pci_busid="0000:)" +
         bus + R"(5:00.0" pci_type="0300 [1a03:2000] [1a03:2000] 52" pci_link_speed="0.000000"/>
     <object type="PCIDev" pci_busid="0000:)" +
         bus + R"(6:00.0" pci_type="0200 [8086:1563] [8086:0000] 01" pci_link_speed="0.985">
      <object type="OSDev" name="eth0" osdev_type="2"/>
     </object>
    </object>
   </object>
  </object>)";
}

std::string machine(const std::string& version, const std::string& nic_kind,
                    const std::string& more = "") {
  return R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version=")" +
         version + R"(">
 <object type="Machine" os_index="0">)" +
         package(0, "1", nic_kind) + package(1, "9", nic_kind) + "\n </object>\n" + more +
         "</topology>\n";
}

TEST(ImportLstopo, MakesATreeOfPortsAndSwitches) {
  for (const auto& [version, kind] : {std::pair("2.0", "3"), std::pair("3.0", "48")}) {
    const ProgramRun run = import_text("lstopo", machine(version, kind));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out,
                AllOf(HasSubstr("sockets: 2"), HasSubstr("model: h100-sxm"),
                      HasSubstr("model: connectx-7"), HasSubstr("Sapphire Rapids"),
                      // 16 lanes of 32 Gb/s * 128/130.
                      HasSubstr("{switch: sw0, parent: socket0, link: gen5x16, devices: [gpu0, "
                                "nic0]}  # switch 0000:11:00.0, gpu0 is 0000:13:00.0"),
                      HasSubstr("{switch: sw1, parent: socket1, link: gen5x16, devices: [gpu1, "
                                "nic1]}")));
    // The plain NIC, and what shows the console.
    EXPECT_THAT(run.out, AllOf(Not(HasSubstr("15:00.0")), Not(HasSubstr("16:00.0"))));
    // 2.5 Gb/s * 8/10 on each of 16 lanes: the GPU slept.
    EXPECT_THAT(run.out, AllOf(HasSubstr("0000:13:00.0 had a link of gen1x16"),
                               HasSubstr("it tells of no NVSwitch"), Not(HasSubstr("nvlink:"))));
    expect_predicts(run.out);
  }
}

TEST(ImportLstopo, TakesNvlinkFromWhatHwlocMeasured) {
  const ProgramRun run =
      import_text("lstopo", machine("2.0", "3",
                                    " <distances2 nbobjs=\"2\" name=\"NVLinkBandwidth\" "
                                    "kind=\"9\" type=\"OSDev\" indexing=\"gp\"/>\n"));
  ASSERT_EQ(run.status, 0) << run.err;
  // H100: 18 links of 25 GB/s, of which NCCL takes 20.6.
  EXPECT_THAT(run.out, HasSubstr("nvlink: {kind: nvswitch, bandwidth: 450GB/s, efficiency: 0.824"));
  expect_predicts(run.out);
}

TEST(ImportLstopo, SaysWhatIsWrong) {
  const std::string whole = machine("2.0", "3");
  const ProgramRun cut = import_text("lstopo", whole.substr(0, whole.size() / 2));
  EXPECT_EQ(cut.status, 2);
  EXPECT_THAT(cut.err, HasSubstr("no XML"));
  EXPECT_THAT(import_text("lstopo", "<system/>").err, HasSubstr("no topology of hwloc"));
  // As lstopo writes it without being asked for devices.
  EXPECT_THAT(import_text("lstopo",
                          "<topology version='2.0'><object type='Machine'>"
                          "<object type='Package'/></object></topology>")
                  .err,
              HasSubstr("--whole-io"));
}

// Two sockets; at the first two GPUs and a NIC below one switch, and a NIC at another switch above
// the same port; at the second a GPU and a NIC that only share the host bridge.
constexpr const char* kMatrix =
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tNIC2\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tPIX\tSYS\tPIX\tPXB\tSYS\t0-31,64-95\t0\t\tN/A\n"
    "GPU1\tPIX\t X \tSYS\tPIX\tPXB\tSYS\t0-31,64-95\t0\t\tN/A\n"
    "GPU2\tSYS\tSYS\t X \tSYS\tSYS\tPHB\t32-63,96-127\t1\t\tN/A\n"
    "NIC0\tPIX\tPIX\tSYS\t X \tPXB\tSYS\t\t\t\t\n"
    "NIC1\tPXB\tPXB\tSYS\tPXB\t X \tSYS\t\t\t\t\n"
    "NIC2\tSYS\tSYS\tPHB\tSYS\tSYS\t X \t\t\t\t\n"
    "\n"
    "Legend:\n"
    "\n"
    "  X    = Self\n"
    "  PIX  = Connection traversing at most a single PCIe bridge\n"
    "\n"
    "NIC Legend:\n"
    "\n"
    "  NIC0: mlx5_0\n"
    "  NIC1: mlx5_1\n"
    "  NIC2: mlx5_bond_0\n";

TEST(ImportNvidiaSmi, BuildsTheSmallestTree) {
  const ProgramRun run = import_text("nvidia-smi", kMatrix, {"--gpu", "a100-sxm"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(
      run.out,
      AllOf(HasSubstr("sockets: 2"), HasSubstr("model: a100-sxm"),
            HasSubstr("{switch: sw0, parent: socket0, link: gen4x16}"),
            HasSubstr("{switch: sw1, parent: sw0, link: gen4x16, devices: [gpu0, gpu1, nic0]}"),
            HasSubstr("{switch: sw2, parent: sw0, link: gen4x16, devices: [nic1]}"),
            HasSubstr("{parent: socket1, devices: [gpu2]}"),
            HasSubstr("{parent: socket1, devices: [nic2]}  # nic2 is NIC2 (mlx5_bond_0)"),
            HasSubstr("assumed to be gen4x16"), Not(HasSubstr("nvlink:"))));
  expect_predicts(run.out);
}

// As people paste it: tabs have become blanks. GPUs hide behind NVLink how far they are.
TEST(ImportNvidiaSmi, PutsGpusOfNvswitchWhereTheirMemoryIs) {
  const ProgramRun run =
      import_text("nvidia-smi",
                  "$ nvidia-smi topo -m\r\n"
                  "        GPU0    GPU1    GPU2    mlx5_0  CPU Affinity    NUMA Affinity\r\n"
                  "GPU0     X      NV18    NV18    NODE    0-47            0\r\n"
                  "GPU1    NV18     X      NV18    NODE    0-47            0\r\n"
                  "GPU2    NV18    NV18     X      SYS     48-95           1\r\n"
                  "mlx5_0  NODE    NODE    SYS      X\r\n");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("model: h100-sxm"), HasSubstr("bandwidth: 450GB/s"),
                    HasSubstr("{parent: socket0, devices: [gpu0]}"),
                    HasSubstr("{parent: socket0, devices: [gpu1]}"),
                    HasSubstr("{parent: socket1, devices: [gpu2]}"),
                    HasSubstr("{parent: socket0, devices: [nic0]}"), HasSubstr("assumed")));
  expect_predicts(run.out);
}

TEST(ImportNvidiaSmi, SaysWhatIsWrong) {
  const std::string whole = kMatrix;
  const auto complaint = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    text.replace(text.find(from), from.size(), to);
    const ProgramRun run = import_text("nvidia-smi", text);
    EXPECT_EQ(run.status, 2) << run.out;
    return run.err;
  };
  // Cut off within a row, and between rows.
  EXPECT_THAT(import_text("nvidia-smi", whole.substr(0, whole.find("GPU2\tSYS") + 12)).err,
              HasSubstr("imported.txt:4:1: the row of GPU2 ends after 2 of 6 columns"));
  EXPECT_THAT(import_text("nvidia-smi", whole.substr(0, whole.find("NIC1\tPXB"))).err,
              HasSubstr("the row of NIC1 is missing"));
  EXPECT_THAT(import_text("nvidia-smi", whole.substr(whole.find("GPU0\t X"))).err,
              HasSubstr("the beginning is cut off"));
  EXPECT_THAT(complaint("GPU1\tPIX", "GPU1\tPI#"), HasSubstr("\"PI#\" between GPU1 and GPU0"));
  EXPECT_THAT(complaint("GPU1\tPIX", "GPU1\tPHB"), HasSubstr("the other way round"));
  EXPECT_THAT(complaint("NIC2\tSYS", "NIC1\tSYS"), HasSubstr("NIC1 has a second row"));
  EXPECT_THAT(import_text("nvidia-smi",
                          "GPU0 GPU1 GPU2\nGPU0 X PIX PIX\nGPU1 PIX X SYS\n"
                          "GPU2 PIX SYS X\n")
                  .err,
              HasSubstr("GPU2 to GPU1 is said to be SYS, and by way of other devices it is PIX"));
  EXPECT_THAT(import_text("nvidia-smi", "NVIDIA-SMI has failed\n").err,
              HasSubstr("no output of nvidia-smi topo -m"));
  EXPECT_THAT(import_text("nvidia-smi", whole, {"--gpu", "h100"}).err,
              HasSubstr("no such device is shipped"));
}

// Two channels of a node of four, which enter and leave by different NICs.
constexpr const char* kGraph = R"(<graphs version="1">
  <graph id="1" pattern="1" crossnic="0" nchannels="1"><channel><gpu dev="0x0"/></channel></graph>
  <graph id="0" pattern="4" crossnic="2" nchannels="2" speedintra="40" speedinter="20"
         typeintra="NVL" typeinter="PIX" samechannels="0">
    <channel>
      <net dev="0x0"/>
      <gpu dev="0x0" rank="4"/><gpu dev="0x1" rank="5"/><gpu dev="0x2" rank="6"/>
      <gpu dev="0x3" rank="7"/>
      <net dev="0x1"/>
    </channel>
    <channel>
      <net dev="0x1"/>
      <gpu dev="0x3" rank="7"/><gpu dev="0x2" rank="6"/><gpu dev="0x1" rank="5"/>
      <gpu dev="0x0" rank="4"/>
      <net dev="0x0"/>
    </channel>
  </graph>
</graphs>
)";

TEST(ImportNcclGraph, RunsTheSameRings) {
  const ProgramRun run = import_text("nccl-graph", kGraph, {"--nodes", "2"});
  ASSERT_EQ(run.status, 0) << run.err;
  // The other node has its channels exchanged, so that each hop stays on its rail.
  EXPECT_THAT(run.out, AllOf(HasSubstr("channels: 2"), HasSubstr("- [0, 1, 2, 3, 7, 6, 5, 4]"),
                             HasSubstr("- [3, 2, 1, 0, 4, 5, 6, 7]"),
                             HasSubstr("40 GB/s a channel within the node, 20 between nodes"),
                             HasSubstr("nets by channel: 0-1, 1-0")));
  const std::string scenario = temporary_file("rings.yaml");
  write_text(scenario,
             "scenario: rings\nworkload: {collective: all_reduce, size: 1MiB, datatype: fp32}\n"
             "cluster: {nodes: 2, node: hgx-h100, network: ndr, ranks_per_node: 4}\n" +
                 run.out);
  const std::string json = temporary_file("rings.json");
  const ProgramRun predicted = run_program({"predict", scenario, "--json", json});
  ASSERT_EQ(predicted.status, 0) << predicted.err;
  std::string result = text_of(json);
  std::erase_if(result, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_THAT(result, HasSubstr("\"rings\":[[0,1,2,3,7,6,5,4],[3,2,1,0,4,5,6,7]]"));
}

// Old dumps: decimal numbers, no ranks; one node, which rings don't leave.
TEST(ImportNcclGraph, ReadsOldDumps) {
  const ProgramRun run =
      import_text("nccl-graph",
                  "<graphs version=\"1\"><graph id=\"0\" pattern=\"4\" nchannels=\"1\">"
                  "<channel><gpu dev=\"2\"/><gpu dev=\"0\"/><gpu dev=\"1\"/></channel></graph>"
                  "</graphs>");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("for 1 node of 3 GPUs"), HasSubstr("- [2, 0, 1]")));
}

TEST(ImportNcclGraph, SaysWhatIsWrong) {
  const std::string whole = kGraph;
  const auto complaint = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    text.replace(text.find(from), from.size(), to);
    const ProgramRun run = import_text("nccl-graph", text, {"--nodes", "2"});
    EXPECT_EQ(run.status, 2) << run.out;
    return run.err;
  };
  EXPECT_THAT(import_text("nccl-graph", whole.substr(0, 600), {"--nodes", "2"}).err,
              HasSubstr("no XML"));
  EXPECT_THAT(import_text("nccl-graph", whole).err, HasSubstr("--nodes says how many"));
  EXPECT_THAT(import_text("nccl-graph", "<system/>").err, HasSubstr("no graphs of NCCL"));
  EXPECT_THAT(complaint("id=\"0\"", "id=\"3\""), HasSubstr("no ring"));
  EXPECT_THAT(complaint("rank=\"6\"", "rank=\"5\""),
              HasSubstr("imported.txt:5:1: the GPUs of a node are ranks that follow each other"));
  EXPECT_THAT(complaint("<gpu dev=\"0x3\" rank=\"7\"/><gpu", "<gpu"),
              HasSubstr("imported.txt:11:1: it visits other GPUs than the first channel"));
  EXPECT_THAT(complaint("<net dev=\"0x1\"/>", ""), HasSubstr("leaves it by one"));
  EXPECT_THAT(complaint("nchannels=\"2\"", "nchannels=\"3\""),
              HasSubstr("nchannels is 3, and 2 are here"));
  EXPECT_THAT(complaint("<net dev=\"0x0\"/>", "<net dev=\"?\"/>"), HasSubstr("has a number"));
}

TEST(Import, KnowsItsKinds) {
  const ProgramRun run = import_text("hwloc", "");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("nccl-topology, nccl-graph, lstopo, nvidia-smi"));
  EXPECT_EQ(import_text("lstopo", machine("2.0", "3"), {"--nodes", "2"}).status, 2);
}

}  // namespace
}  // namespace gradhaul
