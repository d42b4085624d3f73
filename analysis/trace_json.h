#pragma once

// A recorded run as a file in the Trace Event Format (Google, "Trace Event Format", JSON object
// form), which opens in ui.perfetto.dev: ranks are processes, channels their threads, with the
// slices that were sent, in flight, received, reduced; links are threads with busy intervals, and
// counters of what waits before them, of pauses and credit stalls. Several sizes lie one behind the
// other. Schema gradhaul.trace/1:
//
//   slices ("X"), by "cat"   process              thread                     from … to
//   send                     rank R (nodeN.gpuG)  channel C send             posted … completed
//   flight                   of the sender        channel C flight           leaves … has landed
//   receive                  of the receiver      channel C receive          first packet there …
//                                                                            known to the kernel
//   slot                     of the sender        channel C wait for slot    … until posted
//   reduce, copy             rank R               channel C reduce           the kernel's work
//   busy                     nodeN links          nic0.out                   merged intervals
//   row                      run                  sizes                      one size
//
// Threads of channels with lanes are "channel C lane L send"; what overlaps is in further threads
// " +1", " +2". A slice's stages share "connection" and "sequence" in their args. Counters ("C"):
// "LINK queue" {"bytes"}, the most that waited within a bin; "LINK paused" and "LINK credit stall"
// {"percent"} of the bin. Arrows ("s", "f") go from send to receive.

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/run_recorder.h"
#include "analysis/write_file_whole.h"

namespace gradhaul {

struct TraceDescription {
  std::string program;   // "gradhaul 0.1.0"
  std::string scenario;  // its name
  std::string digest;    // of the run, as the table has it; empty where it was interrupted
};

// What the trace lacks, as sentences.
std::vector<std::string> left_out_of_trace(const RunRecorder& recorder);

// How many events were written. Throws FileError.
std::int64_t write_trace(const RunRecorder& recorder, const TraceDescription& description,
                         WholeFile& file);

}  // namespace gradhaul
