#include "analysis/packet_capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace gradhaul {
namespace {

constexpr std::size_t kChunk = 1 << 18;
constexpr std::uint32_t kNanosecondMagic = 0xA1B2'3C4D;
constexpr std::uint32_t kEthernetLink = 1;
constexpr std::uint32_t kErfLink = 197;
constexpr std::size_t kRecordHeader = 16;
constexpr std::int64_t kPsPerNs = 1000;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

void put(std::string& to, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i) & 0xFF);
}

std::string file_header(const CaptureSettings& settings) {
  std::string header;
  put(header, kNanosecondMagic, 4);
  put(header, 2, 2);
  put(header, 4, 2);
  put(header, 0, 4);
  put(header, 0, 4);
  put(header, static_cast<std::uint32_t>(settings.snap), 4);
  put(header, settings.infiniband ? kErfLink : kEthernetLink, 4);
  return header;
}

void put_high_first(std::string& to, std::uint32_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) to += static_cast<char>(value >> (8 * i) & 0xFF);
}

// Endace's extensible record format: the time in seconds and 2^-32 of them, type 21 (InfiniBand),
// a flag (records of varying length), the lengths of the record and of the packet.
std::string record_header(std::int64_t ns, const CapturedFrame& frame) {
  std::string header;
  put(header,
      static_cast<std::uint32_t>((static_cast<std::uint64_t>(ns % kNsPerSecond) << 32) /
                                 static_cast<std::uint64_t>(kNsPerSecond)),
      4);
  put(header, static_cast<std::uint32_t>(ns / kNsPerSecond), 4);
  put(header, 21, 1);
  put(header, 4, 1);
  put_high_first(header, static_cast<std::uint32_t>(kRecordHeader + frame.bytes.size()), 2);
  put(header, 0, 2);
  put_high_first(header, static_cast<std::uint32_t>(frame.length), 2);
  return header;
}

}  // namespace

std::string capture_name(const std::string& port) {
  std::string name = port + ".pcap";
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

PacketCapture::PacketCapture(CaptureSettings settings) : settings_(std::move(settings)) {
  for (const std::string& port : settings_.ports) {
    const std::string path =
        (std::filesystem::path(settings_.folder) / capture_name(port)).string();
    files_.push_back({path, WholeFile(path), file_header(settings_)});
  }
}

bool PacketCapture::wants(std::int32_t port, std::int64_t time) {
  if (time < settings_.from || time >= settings_.until) return false;
  Port& captured = files_[static_cast<std::size_t>(port)];
  if (captured.kept < settings_.most_packets) return true;
  ++captured.left_out;
  return false;
}

void PacketCapture::on_packet(const PortPacket& packet) {
  if (!wants(packet.port, packet.time)) return;
  add(packet.port, packet.time,
      settings_.infiniband
          ? infiniband_frame(packet, settings_.nics, settings_.snap, settings_.form)
          : roce_frame(packet, settings_.snap, settings_.form));
}

void PacketCapture::on_pause_frame(const PortPause& pause) {
  if (wants(pause.port, pause.time)) add(pause.port, pause.time, pause_frame(pause));
}

void PacketCapture::add(std::int32_t port, std::int64_t time, const CapturedFrame& frame) {
  Port& captured = files_[static_cast<std::size_t>(port)];
  ++captured.kept;
  captured.last = time;
  const std::int64_t ns = (offset_ + time) / kPsPerNs;
  put(captured.text, static_cast<std::uint32_t>(ns / kNsPerSecond), 4);
  put(captured.text, static_cast<std::uint32_t>(ns % kNsPerSecond), 4);
  const std::string record = settings_.infiniband ? record_header(ns, frame) : "";
  put(captured.text, static_cast<std::uint32_t>(record.size() + frame.bytes.size()), 4);
  put(captured.text, static_cast<std::uint32_t>(record.size() + frame.length), 4);
  captured.text += record;
  captured.text.append(frame.bytes.begin(), frame.bytes.end());
  if (captured.text.size() > kChunk) write_out(captured);
}

void PacketCapture::write_out(Port& port) {
  port.file.write(port.text);
  port.text.clear();
}

void PacketCapture::on_row_end(std::int64_t end) { offset_ += end; }

std::vector<std::string> PacketCapture::commit() {
  std::vector<std::string> sentences;
  for (Port& port : files_) {
    write_out(port);
    port.file.commit();
    std::string sentence = fmt::format("{}: {} packets", port.path, port.kept);
    if (port.left_out > 0) {
      sentence += fmt::format(
          "; {} more are left out, those after {:.6f} us (--pcap-limit allows more, "
          "--pcap-window shows others)",
          port.left_out, static_cast<double>(port.last) * 1e-6);
    }
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace gradhaul
