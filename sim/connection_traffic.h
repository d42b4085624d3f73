#pragma once

// What a schedule asks of its connections and kernels, counted and not run. The schedule is made
// with slots as large as the message, so that each chunk is one item and no slice is walked; how
// many messages a chunk becomes follows from the real slot size (core/message_plan.h: full slots
// and a rest).

#include <array>
#include <cstdint>

#include "core/connection.h"
#include "core/make_schedule.h"
#include "core/placement.h"
#include "core/prediction_request.h"

namespace gradhaul {

struct MessageCount {
  Bytes size;
  std::int64_t count = 0;
};

// All data messages of one connection, by size.
struct ConnectionTraffic {
  // Chunks of a connection differ by one element at most: full slots and three rests.
  static constexpr int kMaxSizes = 8;

  void add(Bytes size, std::int64_t count);
  std::int64_t messages() const;
  Bytes payload() const;

  ConnectionKey key;
  std::array<MessageCount, kMaxSizes> by_size{};
  int sizes = 0;
};

// All reductions and copies of one channel of a rank.
struct KernelTraffic {
  std::int64_t operations = 0;
  Bytes bytes;
  Bytes memory;  // read and written: three times the bytes of a reduction, twice those of a copy
};

class TrafficSink {
 public:
  virtual void on_connection(const ConnectionTraffic& traffic) = 0;
  virtual void on_kernel(Rank rank, int channel, const KernelTraffic& traffic) = 0;
  // All of this rank has been told.
  virtual void on_rank_end(Rank rank) = 0;

 protected:
  ~TrafficSink() = default;
};

// Of a slot, at least one.
std::int64_t elements_of_slot(const PredictionRequest& request);
ScheduleRequest schedule_request(const PredictionRequest& request, std::int64_t count);
// With the flags of the protocol.
ConnectionTraffic in_lines(Protocol protocol, ConnectionTraffic traffic);

// Each chunk of the schedule in one item.
std::unique_ptr<Schedule> chunk_schedule(const PredictionRequest& request,
                                         const Placement& placement, std::int64_t count);

// Tells `sink` of each connection once, at its source, ranks in order. Of an all-reduce around a
// ring, where all ranks together have O(ranks^2) items, the sums are known and nothing is walked.
void count_traffic(const PredictionRequest& request, const Placement& placement, std::int64_t count,
                   TrafficSink& sink);
// The same by walking the items, whatever the schedule.
void walk_traffic(const PredictionRequest& request, const Schedule& chunks, TrafficSink& sink);

}  // namespace gradhaul
