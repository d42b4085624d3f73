#include "scenarios/command_line.h"

#include <fmt/format.h>

#include <vector>

#include "scenarios/picture_command.h"
#include "scenarios/rdma_settings_command.h"

namespace gradhaul {
namespace {

constexpr const char* kScenarioHelp = "A file, or the name of a shipped scenario";
constexpr const char* kSetHelp =
    "Change one value, as cluster.network.mtu=1024B or workload.size=[1MiB, 1GiB]";

// One value each time, so that a scenario may follow; a list such as [1, 2] stays one value.
void add_settings(CLI::App* command, std::vector<std::string>& settings,
                  const char* option = "--set", const std::string& help = kSetHelp,
                  const char* form = "PATH=VALUE") {
  command
      ->add_option_function<std::vector<std::string>>(
          option, [&settings](const std::vector<std::string>& values) { settings = values; }, help)
      ->type_name(form)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

void add_progress(CLI::App* command, CommandLine& line) {
  command->add_option("--progress", line.progress, "auto (on a terminal), on or off")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->type_name("WHEN");
}

// `kinds`: what there is to choose from; empty: nothing is.
void add_plot(CLI::App* command, std::string& path, std::string& kind,
              const std::vector<std::string>& kinds) {
  command
      ->add_option("--plot", path, "Draw it, as .svg, .png or .pdf; takes python3 with matplotlib")
      ->type_name("FILE");
  if (kinds.empty()) return;
  command->add_option("--plot-kind", kind, fmt::format("What it shows: {}", fmt::join(kinds, ", ")))
      ->type_name("KIND")
      ->capture_default_str();
}

// `without`: what is about rows of a table alone.
void add_ladder(CLI::App* command, bool& ladder, std::initializer_list<const char*> without) {
  CLI::Option* flag =
      command->add_flag("--ladder", ladder,
                        "What each layer gives by itself, from below: link, pair of ranks, ring "
                        "step, collective; for compare with another ladder");
  for (const char* option : without) flag->excludes(command->get_option(option));
}

void add_trace(CLI::App* command, TraceOptions& trace) {
  const char* const group = "Traces (packet by packet, as --no-skip)";
  const auto add = [&](const char* name, auto& value, const std::string& help, const char* form) {
    return command->add_option(name, value, help)->type_name(form)->group(group);
  };
  CLI::Option* file =
      add("--trace", trace.file,
          "Write what ranks, links and NICs did as a trace that opens in ui.perfetto.dev", "FILE");
  add("--trace-window", trace.window, "Only of that time of each size: 1ms..2ms, 1ms.. or ..2ms",
      "FROM..TO")
      ->needs(file);
  add("--trace-ranks", trace.ranks, "Only slices of these ranks: 0,1 or 8..15", "RANKS")
      ->needs(file);
  add("--trace-links", trace.links, "Only links whose names begin so: node0.nic0,leaf0", "NAMES")
      ->needs(file);
  add("--trace-limit", trace.most_events, "The most events to write, half of them for links",
      "EVENTS")
      ->check(CLI::Range(std::int64_t{1000}, std::int64_t{100'000'000}))
      ->capture_default_str()
      ->needs(file);
}

void add_capture(CLI::App* command, CaptureOptions& capture) {
  const char* const group = "Captures (packet by packet, as --no-skip)";
  const auto add = [&](const char* name, auto& value, const std::string& help, const char* form) {
    return command->add_option(name, value, help)->type_name(form)->group(group);
  };
  CLI::Option* folder =
      add("--pcap", capture.folder, "Write the packets of ports, for tshark and Wireshark", "DIR");
  add("--pcap-ports", capture.ports, "Of which ports: node0.nic0,leaf0:1", "PORTS")
      ->capture_default_str()
      ->needs(folder);
  add("--pcap-window", capture.window, "Only of that time of each size: 1ms..2ms, 1ms.. or ..2ms",
      "FROM..TO")
      ->needs(folder);
  add("--pcap-snap", capture.snap, "How much of a packet is kept: 128 makes small files", "BYTES")
      ->check(CLI::Range(std::int64_t{96}, std::int64_t{65535}))
      ->capture_default_str()
      ->needs(folder);
  add("--pcap-limit", capture.most_packets, "The most packets of a port", "PACKETS")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->capture_default_str()
      ->needs(folder);
}

void add_predict(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("predict", "How long, how much bandwidth, what limits");
  command->add_option("SCENARIO", line.predict.scenario, kScenarioHelp)->required();
  add_settings(command, line.predict.settings);
  command->add_option("--json", line.predict.json, "Write the result file")->type_name("FILE");
  command->add_option("--csv", line.predict.csv, "Write the rows")->type_name("FILE");
  PictureOptions& picture = line.predict.picture;
  add_plot(command, picture.path, picture.kind, result_picture_kinds());
  command->add_flag("--no-skip", line.predict.no_skip,
                    "Simulate every packet, also what must be as another was");
  command->add_flag("--by-events", line.predict.by_events,
                    "Have the plain event engine step all packets: slower, the same answer");
  command->add_flag("--uncertainty", line.predict.uncertainty,
                    "Run again with each estimate at its least and at its greatest, and say how "
                    "far that moves the times");
  add_progress(command, line);
  add_trace(command, line.predict.trace);
  add_capture(command, line.predict.capture);
  add_ladder(command, line.predict.ladder, {"--uncertainty", "--trace", "--pcap"});
}

void add_explain(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("explain", "Where the time goes, what limits, what would help");
  command
      ->add_option("SCENARIO", line.explain.scenario,
                   "A file, the name of a shipped scenario, or a result file of predict --json")
      ->required();
  command->add_option("OTHER", line.explain.other, "A second result file, to compare with");
  add_settings(command, line.explain.settings);
  add_settings(command, line.explain.against, "--against",
               "Compare with the same scenario with this change");
  command->add_option("--top", line.explain.top, "How many changes to try, by running them")
      ->check(CLI::Range(0, 100))
      ->type_name("N");
  command->add_option("--json", line.explain.json, "Write all of it")->type_name("FILE");
  add_progress(command, line);
}

void add_compare(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("compare", "A prediction beside what was measured");
  command->add_option("PREDICTED", line.compare.predicted, "What predict --json wrote")->required();
  command
      ->add_option("MEASURED", line.compare.measured,
                   "A result file, or output of nccl-tests, perftest or NCCL_DEBUG=INFO; - reads "
                   "standard input")
      ->required();
  command
      ->add_option("--tolerance", line.compare.tolerance,
                   "How far a time may be from the predicted one")
      ->type_name("PERCENT")
      ->capture_default_str();
  command->add_option("--json", line.compare.json, "Write the comparison")->type_name("FILE");
  command->add_option("--csv", line.compare.csv, "Write its rows")->type_name("FILE");
  PictureOptions& picture = line.compare.picture;
  add_plot(command, picture.path, picture.kind, {});
}

void add_token(CLI::App* command, std::string& token) {
  command->add_option("--token", token, "Known to all ranks of a run alone (or GRADHAUL_TOKEN)")
      ->type_name("TEXT");
}

std::string rdma_names_text() {
  std::string text = "there are";
  for (const auto& [name, help] : rdma_setting_names()) text += " " + name + " (" + help + ")";
  return text;
}

// Who runs, over what.
CLI::Option* add_ranks(CLI::App* command, MeasureOptions& measure, const char* ranks_help) {
  CLI::Option* backend =
      command
          ->add_option("--backend", measure.backend, "What moves the bytes: loopback, tcp or verbs")
          ->type_name("NAME");
  command->add_option("--ranks", measure.ranks, ranks_help)
      ->check(CLI::Range(2, 1 << 20))
      ->type_name("N");
  command->add_option("--rank", measure.rank, "Be this rank; start the others yourself")
      ->check(CLI::Range(0, 1 << 20))
      ->type_name("R");
  command->add_option("--rendezvous", measure.rendezvous, "Where rank 0 listens")
      ->type_name("HOST:PORT");
  add_token(command, measure.token.option);
  add_settings(command, measure.rdma, "--rdma",
               "Of verbs, as devices=mlx5_0 or gid_index=3; " + rdma_names_text(), "NAME=VALUE");
  command
      ->add_option("--memory", measure.memory,
                   "Where ranks have their data: host, or gpu, whose kernels then add it up")
      ->capture_default_str()
      ->type_name("WHOSE");
  command->add_option("--timeout", measure.timeout, "Give up after so long without progress (30s)")
      ->type_name("TIME");
  command->add_flag("--started-by-measure", measure.started_by_measure)->group("");
  command->add_option("--rank0-at", measure.rank0_at)->group("");
  return backend;
}

void add_measure(CLI::App& app, CommandLine& line) {
  MeasureOptions& measure = line.measure;
  CLI::App* command = app.add_subcommand("measure", "The same on real ranks: timed and checked");
  command->add_option("SCENARIO", measure.scenario, kScenarioHelp)->required();
  add_ranks(command, measure, "So many ranks, one a node, instead of the scenario's")->required();
  command
      ->add_option("--within-node", measure.within_node,
                   "How ranks of one node reach each other over tcp and verbs: memory (that both "
                   "see, one copy) or network, as ranks of different nodes")
      ->capture_default_str()
      ->check(CLI::IsMember({"memory", "network"}))
      ->type_name("WAY");
  add_settings(command, measure.settings);
  command
      ->add_option("--iterations", measure.iterations,
                   "Timed runs of each size; without: up to 20, in some seconds")
      ->check(CLI::Range(1, 1 << 30))
      ->type_name("N");
  command->add_option("--warmup", measure.warmup, "Runs before these; without: up to 5")
      ->check(CLI::Range(0, 1 << 30))
      ->type_name("N");
  command->add_option("--json", measure.json, "Write the result file")->type_name("FILE");
  command->add_option("--csv", measure.csv, "Write the rows")->type_name("FILE");
  add_ladder(command, measure.ladder, {});
  command
      ->add_flag("--pairs", measure.pairs,
                 "Writes between all pairs of nodes instead, in rounds: a matrix, and who is "
                 "suspect")
      ->excludes(command->get_option("--csv"))
      ->excludes(command->get_option("--ladder"));
  add_progress(command, line);
}

void add_calibrate(CLI::App& app, CommandLine& line) {
  CalibrateOptions& calibrate = line.calibrate;
  CLI::App* command =
      app.add_subcommand("calibrate", "Microbenchmarks of a backend, as values for devices");
  add_ranks(command, calibrate.measure, "So many ranks; the first two write, the others look on")
      ->required();
  command->add_option("--sizes", calibrate.sizes, "Of messages (8B,256B,4KiB,64KiB,512KiB,4MiB)")
      ->delimiter(',')
      ->type_name("SIZES");
  command
      ->add_option("--queue-pairs", calibrate.queue_pairs,
                   "Of a connection (1,2,4 over verbs, else 1)")
      ->delimiter(',')
      ->check(CLI::Range(1, 64))
      ->type_name("NUMBERS");
  command->add_option("--depths", calibrate.depths, "Writes on their way at once (1,2,8)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024))
      ->type_name("NUMBERS");
  command->add_option("--messages", calibrate.messages, "The most writes of one repetition (1000)")
      ->check(CLI::Range(4, 1 << 20))
      ->type_name("N");
  command
      ->add_option("--iterations", calibrate.measure.iterations,
                   "Repetitions of each; without: 5 to 20, in some tenths of a second")
      ->check(CLI::Range(5, 1 << 20))
      ->type_name("N");
  command
      ->add_option("--write", calibrate.nic,
                   "Write what was found of the NIC, for cluster.node.nics.model")
      ->type_name("FILE");
  command
      ->add_option("--write-gpu", calibrate.gpu,
                   "Write what was found of memory and reductions, for cluster.node.gpus.model")
      ->type_name("FILE");
  command
      ->add_option("--write-scenario", calibrate.scenario,
                   "Write a scenario of as many nodes with both")
      ->type_name("FILE");
  command
      ->add_option("--base", calibrate.base,
                   "The model over which the NIC's file stands, as connectx-7: it says the rest")
      ->type_name("MODEL")
      ->needs(command->get_option("--write"));
  command->add_option("--gpu-base", calibrate.gpu_base, "Likewise of the GPU's file")
      ->type_name("MODEL")
      ->needs(command->get_option("--write-gpu"));
  command->add_option("--json", calibrate.measure.json, "Write all samples")->type_name("FILE");
  command->footer(
      "Values are medians and say between what they lie; what was not measured is left out.");
}

void add_sweep(CLI::App& app, CommandLine& line) {
  SweepOptions& sweep = line.sweep;
  CLI::App* command =
      app.add_subcommand("sweep", "A scenario over many values of some keys, in parallel");
  command->add_option("SCENARIO", sweep.scenario, kScenarioHelp)->required();
  add_settings(command, sweep.vary, "--vary",
               "One axis, as cluster.nodes=2,4,8 or workload.size=8B..8GiB:x2 or "
               "communication.channels=1..16:+1; further ones, and those of the scenario's `vary`, "
               "make all combinations",
               "PATH=VALUES");
  add_settings(command, sweep.settings);
  command
      ->add_option("--jobs", sweep.jobs,
                   "Points at once (default: one for each core; under mpirun or srun one for each "
                   "rank)")
      ->check(CLI::Range(1, 1 << 16))
      ->type_name("N");
  command
      ->add_option("--rendezvous", sweep.rendezvous,
                   "Under mpirun or srun on several hosts: where rank 0 listens")
      ->type_name("HOST:PORT");
  add_token(command, sweep.token.option);
  command->add_option("--json", sweep.json, "Write all results")->type_name("FILE");
  command->add_option("--csv", sweep.csv, "Write the rows")->type_name("FILE");
  add_plot(command, sweep.plot, sweep.plot_kind, sweep_picture_kinds());
  command->add_flag("--no-skip", sweep.no_skip,
                    "Simulate every packet, also what must be as another was");
  add_progress(command, line);
  command->footer(
      "Finished points are kept in FILE.partial beside the output until all are done: the same\n"
      "command goes on where it stopped. With Open MPI, mpirun --enable-recovery lets the others\n"
      "go on where a rank dies; without, it ends the job, and the same command goes on.\n"
      "Exit status: 0 done, 1 points failed (the others are kept), 2 the input is wrong,\n"
      "3 an `expect` does not hold at some point, 4 interrupted.");
}

void add_report(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("report", "One page to read and hand on: of a run, a comparison, a sweep");
  command
      ->add_option("RESULT", line.report.files,
                   "What predict, measure, compare or sweep wrote with --json; a predicted and a "
                   "measured file are compared")
      ->required();
  command->add_option("--html", line.report.html, "Write the page there, not to standard output")
      ->type_name("FILE");
  command->add_flag("--no-pictures", line.report.no_pictures, "Draw none");
}

void add_show(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("show", "The scenario with every default filled in; the topology");
  command->add_option("SCENARIO", line.show.scenario, kScenarioHelp)->required();
  add_settings(command, line.show.settings);
  command->add_option("--dot", line.show.dot, "Draw the topology for Graphviz")->type_name("FILE");
}

void add_check(CLI::App& app, CommandLine& line) {
  CLI::App* command = app.add_subcommand("check", "Validate scenarios, all errors at once");
  command->add_option("SCENARIO", line.check.scenarios, kScenarioHelp)->required();
  add_settings(command, line.check.settings);
}

void add_doctor(CLI::App& app, CommandLine& line) {
  CLI::App* command =
      app.add_subcommand("doctor", "The checklist of a slow cluster, on the host it runs on");
  command
      ->add_option("--sysfs", line.doctor.sysfs,
                   "Look at a copy of a machine instead: a folder with its sys/ and proc/")
      ->type_name("DIR");
  command
      ->add_option("--watch", line.doctor.watch,
                   "Read counters twice, so far apart: 90s, 10m, 1h; rates, and bounds where "
                   "nothing was seen")
      ->type_name("DURATION");
  command->add_option("--json", line.doctor.json, "Write everything found")->type_name("FILE");
  command
      ->add_option("--node-file", line.doctor.node_file,
                   "Write the host as a node, for `cluster.node` of a scenario")
      ->type_name("FILE");
  DoctorRanksOptions& ranks = line.doctor_ranks;
  command->add_option("SCENARIO", ranks.measure.scenario,
                      "With --backend: then also measure between hosts, beside this scenario");
  add_settings(command, ranks.measure.settings);
  add_ranks(command, ranks.measure, "So many ranks, one a node, instead of the scenario's");
  command
      ->add_option("--tolerance", ranks.tolerance, "How far a time may be over the predicted one")
      ->type_name("PERCENT")
      ->capture_default_str();
  command->add_option("--ranks-json", ranks.measure.json, "Write what was measured between hosts")
      ->type_name("FILE");
  command->footer(
      "Exit status: 0 no problem (warnings or not), 3 a problem was found, 1 the run failed,\n"
      "2 the input is wrong, 4 the watch was interrupted (what was seen is reported).\n"
      "As root it sees more: PCIe settings and ACS, queue pairs. It changes nothing.");
}

}  // namespace

void add_commands(CLI::App& app, CommandLine& line) {
  add_predict(app, line);
  add_measure(app, line);
  add_calibrate(app, line);
  add_compare(app, line);
  add_explain(app, line);
  add_sweep(app, line);
  add_report(app, line);
  add_show(app, line);
  add_check(app, line);
  add_doctor(app, line);
  add_import(app, line.import);
}

}  // namespace gradhaul
