#include "analysis/trace_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>

#include "analysis/trace_events.h"
#include "analysis/trace_tracks.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kRunProcess = 1;
constexpr std::int64_t kFirstRankProcess = 1000;
constexpr std::int64_t kNetworkProcess = 90'000;
constexpr std::int64_t kFirstNodeProcess = 100'000;

enum Stage : std::int32_t { kSend, kFlight, kReceive, kSlot, kReduce };
constexpr std::array<std::string_view, 5> kCategories{"send", "flight", "receive", "slot",
                                                      "reduce"};
constexpr std::array<std::string_view, 5> kThreads{"send", "flight", "receive", "wait for slot",
                                                   "reduce"};

std::string name_of(const ConnectionKey& key) {
  std::string name = fmt::format("ch{} {}>{}", key.channel, key.source, key.destination);
  if (key.stream != 0) name += fmt::format("#{}", key.stream);
  return name;
}

class TraceWriter {
 public:
  TraceWriter(const RunRecorder& recorder, TraceEvents& events)
      : rows_(recorder.rows()), recorder_(recorder), events_(events) {
    std::int64_t offset = 0;
    std::int64_t transfers = 0;
    for (const RecordedRow& row : rows_) {
      offsets_.push_back(offset);
      first_transfers_.push_back(transfers);
      offset += row.end;
      transfers += static_cast<std::int64_t>(row.transfers.size());
    }
    arrows_.resize(static_cast<std::size_t>(transfers));
  }

  void write() {
    if (rows_.empty()) return;
    write_rows();
    name_ranks();
    gather();
    for (auto& [track, pieces] : tracks_) write_track(track, pieces);
    write_arrows();
    write_links();
  }
  std::int64_t offset(std::size_t row) const { return offsets_[row]; }

 private:
  // Rank, channel, lane, stage: also the order in which threads are shown.
  using Track = std::tuple<Rank, std::int32_t, std::int32_t, std::int32_t>;
  struct Arrow {
    std::int64_t sender = 0;  // threads; 0: not shown
    std::int64_t receiver = 0;
  };

  void write_rows() {
    events_.name_process(kRunProcess, "run", 0);
    const std::int64_t tid = events_.add_thread(kRunProcess, "sizes", 0);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::int64_t size = rows_[i].layout.size.count;
      events_.slice(kRunProcess, tid, "row", fmt::format("{} B", size), offsets_[i],
                    offsets_[i] + rows_[i].end, fmt::format(R"("bytes":{})", size));
    }
  }
  void name_ranks() {
    const std::vector<std::string>& ranks = rows_.front().layout.ranks;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (!recorder_.keeps(static_cast<Rank>(rank))) continue;
      events_.name_process(kFirstRankProcess + static_cast<std::int64_t>(rank),
                           fmt::format("rank {} ({})", rank, ranks[rank]),
                           static_cast<std::int64_t>(rank) + 1);
    }
  }

  void gather();
  void gather_transfer(std::int32_t row, std::int64_t index);
  void add(Rank rank, const SlicePlace& place, Stage stage, std::int64_t start, std::int64_t end,
           std::int32_t row, std::int64_t index) {
    const std::int64_t offset = offsets_[static_cast<std::size_t>(row)];
    tracks_[{rank, place.channel, place.lane, stage}].push_back(
        {start + offset, end + offset, row, stage, index});
  }
  void write_track(const Track& track, std::vector<TracePiece>& pieces);
  void write_piece(Rank rank, std::int64_t tid, const TracePiece& piece);
  void write_arrows();
  void write_links();
  void write_link(std::size_t link);
  void write_intervals(std::int64_t pid, const std::string& name, std::size_t link);
  void write_series(std::int64_t pid, const std::string& name, std::size_t row,
                    const TimeBins& bins, bool peak);
  static std::int64_t process_of(const std::string& link);

  const RecordedRow& row_of(const TracePiece& piece) const {
    return rows_[static_cast<std::size_t>(piece.row)];
  }

  const std::vector<RecordedRow>& rows_;
  const RunRecorder& recorder_;
  TraceEvents& events_;
  std::vector<std::int64_t> offsets_;  // by row
  std::vector<std::int64_t> first_transfers_;
  std::map<Track, std::vector<TracePiece>> tracks_;
  std::vector<Arrow> arrows_;  // by transfer, of all rows
};

void TraceWriter::gather_transfer(std::int32_t row, std::int64_t index) {
  const ObservedTransfer& seen =
      rows_[static_cast<std::size_t>(row)].transfers[static_cast<std::size_t>(index)];
  const Rank source = seen.connection.source;
  if (recorder_.keeps(source)) {
    if (seen.ready < seen.posted) {
      add(source, seen.place, kSlot, seen.ready, seen.posted, row, index);
    }
    add(source, seen.place, kSend, seen.posted, seen.done, row, index);
    add(source, seen.place, kFlight, seen.left, seen.landed, row, index);
  }
  if (recorder_.keeps(seen.connection.destination)) {
    add(seen.connection.destination, seen.place, kReceive, seen.landing, seen.arrived, row, index);
  }
}

