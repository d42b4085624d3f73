#pragma once

// What a run answered: the plain data behind the table and the JSON of interface.md, sections 4 and
// 5. Filled by a simulator or a backend, rendered by analysis/.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/communication.h"
#include "core/company.h"
#include "core/ladder.h"
#include "core/quantities.h"
#include "core/uncertainty.h"
#include "core/workload.h"

namespace gradhaul {

// What only a row that was measured has. The time of an iteration is the greatest over ranks, each
// from its own start, after all had agreed to start, until its result is complete; the row's time
// is the mean over iterations.
struct IterationTimes {
  bool in_place = false;
  std::int64_t wrong = 0;  // elements, of all ranks, that are not what they must be
  int iterations = 0;
  Duration min;
  Duration p50;
  Duration p99;
  std::vector<Duration> each;  // of the iterations, in their order
};

// A way to do a collective whose time was estimated, so that ways could be compared.
struct WeighedPlan {
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  Duration time;
};

// What NCCL's tuner would take, and the time that it expects.
struct NcclChoice {
  std::string version;  // "2.30"
  WeighedPlan plan;
};

// What a plan takes for as long as it may run, beside time. 0: not known.
struct HeldResources {
  int gpu_sms = 0;                       // of each GPU: a channel's kernel is one thread block
  std::int64_t queue_pairs = 0;          // of all NICs: a connected pair counts at both
  std::int64_t queue_pairs_per_nic = 0;  // of the NIC that has most
  // Of the rank that has most, for NICs: its message, and the slots that it receives into.
  Bytes registered;
};

// What a rank does once, before its first collective.
struct SetupTime {
  Duration queue_pairs;   // making and connecting them
  Duration registration;  // of its message, unless each collective does so, and of receive slots

  Duration total() const { return queue_pairs + registration; }
  friend bool operator==(const SetupTime&, const SetupTime&) = default;
};

struct PortCounters {
  std::string port;  // "leaf0:3", "node0.nic0"
  Duration xmit_wait;
  std::int64_t pfc_pause_frames = 0;  // received
  std::int64_t pfc_pause_frames_sent = 0;
  Duration pfc_paused;
  std::int64_t ecn_marked = 0;
  std::int64_t cnp = 0;      // sent
  std::int64_t dropped = 0;  // garbled, or lost on a link that was down
  // What did not fit into a switch's buffer when it came to wait for this port, and into the buffer
  // of this port when it came in; named as ethtool's tx_discards_phy and rx_discards_phy.
  std::int64_t tx_discards = 0;
  std::int64_t rx_discards = 0;
  std::int64_t retransmitted = 0;
  // As in a NIC's hw_counters: packets that came after a gap, answers that told of one, and times
  // that no answer came.
  std::int64_t out_of_sequence = 0;
  std::int64_t packet_seq_err = 0;
  std::int64_t local_ack_timeout_err = 0;
  std::int64_t rnr_nak_retry_err = 0;  // answers that no receive was posted
  Duration out_of_credits;
  // The same and more under the names, and in the units, by which a host shows them (sysfs of RDMA
  // ports, `ethtool -S`), so that predicted and measured ones meet.
  std::map<std::string, std::int64_t> as_on_host;
};

// What ports counted while a row's collectives ran, `runs` of them one after the other.
struct CountedRuns {
  int runs = 0;  // 0: nobody counted
  std::vector<PortCounters> ports;
};

struct ResultRow {
  Collective collective = Collective::kAllReduce;
  std::string algorithm;
  std::string protocol;
  std::string profile;  // communication.profile: of a job, its own
  int channels = 0;
  int ranks = 0;
  Bytes size;
  std::int64_t count = 0;
  DataType datatype = DataType::kFp32;
  Reduction reduction = Reduction::kSum;
  Duration time;
  Bytes bytes_sent_per_rank;  // the largest over ranks
  SetupTime setup;            // of the rank that takes longest; none where nothing goes by a NIC
  double cpu_cores = 0;       // that communication threads keep busy, of the busiest node
  HeldResources held;
  std::string limited_by;       // "node0.nic0 (32 equal)", "latency", "slots"
  std::vector<TimePart> parts;  // add up to time; sorted, the largest first
  std::string job;              // whose it is, where there are several
  std::optional<IterationTimes> measured;
  CountedRuns counted;  // of measured rows as_on_host alone
  // Where the plan was chosen by its time: those there were to choose from, the fastest first.
  std::vector<WeighedPlan> weighed;
  std::optional<NcclChoice> nccl;
  std::optional<Uncertainty> uncertainty;  // where it was asked for
};

struct ResourceUse {
  std::string name;  // "node0.nic0"
  std::string kind;  // "nic", "pcie", "pcie_uplink", "socket", "socket_link", "nvlink", "reduce",
                     // "memory", "network"
  double utilisation = 0;  // of its busier direction, over the time of the last row
  Bytes bytes;             // payload, both directions together
  Duration blame;          // its share of the critical path
};

struct RunCost {
  double wall_s = 0;
  double cpu_s = 0;
  std::int64_t packets = 0;
  std::int64_t packet_hops = 0;
  std::int64_t skipped_packet_hops = 0;
  // Of the last row: so many parts of the cluster provably see the same, and one was simulated.
  int equal_parts = 1;
  std::int64_t peak_rss_bytes = 0;
};

struct Prediction {
  std::string fidelity;
  std::uint64_t seed = 0;
  std::uint64_t digest = 0;
  bool exact = true;
  std::optional<Duration> error_bound;  // where not exact
  int channels = 0;
  std::vector<std::vector<Rank>> rings;
  std::vector<ResultRow> rows;         // one per size
  std::vector<ResourceUse> resources;  // of the last row, in name order
  std::vector<PortCounters> counters;  // of the last row, those not all zero, in name order
  std::optional<Company> company;      // of the last size, where anybody shares the cluster
  std::vector<std::string> notes;
  std::string failure;  // a sentence: why it ended before all rows were finished; empty: it did not
  bool interrupted = false;  // only the rows that were finished are here
  RunCost cost;
};

// What real ranks did.
struct Measurement {
  std::string backend;  // "tcp"
  // What the backend says of itself: {"device", "mlx5_0"}, {"mtu", "4096"}, ….
  std::vector<std::pair<std::string, std::string>> facts;
  int channels = 0;
  std::vector<std::vector<Rank>> rings;
  std::vector<ResultRow> rows;         // one per size and half, out of place first
  std::vector<LadderRow> ladder;       // where it was asked for: size after size, from below
  std::vector<PortCounters> counters;  // of the whole run, as_on_host alone
  std::vector<std::string> notes;
  // Sentences: why it ended before all rows were measured, the likeliest cause first, then what
  // others saw of it. Empty: it did not.
  std::vector<std::string> failures;
  bool interrupted = false;  // only the rows that were finished are here
  RunCost cost;
};

}  // namespace gradhaul
