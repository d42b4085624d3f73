#pragma once

// What NCCL writes with NCCL_DEBUG=INFO (its src/init.cc, src/transport/net_ib.cc, src/enqueue.cc;
// releases 2.4 to 2.30, and RCCL): version, channels, rings, transports, GPUDirect, network
// devices, what the tuner chose for a size, settings and warnings. All ranks' lines may be mixed;
// what they repeat is counted. One pass, memory bounded whatever the log holds.

#include <string_view>

#include "analysis/compared_run.h"
#include "analysis/log_lines.h"

namespace gradhaul {

class NcclDebugLog {
 public:
  void read(const LogLine& line);
  const NcclFacts& facts() const { return facts_; }

 private:
  void read_version(const LogLine& line);
  void read_message(std::string_view text, std::int64_t line);
  void read_channel(std::string_view text, std::int64_t line);
  void read_ring(std::string_view text, int channel, std::int64_t line);
  void read_transport(std::string_view text, std::int64_t line);
  void read_network(std::string_view text, std::int64_t line);
  void read_size_choice(std::string_view text, std::int64_t line);
  void read_communicator(std::string_view text, std::int64_t line);

  NcclFacts facts_;
};

}  // namespace gradhaul
