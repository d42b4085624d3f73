// Files of other tools, algorithms, programs and journals with random damage: whatever the damage,
// the answer is what they say or a list of problems; never a crash, never another exception, and
// never more than the text could hold.

#include <gmock/gmock.h>

#include "scenarios/goal_reader.h"
#include "scenarios/hwloc_reader.h"
#include "scenarios/msccl_reader.h"
#include "scenarios/nccl_graph_reader.h"
#include "scenarios/nccl_topology_reader.h"
#include "scenarios/node_draft_text.h"
#include "scenarios/nvidia_topology_reader.h"
#include "scenarios/sweep_journal.h"
#include "tests/core/listed_examples.h"
#include "tests/damaged_text.h"
#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

const std::vector<std::string> kXmlScraps{"<",
                                          ">",
                                          "/>",
                                          "\"",
                                          "=",
                                          "&",
                                          "&#0;",
                                          "<!--",
                                          "-->",
                                          "<![CDATA[",
                                          "<pci class=\"0x060400\">",
                                          "<object type=\"Bridge\">",
                                          "<gpu dev=\"0x0\"/>",
                                          "<channel>",
                                          "0xffffffffffffffffff",
                                          "-1",
                                          "99999999999999999999",
                                          "1e308",
                                          "nan",
                                          "\xff",
                                          "</cpu>",
                                          "</object>",
                                          "<object type=\"Package\"/>",
                                          "0302 [10de:2330]",
                                          "0604",
                                          "\n"};

IdentifiedDevice nobody(int /*vendor*/, int /*device*/) { return {}; }

// What was read is written out as a program would; else there are problems, each with its place.
template <typename Read>
bool is_survived(const std::string& whole, const std::vector<std::string>& scraps,
                 std::uint64_t seed, const Read& read) {
  SCOPED_TRACE(seed);
  const std::string text = damaged_text(whole, scraps, seed);
  Problems problems;
  bool good = false;
  EXPECT_NO_THROW(good = read(text, problems)) << text;
  EXPECT_NE(good, !problems.empty()) << text;
  for (const Problem& problem : problems.sorted()) EXPECT_LT(problem.text().size(), 4000U);
  return !testing::Test::HasFailure();
}

bool is_node(const std::optional<NodeDraft>& draft) {
  if (!draft) return false;
  EXPECT_LT(node_draft_text(*draft, "file", "import").size(), std::size_t{1} << 20);
  return true;
}

TEST(ImportFuzz, DamagedTopologiesOfNcclAreReported) {
  const std::string whole =
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" "
      "familyid=\"6\" modelid=\"143\"><pci busid=\"0000:10:00.0\" class=\"0x060400\" "
      "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><pci busid=\"0000:12:00.0\" "
      "class=\"0x030200\" vendor=\"0x10de\" device=\"0x2330\" link_speed=\"32.0 GT/s PCIe\" "
      "link_width=\"16\"><gpu dev=\"0\" sm=\"90\" rank=\"0\" gdr=\"1\"><nvlink "
      "target=\"0000:60:00.0\" count=\"18\" tclass=\"0x068000\"/></gpu></pci><pci "
      "busid=\"0000:14:00.0\" class=\"0x020700\" vendor=\"0x15b3\" device=\"0x1021\" "
      "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><nic><net name=\"mlx5_1\" dev=\"1\" "
      "speed=\"400000\"/></nic></pci></pci></cpu></system>";
  for_seeds(3000, [&](std::uint64_t seed) {
    return is_survived(whole, kXmlScraps, seed, [](const std::string& text, Problems& problems) {
      return is_node(read_nccl_topology(text, "file", nobody, problems));
    });
  });
}

TEST(ImportFuzz, DamagedTopologiesOfHwlocAreReported) {
  const std::string whole =
      "<topology version=\"2.0\"><object type=\"Machine\"><object type=\"Package\"><info "
      "name=\"CPUVendor\" value=\"GenuineIntel\"/><object type=\"Bridge\" "
      "bridge_type=\"0-1\"><object "
      "type=\"Bridge\" bridge_type=\"1-1\" pci_busid=\"0000:10:01.0\" pci_type=\"0604 "
      "[8086:352a]\" "
      "pci_link_speed=\"63.015385\"><object type=\"PCIDev\" pci_busid=\"0000:13:00.0\" "
      "pci_type=\"0302 [10de:2330] [10de:16c1] a1\" pci_link_speed=\"4.0\"/><object "
      "type=\"PCIDev\" pci_busid=\"0000:14:00.0\" pci_type=\"0207 [15b3:1021] [15b3:0041] 00\" "
      "pci_link_speed=\"63.0\"><object type=\"OSDev\" name=\"mlx5_0\" osdev_type=\"3\"/></object>"
      "</object></object></object></object><distances2 name=\"NVLinkBandwidth\"/></topology>";
  for_seeds(3000, [&](std::uint64_t seed) {
    return is_survived(whole, kXmlScraps, seed, [](const std::string& text, Problems& problems) {
      return is_node(read_hwloc(text, "file", nobody, problems));
    });
  });
}

