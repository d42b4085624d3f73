#pragma once

// Captures of chosen ports of a simulated run, one file each, as tcpdump and ibdump write them:
// pcap with nanoseconds, RoCEv2 over Ethernet (LINKTYPE 1), or InfiniBand in ERF records (LINKTYPE
// 197: Wireshark does not read LINKTYPE_INFINIBAND). What a port sends and what it receives are in
// one file, in the order of time.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "analysis/captured_frame.h"
#include "analysis/write_file_whole.h"
#include "core/port_observer.h"

namespace gradhaul {

struct CaptureSettings {
  std::string folder;
  std::vector<std::string> ports;
  int nics = 1;  // of a node
  bool infiniband = false;
  FrameForm form;
  // Bytes of a packet that are kept. Payloads that are cut short make Wireshark 4.0 doubt the
  // length in LRH.
  std::size_t snap = 65535;
  std::int64_t from = 0;  // ps of each row
  std::int64_t until = std::numeric_limits<std::int64_t>::max();
  std::int64_t most_packets = 100'000;  // of each port
};

class PacketCapture final : public PortObserver {
 public:
  // Throws FileError where a file cannot be written.
  explicit PacketCapture(CaptureSettings settings);

  // Throws FileError where writing fails. Rows follow each other in time.
  const std::vector<std::string>& ports() const override { return settings_.ports; }
  void on_packet(const PortPacket& packet) override;
  void on_pause_frame(const PortPause& pause) override;
  void on_row_end(std::int64_t end) override;

  // Puts the files in their places. What they hold and lack, as sentences. Throws FileError.
  std::vector<std::string> commit();

 private:
  struct Port {
    std::string path;
    WholeFile file;
    std::string text;  // not yet written
    std::int64_t kept = 0;
    std::int64_t left_out = 0;
    std::int64_t last = 0;  // ps; of the last that was kept
  };

  void add(std::int32_t port, std::int64_t time, const CapturedFrame& frame);
  bool wants(std::int32_t port, std::int64_t time);
  void write_out(Port& port);

  CaptureSettings settings_;
  std::vector<Port> files_;
  std::int64_t offset_ = 0;  // of the row
};

// The file of a port: "node0.nic0.pcap", "leaf0_3.pcap".
std::string capture_name(const std::string& port);

}  // namespace gradhaul