void TraceWriter::gather() {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto row = static_cast<std::int32_t>(i);
    for (std::size_t t = 0; t < rows_[i].transfers.size(); ++t) {
      gather_transfer(row, static_cast<std::int64_t>(t));
    }
    for (std::size_t o = 0; o < rows_[i].operations.size(); ++o) {
      const ObservedOperation& seen = rows_[i].operations[o];
      add(seen.rank, seen.place, kReduce, seen.start, seen.end, row, static_cast<std::int64_t>(o));
    }
  }
}

void TraceWriter::write_track(const Track& track, std::vector<TracePiece>& pieces) {
  const auto [rank, channel, lane, stage] = track;
  std::string name = fmt::format("channel {} ", channel);
  if (rows_.front().layout.lanes > 1) name += fmt::format("lane {} ", lane);
  name += kThreads[static_cast<std::size_t>(stage)];
  const std::vector<std::size_t> threads = lay_side_by_side(pieces);
  const std::size_t count = *std::max_element(threads.begin(), threads.end()) + 1;
  constexpr std::int64_t kPlaces = 1000;  // for threads side by side
  const std::int64_t order =
      ((channel * std::int64_t{rows_.front().layout.lanes} + lane) * std::int64_t{kThreads.size()} +
       stage) *
      kPlaces;
  std::vector<std::int64_t> tids;
  for (std::size_t i = 0; i < count; ++i) {
    tids.push_back(events_.add_thread(kFirstRankProcess + rank,
                                      i == 0 ? name : fmt::format("{} +{}", name, i),
                                      order + static_cast<std::int64_t>(i)));
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) write_piece(rank, tids[threads[i]], pieces[i]);
}

void TraceWriter::write_piece(Rank rank, std::int64_t tid, const TracePiece& piece) {
  const RecordedRow& row = row_of(piece);
  const auto index = static_cast<std::size_t>(piece.index);
  std::string_view category = kCategories[static_cast<std::size_t>(piece.stage)];
  SlicePlace place;
  Bytes bytes;
  Rank peer = -1;
  std::string tie;
  const auto tie_to = [&](const ConnectionKey& key, std::int64_t sequence) {
    peer = key.source == rank ? key.destination : key.source;
    tie = fmt::format(R"(,"connection":"{}","sequence":{})", name_of(key), sequence);
  };
  if (piece.stage == kReduce) {
    const ObservedOperation& seen = row.operations[index];
    if (!seen.reduces) category = "copy";
    place = seen.place;
    bytes = seen.bytes;
    if (seen.receives) tie_to(seen.connection, seen.sequence);
  } else {
    const ObservedTransfer& seen = row.transfers[index];
    place = seen.place;
    bytes = seen.bytes;
    tie_to(seen.connection, seen.sequence);
    Arrow& arrow = arrows_[static_cast<std::size_t>(
        first_transfers_[static_cast<std::size_t>(piece.row)] + piece.index)];
    if (piece.stage == kSend) arrow.sender = tid;
    if (piece.stage == kReceive) arrow.receiver = tid;
  }
  events_.slice(
      kFirstRankProcess + rank, tid, category,
      fmt::format("chunk {} slice {}", place.chunk, place.slice), piece.start, piece.end,
      fmt::format(
          R"("step":{},"chunk":{},"slice":{},"bytes":{},"peer":{},"channel":{},"lane":{}{})",
          place.step, place.chunk, place.slice, bytes.count, peer, place.channel, place.lane, tie));
}

void TraceWriter::write_arrows() {
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    for (std::size_t t = 0; t < rows_[i].transfers.size(); ++t) {
      const std::int64_t id = first_transfers_[i] + static_cast<std::int64_t>(t);
      const Arrow& arrow = arrows_[static_cast<std::size_t>(id)];
      if (arrow.sender == 0 || arrow.receiver == 0) continue;
      const ObservedTransfer& seen = rows_[i].transfers[t];
      events_.arrow_start(kFirstRankProcess + seen.connection.source, arrow.sender, id,
                          seen.posted + offsets_[i]);
      events_.arrow_end(kFirstRankProcess + seen.connection.destination, arrow.receiver, id,
                        seen.landing + offsets_[i]);
    }
  }
}

std::int64_t TraceWriter::process_of(const std::string& link) {
  constexpr std::string_view kNode = "node";
  if (link.compare(0, kNode.size(), kNode) != 0) return kNetworkProcess;
  return kFirstNodeProcess + std::stoll(link.substr(kNode.size()));
}