TEST(ImportFuzz, DamagedMatricesAreReported) {
  const std::string whole =
      "\tGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\n"
      "GPU0\t X \tNV18\tNV18\tPIX\tSYS\t0-31\t0\nGPU1\tNV18\t X \tNV18\tPXB\tSYS\t0-31\t0\n"
      "GPU2\tNV18\tNV18\t X \tSYS\tPHB\t32-63\t1\nNIC0\tPIX\tPXB\tSYS\t X \tSYS\n"
      "NIC1\tSYS\tSYS\tPHB\tSYS\t X \n\nNIC Legend:\n  NIC0: mlx5_0\n";
  const std::vector<std::string> scraps{
      "GPU0", "GPU99",          "NIC0", " X ", "PIX", "PXB", "PHB", "NODE",    "SYS",   "NV18",
      "NV0",  "NV999999999999", "\t",   "\n",  "N/A", "CPU", ":",   "\x1b[4m", "GPU-1", "\xff"};
  for_seeds(3000, [&](std::uint64_t seed) {
    return is_survived(whole, scraps, seed, [](const std::string& text, Problems& problems) {
      return is_node(read_nvidia_topology(text, "file", problems));
    });
  });
}

TEST(ImportFuzz, DamagedGraphsAreReported) {
  const std::string whole =
      "<graphs version=\"1\"><graph id=\"0\" pattern=\"4\" crossnic=\"2\" nchannels=\"2\" "
      "speedintra=\"40\" speedinter=\"20\"><channel><net dev=\"0x0\"/><gpu dev=\"0x0\" "
      "rank=\"4\"/><gpu dev=\"0x1\" rank=\"5\"/><net dev=\"0x1\"/></channel><channel><net "
      "dev=\"0x1\"/><gpu dev=\"0x1\" rank=\"5\"/><gpu dev=\"0x0\" rank=\"4\"/><net "
      "dev=\"0x0\"/></channel></graph></graphs>";
  for_seeds(3000, [&](std::uint64_t seed) {
    return is_survived(whole, kXmlScraps, seed, [](const std::string& text, Problems& problems) {
      const auto rings = read_nccl_graph(text, "file", problems);
      if (rings) {
        EXPECT_FALSE(nccl_rings_text(*rings, 2, "file").empty());
      }
      return rings.has_value();
    });
  });
}

TEST(ImportFuzz, DamagedAlgorithmsAreReported) {
  const std::string whole = listed::msccl_text(listed::ring_all_reduce(3, 2));
  for_seeds(3000, [&](std::uint64_t seed) {
    return is_survived(whole, kXmlScraps, seed, [](const std::string& text, Problems& problems) {
      return read_msccl(text, "file", problems).has_value();
    });
  });
}

TEST(ImportFuzz, DamagedProgramsAreReported) {
  const std::string whole =
      "num_ranks 2\n\nrank 0 {\nl1: calc 100 cpu 0\nl2: send 8b to 1 tag 3\nl2 requires l1\n"
      "l3: recv 16b from 1\nl3 irequires l2\n}\n\nrank 1 {\na: recv 8b from 0 tag 3\nb: send 16b "
      "to 0\nb requires a\n}\n";
  const std::vector<std::string> scraps{"rank 0 {",
                                        "}",
                                        "l1",
                                        ":",
                                        "send",
                                        "recv",
                                        "calc",
                                        "8b",
                                        "to",
                                        "tag",
                                        "-1",
                                        "99999999999999999999",
                                        "requires",
                                        "cpu",
                                        "/*",
                                        "*/",
                                        "//",
                                        "\n",
                                        "num_ranks 999999999"};
  for_seeds(3000, [&](std::uint64_t seed) {
    return is_survived(whole, scraps, seed, [](const std::string& text, Problems& problems) {
      return read_goal(text, "file", problems).has_value();
    });
  });
}

TEST(ImportFuzz, DamagedJournalsAreReadOrRefused) {
  const std::string path = temporary_file("journal");
  std::remove(path.c_str());
  {
    SweepJournal journal(path);
    for (const char* key : {"one", "two", "three"}) journal.append(key, "{\"time_us\": 1}");
  }
  const std::string whole = text_of(path);
  for_seeds(1000, [&](std::uint64_t seed) {
    SCOPED_TRACE(seed);
    write_text(path, damaged_text(whole, {"\n", " ", "{", "}", "\xff", "one "}, seed));
    try {
      const SweepJournal journal(path);
      EXPECT_LT(journal.kept().size(), 1000U);
    } catch (const std::runtime_error& error) {
      EXPECT_NE(*error.what(), 0);
    }
    return !testing::Test::HasFailure();
  });
}

}  // namespace
}  // namespace gradhaul
