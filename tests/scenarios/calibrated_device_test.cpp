// What a calibration becomes: values of devices, and files that read back as the same.

#include "scenarios/calibrated_device.h"

#include <gmock/gmock.h>

#include "tests/scenarios/reading.h"

namespace gradhaul {
namespace {

using namespace literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

CalibrationSample sample(CalibrationKind kind, Bytes size, Duration median, Duration low,
                         Duration high, int depth = 1) {
  return {.kind = kind,
          .size = size,
          .depth = depth,
          .median = median,
          .low = low,
          .high = high,
          .repetitions = 20};
}

// 8 B take 4 us one way; eight of them at a time come every 2 us, and 1 MiB every 1048.576 us,
// which is 1 GB/s; 1 MiB is added up in 524.288 us and 2 MiB are copied in 1048.576 us, both 2
// GB/s; 16 us and 250 ns a page register memory; a slice of a ring takes 12 us.
Calibration known() {
  using enum CalibrationKind;
  Calibration found;
  found.samples = {
      sample(kLatency, {8}, 4_us, 3_us, 5_us),
      sample(kLatency, {1 << 20}, 1052_us, 1052_us, 1052_us),
      sample(kBandwidth, {8}, 2_us, 1_us, 4_us, 8),
      sample(kBandwidth, {1 << 20}, {1'048'576'000}, {524'288'000}, {2'097'152'000}, 8),
      sample(kReduce, {1 << 20}, {524'288'000}, {524'288'000}, {524'288'000}),
      sample(kCopy, {2 << 20}, {1'048'576'000}, {1'048'576'000}, {1'048'576'000}),
      sample(kStep, {8}, 12_us, 9_us, 18_us),
      sample(kRegistration, {4096}, {16'250'000}, {16'250'000}, {16'250'000}),
      sample(kRegistration, {1 << 20}, {80'000'000}, {80'000'000}, {80'000'000}),
  };
  return found;
}

// What a slice of a ring takes where nothing but a thread's turns does: one is posted, one is done,
// and one has come.
Duration three_turns(Duration step) { return step * 3; }

const CalibrationOrigin kOrigin{"0.1.0", "2026-12-01 19:00 UTC", "node7\n", "tcp", {}};

TEST(CalibratedDevice, HasWhatWasMeasuredOfANic) {
  const CalibratedDevice nic = calibrated_nic(known());
  const NicModel model = nic_model_of(nic);
  EXPECT_EQ(model.rate, 8_Gbps);
  EXPECT_EQ(model.message_rate, 500'000);
  // Both together the 4 us.
  EXPECT_EQ(model.transmit_latency, 2_us);
  EXPECT_EQ(model.receive_latency, 2_us);
  EXPECT_EQ(model.doorbell, Duration{});
  ASSERT_EQ(nic.values.size(), 4U);
  EXPECT_EQ(nic.values[0].low, (4_Gbps).bits_per_second);
  EXPECT_EQ(nic.values[0].high, (16_Gbps).bits_per_second);
  EXPECT_EQ(nic.values[1].low, 250'000);
  EXPECT_EQ(nic.values[1].high, 1'000'000);
  EXPECT_EQ(nic.values[2].low, (1500_ns).ps);
  EXPECT_EQ(nic.values[2].high, (2500_ns).ps);
}

TEST(CalibratedDevice, LeavesOutWhatWasNotMeasured) {
  Calibration found = known();
  std::erase_if(found.samples, [](const CalibrationSample& s) { return s.size < 4096_B; });
  const std::string text = device_file_text(calibrated_nic(found), kOrigin);
  EXPECT_THAT(text, HasSubstr("\nrate: 8Gb/s\n"));
  EXPECT_THAT(text, Not(HasSubstr("message_rate")));
  EXPECT_THAT(text, Not(HasSubstr("latency")));
  EXPECT_TRUE(calibrated_nic({}).values.empty());
  EXPECT_TRUE(calibrated_gpu({}).values.empty());
  EXPECT_TRUE(calibrated_registration({}).empty());
  EXPECT_FALSE(calibrated_thread_step({}, three_turns));
}

// A copy reads and writes each byte.
TEST(CalibratedDevice, HasWhatWasMeasuredOfMemory) {
  const GpuModel model = gpu_model_of(calibrated_gpu(known()));
  EXPECT_EQ(model.reduce_bandwidth, 16_Gbps);
  EXPECT_EQ(model.memory_bandwidth, 32_Gbps);
}

// 255 pages more take 63.75 us more.
TEST(CalibratedDevice, TakesRegistrationApart) {
  const auto values = calibrated_registration(known());
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].key, "registration_base");
  EXPECT_EQ(values[0].value, (16_us).ps);
  EXPECT_EQ(values[1].key, "registration_page");
  EXPECT_EQ(values[1].value, (250_ns).ps);
}

TEST(CalibratedDevice, HasWhatAThreadAddsToEachSlice) {
  const auto step = calibrated_thread_step(known(), three_turns);
  ASSERT_TRUE(step);
  EXPECT_EQ(step->key, "thread_step");
  // To a ten-thousandth, and then to four digits.
  EXPECT_NEAR(static_cast<double>(step->value), 4e6, 1e3);
  EXPECT_NEAR(static_cast<double>(step->low), 3e6, 1e3);
  EXPECT_NEAR(static_cast<double>(step->high), 6e6, 1e3);
  // Where the devices alone take 6 us of it, each of three turns has 2.
  const auto rest = calibrated_thread_step(known(), [](Duration s) { return 6_us + s * 3; });
  ASSERT_TRUE(rest);
  EXPECT_NEAR(static_cast<double>(rest->value), 2e6, 1e3);
  // Where they take as long, nothing is left for threads.
  EXPECT_FALSE(calibrated_thread_step(known(), [](Duration s) { return 12_us + s * 3; }));
}

TEST(CalibratedDevice, SaysWhoAddedUpAndCopied) {
  const auto text = [](bool gpu) {
    return device_file_text(calibrated_gpu(known(), gpu), kOrigin);
  };
  EXPECT_THAT(text(false), HasSubstr("added up by one thread"));
  EXPECT_THAT(text(true), AllOf(HasSubstr("added up by the GPU"), HasSubstr("2MiB by the GPU"),
                                Not(HasSubstr("thread"))));
}

TEST(CalibratedScenario, ReadsBackAsWhatWasMeasured) {
  CalibratedCluster calibrated;
  calibrated.name = "mine";
  calibrated.nodes = 4;
  calibrated.nic = calibrated_nic(known());
  calibrated.gpu = calibrated_gpu(known());
  calibrated.communication = calibrated_registration(known());
  calibrated.communication.push_back(*calibrated_thread_step(known(), three_turns));
  const std::string path = temporary_file("mine.yaml");
  write_text(path, calibrated_scenario_text(calibrated, kOrigin));
  const Scenario scenario = read_scenario({path, {}, GRADHAUL_SCENARIOS});
  EXPECT_EQ(scenario.cluster.nodes, 4);
  EXPECT_EQ(scenario.cluster.network.link, 8_Gbps);
  EXPECT_EQ(scenario.cluster.node.nic.rate, 8_Gbps);
  EXPECT_EQ(scenario.cluster.node.nic.message_rate, 500'000);
  EXPECT_EQ(scenario.cluster.node.nic.transmit_latency, 2_us);
  EXPECT_EQ(scenario.cluster.node.gpu.reduce_bandwidth, 16_Gbps);
  EXPECT_EQ(scenario.cluster.node.gpu.memory_bandwidth, 32_Gbps);
  EXPECT_NEAR(static_cast<double>(scenario.communication.thread_step.ps), 4e6, 1e3);
  EXPECT_EQ(scenario.communication.registration, (RegistrationCosts{4096_B, 16_us, 250_ns}));
  // 1 MiB are 256 pages: 16 us and 64 us, for whoever asks for it.
  EXPECT_EQ(scenario.communication.registering, Registering::kOnce);
  const Scenario each =
      read_scenario({path, {"communication.registration=per_transfer"}, GRADHAUL_SCENARIOS});
  EXPECT_EQ(each.communication.registering, Registering::kPerTransfer);
  EXPECT_EQ(registration_time(each.communication.registration, 1_MiB), 80_us);
}

TEST(CalibratedDevice, TellsANicsUserHowRegistrationIsSet) {
  std::vector<CalibratedValue> values = calibrated_registration(known());
  values.push_back(*calibrated_thread_step(known(), three_turns));
  EXPECT_THAT(communication_comment(values),
              AllOf(HasSubstr("# --set communication.registration_base=16us (from 16us to 16us)"),
                    HasSubstr("in pages of 4KiB; median of 20\n"), Not(HasSubstr("thread_step"))));
}

}  // namespace
}  // namespace gradhaul