void TraceWriter::write_links() {
  std::map<std::int64_t, std::string> processes;
  const std::vector<ObservedLink>& links = rows_.front().layout.links;
  for (std::size_t link = 0; link < links.size(); ++link) {
    const bool used = std::any_of(rows_.begin(), rows_.end(), [&](const RecordedRow& row) {
      return !row.links[link].busy.intervals().empty();
    });
    if (!used) continue;
    const std::int64_t pid = process_of(links[link].name);
    const std::string owner =
        pid == kNetworkProcess ? "network" : fmt::format("node{}", pid - kFirstNodeProcess);
    if (processes.try_emplace(pid, owner).second) {
      events_.name_process(pid, owner + " links", pid);
    }
    write_link(link);
  }
}

void TraceWriter::write_link(std::size_t link) {
  const std::string& name = rows_.front().layout.links[link].name;
  const std::int64_t pid = process_of(name);
  write_intervals(pid, name, link);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const RecordedLink& seen = rows_[i].links[link];
    write_series(pid, name + " queue", i, seen.queue.depth(), true);
    write_series(pid, name + " paused", i, seen.paused, false);
    write_series(pid, name + " credit stall", i, seen.stalled, false);
  }
}

void TraceWriter::write_intervals(std::int64_t pid, const std::string& name, std::size_t link) {
  const std::string shown = pid == kNetworkProcess ? name : name.substr(name.find('.') + 1);
  const std::int64_t tid = events_.add_thread(pid, shown, static_cast<std::int64_t>(link));
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const BusyIntervals& busy = rows_[i].links[link].busy;
    for (const BusyInterval& interval : busy.intervals()) {
      events_.slice(pid, tid, "busy", "busy", interval.start + offsets_[i],
                    interval.end + offsets_[i],
                    fmt::format(R"("link":"{}","bytes":{},"packets":{},"busy_us":{},"gap_us":{})",
                                name, interval.bytes, interval.services, trace_time(interval.busy),
                                trace_time(busy.gap())));
    }
  }
}

// A value where it changes, and zero at the end.
void TraceWriter::write_series(std::int64_t pid, const std::string& name, std::size_t row,
                               const TimeBins& bins, bool peak) {
  const std::int64_t begin = offsets_[row] + recorder_.settings().from;
  const std::int64_t end = offsets_[row] + std::min(rows_[row].end, recorder_.settings().until);
  std::string last = peak ? R"("bytes":0)" : R"("percent":0.00)";
  const std::string nothing = last;
  std::int64_t time = begin;
  for (const std::int64_t value : bins.values()) {
    const std::int64_t width = std::min(bins.width(), std::max<std::int64_t>(1, end - time));
    const std::string now =
        peak ? fmt::format(R"("bytes":{})", value)
             : fmt::format(R"("percent":{:.2f})",
                           100.0 * static_cast<double>(value) / static_cast<double>(width));
    if (now != last) events_.counter(pid, name, time, now);
    last = now;
    time += bins.width();
  }
  if (last != nothing) events_.counter(pid, name, std::min(time, end), nothing);
}

nlohmann::ordered_json rows_json(const RunRecorder& recorder) {
  auto rows = nlohmann::ordered_json::array();
  std::int64_t offset = 0;
  for (const RecordedRow& row : recorder.rows()) {
    const auto us = [](std::int64_t ps) { return static_cast<double>(ps) * 1e-6; };
    rows.push_back({{"size_bytes", row.layout.size.count},
                    {"start_us", us(offset)},
                    {"time_us", us(row.end)},
                    {"finished", row.finished},
                    {"bin_us", us(row.bin_width)}});
    offset += row.end;
  }
  return rows;
}

}  // namespace

std::vector<std::string> left_out_of_trace(const RunRecorder& recorder) {
  std::vector<std::string> sentences;
  for (const RecordedRow& row : recorder.rows()) {
    if (row.left_out == 0) continue;
    const auto kept = static_cast<std::int64_t>(row.transfers.size() + row.operations.size());
    sentences.push_back(fmt::format(
        "size {} B: {} of {} transfers and reductions are left out, those that were over after "
        "{} of {} us; links are shown to the end",
        row.layout.size.count, row.left_out, row.left_out + kept, trace_time(row.complete_until),
        trace_time(row.end)));
  }
  return sentences;
}

std::int64_t write_trace(const RunRecorder& recorder, const TraceDescription& description,
                         WholeFile& file) {
  nlohmann::ordered_json other{{"schema", "gradhaul.trace/1"},
                               {"program", description.program},
                               {"scenario", description.scenario},
                               {"digest", description.digest},
                               {"left_out", left_out_of_trace(recorder)},
                               {"rows", rows_json(recorder)}};
  TraceEvents events(file,
                     fmt::format("\"displayTimeUnit\": \"ns\",\n\"otherData\": {}", other.dump()));
  TraceWriter(recorder, events).write();
  events.finish();
  return events.count();
}

}  // namespace gradhaul
