// gradhaul explain from end to end: gains against closed forms, the commands it shows, and how it
// ends.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/program/run_program.h"

namespace gradhaul {
namespace {

using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

using Arguments = std::vector<std::string>;

// Two servers whose GPU and NIC cost nothing of their own; `pcie` and the network say what does.
std::string two_servers(const std::string& pcie, const std::string& network) {
  const bool none = pcie == "none";
  return "workload: {collective: send_recv, size: 64MiB}\n"
         "communication: {channels: 1}\n"
         "cluster:\n"
         "  nodes: 2\n"
         "  node:\n"
         "    gpus: {count: 1, model: {kind: gpu, pcie: " +
         pcie + "}}\n" + "    nics: {count: 1, model: {kind: nic, pcie: " + pcie +
         ", rate: 3200Gb/s, " + "transmit_buffer: 1MiB}}\n" +
         (none ? ""
               : "    pcie: [{switch: sw0, parent: socket0, link: gen5x16, "
                 "devices: [gpu0, nic0]}]\n") +
         "  network: " + network + "\n";
}
constexpr const char* kCable =
    "{kind: infiniband, link: 400Gb/s, topology: {kind: back_to_back}, "
    "switch: {vl_buffer: unlimited}, credit_return: 0ns}";

Json json_of(Arguments arguments, int status = 0) {
  const std::string file = temporary_file("explanation.json");
  arguments.insert(arguments.begin(), "explain");
  arguments.insert(arguments.end(), {"--json", file, "--progress", "off"});
  const ProgramRun run = run_program(arguments);
  EXPECT_EQ(run.status, status) << run.err;
  return Json::parse(text_of(file));
}

Json of_text(const std::string& scenario, const Arguments& more = {}) {
  const std::string file = temporary_file("scenario.yaml");
  write_text(file, scenario);
  Arguments arguments{file};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return json_of(arguments);
}

// The what-if whose words hold `change`.
Json what_if(const Json& explanation, const std::string& change) {
  for (const Json& what : explanation["what_ifs"]) {
    if (what["change"].get<std::string>().find(change) != std::string::npos) return what;
  }
  ADD_FAILURE() << "no \"" << change << "\" in " << explanation["what_ifs"].dump(1);
  return {{"time_us", 0.0}, {"command", ""}};
}

double time_of(const Json& json) { return json["time_us"].get<double>(); }

double part_us(const Json& explanation, const std::string& cause) {
  double sum = 0;
  for (const Json& part : explanation["parts"]) {
    if (part["cause"] == cause) sum += time_of(part);
  }
  return sum;
}

// 62 steps of 1 us and 32 KiB over 50 GB/s: of the two, a link twice as fast halves the second.
TEST(Explain, TwiceTheLinkHalvesTheBandwidthPartExactly) {
  const Json json = json_of({"ideal-ring", "--set", "workload.size=1MiB"});
  const double moving = 62 * 32768 / 50e3;
  EXPECT_NEAR(time_of(json["run"]), 62 + moving, 1e-5);
  EXPECT_NEAR(part_us(json, "latency"), 62, 1e-6);
  EXPECT_NEAR(part_us(json, "busy"), moving, 1e-5);
  EXPECT_NEAR(time_of(what_if(json, "network links of 800Gb/s")), 62 + moving / 2, 1e-4);
  // The switch's microsecond is all of the latency.
  EXPECT_NEAR(time_of(what_if(json, "switches that forward in half")), 31 + moving, 1e-4);
}

// The first thing to know of a faulty cluster is what a healthy one gives: a ring in the ideal
// world with one link at half its rate, 62 steps of which half the bytes of a chunk take as long
// again.
TEST(Explain, MendingTheFaultsComesFirst) {
  const std::string fault = "cluster.faults=[{link: node3.nic0, speed: 200Gb/s}]";
  const Json json = json_of({"ideal-ring", "--set", "workload.size=1MiB", "--set", fault});
  EXPECT_THAT(json["what_ifs"][0]["change"].get<std::string>(), HasSubstr("nothing wrong"));
  EXPECT_NEAR(time_of(json["what_ifs"][0]), 62 + 62 * 32768 / 50e3, 1e-5);
  EXPECT_THAT(json["what_ifs"][0]["command"].get<std::string>(), HasSubstr("cluster.faults=[]"));
  EXPECT_GT(time_of(json["run"]), 62 + 62 * 32768 / 50e3);
}

// 512 KiB travel as 128 packets with 26 bytes each, 20 more in all; the other way as much, with 46
// bytes for the slot and 30 for each acknowledgement.
TEST(Explain, AWireTwiceAsFastTakesHalfAsLong) {
  const Json json = of_text(two_servers("none", kCable));
  const double slice = 524288 + 128 * 26 + 20 + 46 + 2 * 30;
  const double us = 128 * slice / 50e3;
  EXPECT_NEAR(time_of(json["run"]), us, 0.004 * us);
  EXPECT_EQ(json["run"]["limited_by"], "node0.nic0 (2 equal)");
  const Json faster = what_if(json, "network links of 800Gb/s");
  EXPECT_NEAR(time_of(faster), us / 2, 0.004 * us);
  EXPECT_NEAR(faster["times_as_fast"].get<double>(), 2, 0.02);
  EXPECT_THAT(json["text"].get<std::string>(), HasSubstr("leave 49.7 GB/s of that for data"));
}

// A PCIe 3 link carries for each 256 bytes written 24 of headers, and for each 4096 read a request
// of 24: 8 GT/s x 16 x 128/130 x 0.97. The next generation has twice the rate.
TEST(Explain, PcieOfTheNextGenerationTakesHalfAsLong) {
  const Json json = of_text(two_servers("gen3x16", kCable));
  const double bytes_per_us = 8e3 * 16 * 128 / 130 * 0.97 / 8;
  const double us = 67108864 * (280 / 256.0 + 24 / 4096.0) / bytes_per_us;
  EXPECT_NEAR(time_of(json["run"]), us, 0.005 * us);
  EXPECT_THAT(json["run"]["limited_by"].get<std::string>(), HasSubstr(".pcie"));
  const Json next = what_if(json, "PCIe links of GPUs and NICs of gen4x16 instead of gen3x16");
  EXPECT_NEAR(time_of(next), us / 2, 0.005 * us);
  // Packets of 512 bytes have half the headers.
  const double larger = 67108864 * (536 / 512.0 + 24 / 4096.0) / bytes_per_us;
  EXPECT_NEAR(time_of(what_if(json, "PCIe packets of 512B")), larger, 0.005 * us);
}

// Staged, a PCIe 3 uplink brings data down twice, in completions of 64 bytes with 20 each. Directly
// it carries none, and the devices' links take what they do above.
TEST(Explain, GpuDirectIsTheFirstThingThatStagingAsksFor) {
  std::string scenario = two_servers("gen3x16", kCable);
  scenario.replace(scenario.find("gen5x16"), 7, "gen3x16");
  const Json json = of_text(scenario, {"--set", "communication.gpudirect=off", "--top", "1"});
  const double bytes_per_us = 8e3 * 16 * 128 / 130 * 0.97 / 8;
  const double staged = 2 * 67108864 * (84 / 64.0) / bytes_per_us;
  EXPECT_NEAR(time_of(json["run"]), staged, 0.02 * staged);
  const Json first = json["what_ifs"][0];
  EXPECT_THAT(first["change"].get<std::string>(), HasSubstr("GPUDirect on"));
  EXPECT_THAT(first["command"].get<std::string>(), HasSubstr("communication.gpudirect=on"));
  const double direct = 67108864 * (280 / 256.0 + 24 / 4096.0) / bytes_per_us;
  EXPECT_NEAR(time_of(first), direct, 0.005 * direct);
}

// Of a message, four words cross the link between the sockets at its sender and two at its
// receiver: the remedy takes away what that takes on the path, and no more.
TEST(Explain, ThreadsAtTheWrongSocketAreToldOf) {
  const std::vector<std::string> far{"quick",
                                     "--set",
                                     "workload={collective: broadcast, size: 8B}",
                                     "--set",
                                     "communication={channels: 1, thread_placement: other_socket}",
                                     "--top",
                                     "1"};
  const Json json = json_of(far);
  const Json first = json["what_ifs"][0];
  EXPECT_EQ(first["change"], "communication threads at the sockets of the GPUs they serve");
  EXPECT_THAT(first["command"].get<std::string>(),
              HasSubstr("communication.thread_placement=auto"));
  double crossing = 0;
  for (const Json& part : json["parts"]) {
    const std::string resource = part["resources"];
    if (resource.find("socket_link") != std::string::npos) crossing += time_of(part);
  }
  EXPECT_NEAR(crossing, 6 * 0.1, 1e-6);
  EXPECT_NEAR(time_of(json["run"]) - time_of(first), crossing, 1e-6);
}

// One slot over 100 km: a slice at a time, the way there and the way back of its slot, or of the
// last acknowledgement. With two slots there are two on the way, and half as many rounds.
TEST(Explain, TwiceTheSlotsHalveTheRounds) {
  const std::string far =
      "{kind: infiniband, link: 400Gb/s, cables: {node: 100km}, topology: {kind: back_to_back}, "
      "switch: {vl_buffer: unlimited}, credit_return: 0ns}";
  const Json json = of_text(two_servers("none", far), {"--set", "communication.slots=1"});
  const double slice = (524288 + 128 * 26 + 20) / 50e3;
  const double way = 1e5 / 198;
  const double round = slice + 2 * way;
  EXPECT_NEAR(time_of(json["run"]), 128 * round, 1);
  EXPECT_EQ(json["run"]["limited_by"], "slots");
  const Json more = json["what_ifs"][0];
  EXPECT_EQ(more["change"], "2 receive slots instead of 1");
  EXPECT_NEAR(time_of(more), 64 * round + slice, 1);
  EXPECT_EQ(more["limited_by"], "slots");
  // Twice as large: half as many rounds, of slices twice as long.
  EXPECT_NEAR(time_of(what_if(json, "slots of 1MiB")), 64 * (round + slice), 1);
  EXPECT_NEAR(time_of(what_if(json, "cables half as long")), 128 * (slice + way), 1);
}

// Eight packets of 65 blocks fit into the buffer at the far end of 10 km, beside some
// acknowledgements, and their credits take as long to come back: eight of them a round, or sixteen
// with twice the buffer.
TEST(Explain, TwiceTheBufferHalvesTheWaitForCredits) {
  const std::string far =
      "{kind: infiniband, link: 400Gb/s, cables: {node: 10km}, topology: {kind: back_to_back}, "
      "switch: {vl_buffer: 33792B}, credit_return: 0ns}";
  const Json json = of_text(two_servers("none", far), {"--set", "communication.slots=64"});
  const double round = 2 * 1e4 / 198 + 4122 / 50e3;
  EXPECT_NEAR(time_of(json["run"]), 16384 / 8 * round, 0.01 * 16384 / 8 * round);
  const Json wider = what_if(json, "receive buffers of network ports");
  EXPECT_NEAR(time_of(wider), 16384 / 16 * round, 0.01 * 16384 / 16 * round);
  EXPECT_THAT(json["text"].get<std::string>(), HasSubstr("xmit_wait: "));
}

// Of a small message each latency is there as often as the path says, and goes by half.
TEST(Explain, HalvedLatenciesOfASmallMessageAreGoneExactly) {
  const Json json = json_of({"link-test", "--set", "workload.size=4KiB", "--top", "8"});
  EXPECT_EQ(json["run"]["limited_by"], "latency");
  const double whole = time_of(json["run"]);
  // The launch takes 4 us; flags 0.5 us from the kernel and 0.5 us to it; the GPU 700 ns to be read
  // and 150 ns to be written; the NIC 75 + 200 + 350 ns to be told.
  EXPECT_NEAR(whole - time_of(what_if(json, "kernels launched")), 2, 1e-6);
  EXPECT_NEAR(whole - time_of(what_if(json, "flags between")), 0.5, 1e-6);
  EXPECT_NEAR(whole - time_of(what_if(json, "GPU memory that answers")), 0.425, 1e-6);
  EXPECT_NEAR(whole - time_of(what_if(json, "work given to NICs")), 0.3125, 1e-6);
  EXPECT_NEAR(whole - time_of(what_if(json, "NICs that send and receive")), 0.2, 1e-6);
  EXPECT_NEAR(whole - time_of(what_if(json, "completions seen")), 0.11, 1e-6);
  EXPECT_THAT(what_if(json, "PCIe links and switches")["not_tried"].get<std::string>(),
              HasSubstr("constants"));
}

// What a shell makes of a line without quotes.
Arguments words_of(const std::string& line) {
  std::istringstream stream(line);
  Arguments words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// A thread serves first what comes first: with less of a delay on the wire the answer to what was
// sent comes before what is waited for, and each step takes a turn more.
TEST(Explain, WhatMakesItSlowerSaysWhy) {
  const Json explanation = json_of({"many-small-gradients", "--top", "9"});
  const Json nics = what_if(explanation, "NICs that send and receive");
  ASSERT_LT(nics["times_as_fast"].get<double>(), 0.95);
  EXPECT_EQ(nics["grown"]["cause"], "communication thread");
  const double more =
      nics["grown"]["after_us"].get<double>() - nics["grown"]["before_us"].get<double>();
  EXPECT_GT(more, nics["time_us"].get<double>() - explanation["run"]["time_us"].get<double>());
}

TEST(Explain, EveryShownCommandShowsTheSame) {
  const std::string file = temporary_file("result.json");
  const std::vector<Arguments> scenarios{
      {"quick", "--set", "workload.size=1MiB"},
      {"quick", "--set", "cluster.node=bad-uplink-gen3", "--set", "cluster.network=hdr", "--set",
       "workload.size=1MiB", "--set", "communication.slots=1"}};
  for (const Arguments& scenario : scenarios) {
    const Json json = json_of(scenario);
    EXPECT_EQ(json["what_ifs"].size(), 5U);
    for (const Json& what : json["what_ifs"]) {
      if (what.contains("not_tried")) continue;
      SCOPED_TRACE(what["command"]);
      Arguments words = words_of(what["command"]);
      ASSERT_EQ(words.at(0), "gradhaul");
      words.erase(words.begin());
      words.insert(words.end(), {"--json", file});
      ASSERT_EQ(run_program(words).status, 0);
      const Json result = Json::parse(text_of(file));
      EXPECT_EQ(result["rows"][0]["time_us"], what["time_us"]);
      EXPECT_EQ(result["rows"][0]["limited_by"], what["limited_by"]);
      EXPECT_EQ(result["engine"]["digest"], what["digest"]);
      EXPECT_THAT(json["text"].get<std::string>(),
                  HasSubstr(what["settings"].back().get<std::string>()));
    }
  }
}

TEST(Explain, OfSeveralSizesTheLastIsTold) {
  const ProgramRun run =
      run_program({"explain", "ideal-ring", "--set", "workload.size=[1KiB, 1MiB]", "--top", "0"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("all_reduce of 1.05 MB by 32 ranks takes 103 us"));
  EXPECT_THAT(run.out, HasSubstr("Of 2 sizes the last, 1MiB, is explained"));
  EXPECT_THAT(run.out, HasSubstr("gradhaul predict ideal-ring --set workload.size=1MiB\n"));
  EXPECT_THAT(run.out, HasSubstr("Not asked for"));
}

TEST(Explain, FidelityIsTheScenarios) {
  for (const char* fidelity : {"flow", "analytic"}) {
    const Json json =
        json_of({"quick", "--top", "1", "--set", std::string("simulation.fidelity=") + fidelity});
    EXPECT_EQ(json["run"]["fidelity"], fidelity);
    EXPECT_EQ(json["what_ifs"].size(), 1U);
  }
}

TEST(Explain, ARefusedChangeSaysWhy) {
  // Two rings are listed, for two channels; ten would want ten.
  const Json json = json_of({"quick", "--set", "workload.size=1MiB", "--set",
                             "communication.ring_order=[[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15],"
                             "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]]",
                             "--top", "9"});
  EXPECT_THAT(what_if(json, "10 channels instead of 2")["not_tried"].get<std::string>(),
              AllOf(HasSubstr("it would be refused: "), HasSubstr("rings for")));
}

class Results : public testing::Test {
 protected:
  void SetUp() override {
    first_ = temporary_file("first.json");
    second_ = temporary_file("second.json");
    predict({"--json", first_});
    predict({"--json", second_, "--set", "cluster.network.link=100GB/s"});
  }
  static void predict(const Arguments& more) {
    Arguments arguments{"predict", "ideal-ring", "--set", "workload.size=1MiB"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramRun run = run_program(arguments);
    ASSERT_EQ(run.status, 0) << run.err;
  }

  std::string first_;
  std::string second_;
};

TEST_F(Results, AreExplainedAsTheirScenarioIs) {
  Json stored = json_of({first_});
  Json again = json_of({"ideal-ring", "--set", "workload.size=1MiB"});
  for (const char* key : {"run", "parts", "blame"}) EXPECT_EQ(stored[key], again[key]) << key;
  ASSERT_EQ(stored["what_ifs"].size(), again["what_ifs"].size());
  EXPECT_EQ(stored["what_ifs"][0]["time_us"], again["what_ifs"][0]["time_us"]);
  EXPECT_THAT(stored["what_ifs"][0]["command"].get<std::string>(),
              HasSubstr("gradhaul predict " + first_));
}

TEST_F(Results, AreLaidAgainstEachOther) {
  const Json json = json_of({first_, second_});
  EXPECT_EQ(json["schema"], "gradhaul.difference/1");
  const double moving = 62 * 32768 / 50e3;
  EXPECT_NEAR(time_of(json["before"]), 62 + moving, 1e-5);
  EXPECT_NEAR(time_of(json["after"]), 62 + moving / 2, 1e-4);
  ASSERT_EQ(json["settings"].size(), 1U);
  EXPECT_EQ(json["settings"][0]["path"], "cluster.network.link");
  EXPECT_EQ(json["settings"][0]["before"], "50GB/s");
  EXPECT_EQ(json["settings"][0]["after"], "100GB/s");
  EXPECT_EQ(json["parts"][0]["cause"], "busy");
  EXPECT_NEAR(json["parts"][0]["before_us"].get<double>(), moving, 1e-4);
  EXPECT_NEAR(json["parts"][0]["after_us"].get<double>(), moving / 2, 1e-4);
}

TEST_F(Results, AgainstAChangeIsTheSame) {
  const Json files = json_of({first_, second_});
  const Json scenario = json_of(
      {"ideal-ring", "--set", "workload.size=1MiB", "--against", "cluster.network.link=100GB/s"});
  const Json stored = json_of({first_, "--against", "cluster.network.link=100GB/s"});
  for (const char* key : {"parts", "settings", "uses", "counters"}) {
    EXPECT_EQ(scenario[key], files[key]) << key;
    EXPECT_EQ(stored[key], files[key]) << key;
  }
  EXPECT_EQ(scenario["after"]["digest"], files["after"]["digest"]);
  EXPECT_EQ(scenario["after"]["name"], "the same with cluster.network.link=100GB/s");
}

// What was measured, or by another version, is explained as far as it goes.
TEST_F(Results, WithoutARunnableScenarioSaySo) {
  Json json = Json::parse(text_of(first_));
  json["kind"] = "measured";
  write_text(second_, json.dump());
  const ProgramRun measured = run_program({"explain", second_});
  EXPECT_EQ(measured.status, 0) << measured.err;
  EXPECT_THAT(measured.out, HasSubstr("this was measured"));
  json["kind"] = "predicted";
  json["scenario"]["effective"]["cluster"]["flux_capacitor"] = true;
  write_text(second_, json.dump());
  const Json other = json_of({second_});
  EXPECT_THAT(other["untried"].get<std::string>(),
              AllOf(HasSubstr("which this version does not take: "), HasSubstr("flux_capacitor")));
  EXPECT_THAT(other["text"].get<std::string>(), HasSubstr("Where the time goes"));
}

TEST_F(Results, ThatAreBrokenAreRefused) {
  write_text(second_, text_of(first_).substr(0, 400));
  const ProgramRun cut = run_program({"explain", second_});
  EXPECT_EQ(cut.status, 2);
  EXPECT_THAT(cut.err, HasSubstr(second_ + ": this is no JSON, or was cut off"));
  EXPECT_THAT(cut.out, IsEmpty());
  const ProgramRun none = run_program({"explain", first_, "ideal-ring"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("ideal-ring is no result file"));
  EXPECT_EQ(run_program({"explain", first_, first_, "--against", "a=1"}).status, 2);
}

TEST(Explain, BadInputIsRefusedAtItsOption) {
  const ProgramRun against =
      run_program({"explain", "ideal-ring", "--against", "cluster.network.mtu=4000"});
  EXPECT_EQ(against.status, 2);
  EXPECT_THAT(against.err, HasSubstr("--against cluster.network.mtu=4000: mtu:"));
  EXPECT_EQ(run_program({"explain", "no-such"}).status, 2);
  EXPECT_EQ(run_program({"explain", "quick", "--top", "-1"}).status, 2);
  const ProgramRun folder =
      run_program({"explain", "7b-32gpu", "--set", "workload.size=1TiB", "--json", "/no/such/x"});
  EXPECT_EQ(folder.status, 2);
  EXPECT_THAT(folder.err, HasSubstr("/no/such/x"));
}

// The explained run takes an instant, the changes' runs are told by their share of the bar.
TEST(Explain, KeepsWhatIsFinishedWhenInterrupted) {
  const std::string stored = temporary_file("stored.json");
  const std::string json = temporary_file("explanation.json");
  ASSERT_EQ(run_program({"predict", "quick", "--set", "simulation.fidelity=analytic", "--set",
                         "workload.size=100GB", "--json", stored})
                .status,
            0);
  // As if it had been simulated packet by packet, which takes longer than anybody waits.
  Json result = Json::parse(text_of(stored));
  result["scenario"]["effective"]["simulation"]["fidelity"] = "packet";
  write_text(stored, result.dump());
  const ProgramRun run = run_program({"explain", stored, "--json", json, "--progress", "on"},
                                     {.signal = SIGINT, .once_said = "%"});
  EXPECT_EQ(run.status, 4) << run.err;
  EXPECT_THAT(run.err, HasSubstr("the changes that were finished are kept"));
  EXPECT_THAT(run.out, HasSubstr("Where the time goes"));
  EXPECT_THAT(run.out, HasSubstr("Interrupted: what else might help was not tried."));
  EXPECT_TRUE(Json::parse(text_of(json))["interrupted"].get<bool>());
}

TEST(Explain, IsInterruptedBeforeAnythingIsFinished) {
  const ProgramRun run =
      run_program({"explain", "7b-32gpu", "--set", "workload.size=200GB", "--progress", "on"},
                  {.signal = SIGTERM, .once_said = "%"});
  EXPECT_EQ(run.status, 4) << run.err;
  EXPECT_THAT(run.err, HasSubstr("before the first run was finished"));
}

TEST(Explain, AFullDeviceIsAFailure) {
  const ProgramRun run = run_program({"explain", "ideal-ring", "--top", "0"}, {.out = "/dev/full"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("standard output could not be written"));
}

}  // namespace
}  // namespace gradhaul
