#include "analysis/run_recorder.h"

#include <algorithm>
#include <utility>

namespace gradhaul {
namespace {

// A link has intervals and three series; half of all events are for links.
constexpr std::int64_t kPartsOfLink = 4;
constexpr std::int64_t kLeastOfLink = 16;
constexpr std::int64_t kMostOfLink = 4096;

bool begins_with(const std::string& name, const std::string& part) {
  return name.compare(0, part.size(), part) == 0 &&
         (name.size() == part.size() || name[part.size()] == '.' || name[part.size()] == '-');
}

}  // namespace

RunRecorder::RunRecorder(RecordingSettings settings) : settings_(std::move(settings)) {}

bool RunRecorder::watches(const ObservedLink& link) const {
  return settings_.links.empty() ||
         std::any_of(settings_.links.begin(), settings_.links.end(),
                     [&](const std::string& part) { return begins_with(link.name, part); });
}

void RunRecorder::on_row(const RunLayout& layout) {
  RecordedRow& added = rows_.emplace_back();
  added.layout = layout;
  const std::int64_t of_row = settings_.most_events / std::max(1, settings_.rows) / 2;
  room_ = of_row;
  const std::int64_t watched = std::count_if(layout.links.begin(), layout.links.end(),
                                             [&](const ObservedLink& l) { return watches(l); });
  const std::int64_t most = std::clamp(of_row / kPartsOfLink / std::max<std::int64_t>(1, watched),
                                       kLeastOfLink, kMostOfLink);
  added.links.assign(layout.links.size(), RecordedLink(static_cast<std::size_t>(most)));
}

bool RunRecorder::has_room(std::int64_t events, std::int64_t now) {
  if (row().complete_until < 0 && room_ >= events) {
    room_ -= events;
    return true;
  }
  // From there on none is kept, so that what is shown is whole up to a time.
  if (row().complete_until < 0) row().complete_until = now;
  ++row().left_out;
  return false;
}

void RunRecorder::on_transfer(const ObservedTransfer& transfer) {
  const std::int64_t over = std::max(transfer.arrived, transfer.done);
  if (!within(transfer.ready, over)) return;
  if (!keeps(transfer.connection.source) && !keeps(transfer.connection.destination)) return;
  if (has_room(kEventsOfTransfer, over)) row().transfers.push_back(transfer);
}

void RunRecorder::on_operation(const ObservedOperation& operation) {
  if (!within(operation.start, operation.end) || !keeps(operation.rank)) return;
  if (has_room(1, operation.asked)) row().operations.push_back(operation);
}

std::int64_t RunRecorder::clipped(std::int64_t time) const {
  return std::clamp(time, settings_.from, settings_.until) - settings_.from;
}

void RunRecorder::on_service(const ObservedService& service) {
  if (!within(service.start, service.end)) return;
  link(service.link).busy.add(service.start, service.end, service.wire.count);
}

void RunRecorder::on_queued(std::int32_t number, std::int64_t time, Bytes wire) {
  link(number).queue.change(clipped(time), wire.count);
}

void RunRecorder::on_hold(std::int32_t number, HoldCause cause, std::int64_t since,
                          std::int64_t until) {
  RecordedLink& held = link(number);
  TimeBins& bins = cause == HoldCause::kPaused ? held.paused : held.stalled;
  bins.add(clipped(since), clipped(until));
}

void RunRecorder::on_row_end(std::int64_t end, bool finished) {
  row().end = end;
  row().finished = finished;
  std::int64_t width = TimeBins::kLeastWidth;
  for (RecordedLink& recorded : row().links) {
    recorded.queue.end(clipped(end));
    for (const TimeBins* bins : {&recorded.queue.depth(), &recorded.paused, &recorded.stalled}) {
      width = std::max(width, bins->width());
    }
  }
  for (RecordedLink& recorded : row().links) {
    for (TimeBins* bins : {&recorded.queue.depth(), &recorded.paused, &recorded.stalled}) {
      bins->widen(width);
    }
  }
  row().bin_width = width;
}

}  // namespace gradhaul
