// gradhaul import.

#include <gmock/gmock.h>

#include "tests/program/imported_nodes.h"
#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Two sockets with a switch each; NVSwitch; NICs numbered the other way round than by bus.
constexpr const char* kDump = R"(<system version="1">
  <cpu host_hash="0x1a2b" numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:10:00.0" class="0x060400" vendor="0x1000" device="0xc030"
         link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:12:00.0" class="0x030200" vendor="0x10de" device="0x2330"
           link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:60:00.0" count="18" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:14:00.0" class="0x020700" vendor="0x15b3" device="0x1021"
           link_speed="32.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_1" dev="1" speed="400000" port="1" guid="0x1" gdr="1"/></nic>
      </pci>
    </pci>
    <pci busid="0000:20:00.0" class="0x060400" link_speed="8.0 GT/s PCIe" link_width="4">
      <pci busid="0000:21:00.0" class="0x010802" link_speed="8.0 GT/s PCIe" link_width="4"/>
    </pci>
  </cpu>
  <cpu host_hash="0x1a2b" numaid="1" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:90:00.0" class="0x060400" vendor="0x1000" device="0xc030"
         link_speed="16.0 GT/s PCIe" link_width="8">
      <pci busid="0000:92:00.0" class="0x030200" vendor="0x10de" device="0x2330"
           link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" rank="1" gdr="1">
          <nvlink target="0000:60:00.0" count="18" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:94:00.0" class="0x020700" vendor="0x15b3" device="0x1021"
           link_speed="32.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x2" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
</system>)";

ProgramRun import_text(const std::string& text) {
  const std::string file = temporary_file("topology.xml");
  write_text(file, text);
  return run_program({"import", "nccl-topology", file});
}

TEST(Import, ReadsWhatNcclDumps) {
  const ProgramRun run = import_text(kDump);
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(
      run.out,
      AllOf(HasSubstr("sockets: 2"), HasSubstr("model: h100-sxm"), HasSubstr("model: connectx-7"),
            HasSubstr("Sapphire Rapids"),
            HasSubstr("{switch: sw0, parent: socket0, link: gen5x16, devices: [gpu0, nic1]}"),
            HasSubstr("parent: socket1, link: gen4x8, devices: [gpu1, nic0]}")));
  // 18 links of 25 GB/s, of which NCCL takes 20.6: 0.824.
  EXPECT_THAT(run.out, HasSubstr("bandwidth: 450GB/s, efficiency: 0.824"));
  // A switch with a disk below it is in nobody's way.
  EXPECT_THAT(run.out, Not(HasSubstr("gen3x4")));
  expect_predicts(run.out);
}

// As clouds ship them: classes alone; 2 of each at a socket without any switch.
TEST(Import, TellsDevicesByTheirClassWhereThatIsAllThereIs) {
  const ProgramRun run = import_text(
      "<system version='1'><cpu numaid='0'>"
      "<pci busid='0002:00:00.0' class='0x030200' link_speed='16 GT/s' link_width='16'/>"
      "<pci busid='0001:00:00.0' class='0x030200' link_speed='16 GT/s' link_width='16'/>"
      "<pci busid='0101:00:00.0' class='0x020700' link_speed='' link_width='0'/>"
      "</cpu></system>");
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("count: 2"), HasSubstr("devices: [gpu1]}  # 0002:00:00.0"),
                             // As NCCL takes what it is not told.
                             HasSubstr("link: gen3x16, devices: [nic0]"), HasSubstr("NVLink")));
  expect_predicts(run.out);
}

TEST(Import, SaysWhatIsWrong) {
  const ProgramRun broken = import_text("<system>\n<cpu>");
  EXPECT_EQ(broken.status, 2);
  EXPECT_THAT(broken.err, HasSubstr("topology.xml:2:1: no XML"));
  EXPECT_THAT(import_text("<graphs/>").err, HasSubstr("no topology of NCCL"));
  EXPECT_THAT(import_text("<system><cpu/></system>").err, HasSubstr("it has no GPU"));
  EXPECT_EQ(run_program({"import", "nccl-topology", "/no/such.xml"}).status, 2);
}

}  // namespace
}  // namespace gradhaul
