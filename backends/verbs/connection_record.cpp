#include "backends/verbs/connection_record.h"

#include <concepts>
#include <cstring>

#include "backends/verbs/verbs_error.h"

namespace gradhaul {
namespace {

constexpr std::uint32_t kMagic = 0x47485642;  // "GHVB"
constexpr std::uint32_t kVersion = 2;

class RecordWriter {
 public:
  template <std::unsigned_integral T>
  void number(T value) {
    for (int shift = 8 * (static_cast<int>(sizeof(T)) - 1); shift >= 0; shift -= 8) {
      bytes_.push_back(static_cast<std::byte>(value >> shift & 0xff));
    }
  }
  void signed_number(std::int32_t value) { number(static_cast<std::uint32_t>(value)); }
  void text(const std::string& value) {
    number(static_cast<std::uint32_t>(value.size()));
    for (const char c : value) bytes_.push_back(static_cast<std::byte>(c));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class RecordReader {
 public:
  explicit RecordReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <std::unsigned_integral T>
  T number() {
    need(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value = value << 8 | std::to_integer<std::uint64_t>(bytes_[i]);
    }
    bytes_ = bytes_.subspan(sizeof(T));
    return static_cast<T>(value);
  }
  std::int32_t signed_number() { return static_cast<std::int32_t>(number<std::uint32_t>()); }
  std::string text() {
    const auto length = number<std::uint32_t>();
    need(length);
    std::string value(reinterpret_cast<const char*>(bytes_.data()), length);
    bytes_ = bytes_.subspan(length);
    return value;
  }
  // How many entries follow, each of at least `least` bytes: never more than the bytes hold.
  std::uint32_t count(std::size_t least) {
    const auto value = number<std::uint32_t>();
    need(value * least);
    return value;
  }
  bool done() const { return bytes_.empty(); }

 private:
  void need(std::size_t length) const {
    if (length > bytes_.size()) throw VerbsError("a record of connections ends too early");
  }
  std::span<const std::byte> bytes_;
};

void write(RecordWriter& writer, const RailRecord& rail) {
  writer.text(rail.device);
  writer.number(rail.port);
  writer.number(rail.link_layer);
  writer.number(rail.active_mtu);
  writer.number(rail.lid);
  writer.number(rail.pkey);
  writer.number(rail.gid_type);
  for (const std::uint8_t byte : rail.gid) writer.number(byte);
}

RailRecord read_rail(RecordReader& reader) {
  RailRecord rail;
  rail.device = reader.text();
  rail.port = reader.number<std::uint8_t>();
  rail.link_layer = reader.number<std::uint8_t>();
  rail.active_mtu = reader.number<std::uint8_t>();
  rail.lid = reader.number<std::uint16_t>();
  rail.pkey = reader.number<std::uint16_t>();
  rail.gid_type = reader.number<std::uint32_t>();
  for (std::uint8_t& byte : rail.gid) byte = reader.number<std::uint8_t>();
  if (rail.active_mtu < 1 || rail.active_mtu > 5) throw VerbsError("a port without an MTU");
  return rail;
}

void write(RecordWriter& writer, const EndRecord& end) {
  writer.signed_number(end.key.channel);
  writer.signed_number(end.key.source);
  writer.signed_number(end.key.destination);
  writer.signed_number(end.key.stream);
  writer.number(static_cast<std::uint8_t>(end.sends));
  writer.number(end.rail);
  writer.number(end.slots_address);
  writer.number(end.slots_key);
  writer.number(static_cast<std::uint32_t>(end.queue_pairs.size()));
  for (const QueuePairRecord& pair : end.queue_pairs) {
    writer.number(pair.number);
    writer.number(pair.packet_number);
  }
}

EndRecord read_end(RecordReader& reader, std::size_t rails) {
  EndRecord end;
  end.key.channel = reader.signed_number();
  end.key.source = reader.signed_number();
  end.key.destination = reader.signed_number();
  end.key.stream = reader.signed_number();
  end.sends = reader.number<std::uint8_t>() != 0;
  end.rail = reader.number<std::uint32_t>();
  end.slots_address = reader.number<std::uint64_t>();
  end.slots_key = reader.number<std::uint32_t>();
  if (end.rail >= rails) throw VerbsError("a connection by a port that its rank does not have");
  const std::uint32_t pairs = reader.count(8);
  for (std::uint32_t i = 0; i < pairs; ++i) {
    QueuePairRecord& pair = end.queue_pairs.emplace_back();
    pair.number = reader.number<std::uint32_t>();
    pair.packet_number = reader.number<std::uint32_t>();
  }
  return end;
}

}  // namespace

std::vector<std::byte> encode(const ConnectionRecord& record) {
  RecordWriter writer;
  writer.number(kMagic);
  writer.number(kVersion);
  writer.text(record.error);
  writer.number(record.slots);
  writer.number(record.slot_size);
  writer.number(record.queue_pairs);
  writer.number(static_cast<std::uint8_t>(record.split_writes));
  writer.number(static_cast<std::uint8_t>(record.immediate_apart));
  writer.number(static_cast<std::uint32_t>(record.rails.size()));
  for (const RailRecord& rail : record.rails) write(writer, rail);
  writer.number(static_cast<std::uint32_t>(record.ends.size()));
  for (const EndRecord& end : record.ends) write(writer, end);
  return writer.take();
}

ConnectionRecord decode(std::span<const std::byte> bytes) {
  RecordReader reader(bytes);
  if (reader.number<std::uint32_t>() != kMagic) throw VerbsError("no record of connections");
  if (const auto version = reader.number<std::uint32_t>(); version != kVersion) {
    throw VerbsError("a record of connections of version " + std::to_string(version) +
                     ", where this program has " + std::to_string(kVersion) +
                     ": run one version on all ranks");
  }
  ConnectionRecord record;
  record.error = reader.text();
  record.slots = reader.number<std::uint32_t>();
  record.slot_size = reader.number<std::uint64_t>();
  record.queue_pairs = reader.number<std::uint32_t>();
  record.split_writes = reader.number<std::uint8_t>() != 0;
  record.immediate_apart = reader.number<std::uint8_t>() != 0;
  const std::uint32_t rails = reader.count(31);
  for (std::uint32_t i = 0; i < rails; ++i) record.rails.push_back(read_rail(reader));
  const std::uint32_t ends = reader.count(37);
  for (std::uint32_t i = 0; i < ends; ++i) record.ends.push_back(read_end(reader, rails));
  if (!reader.done()) throw VerbsError("a record of connections has bytes left over");
  return record;
}

std::string first_difference(const ConnectionRecord& rank0, const ConnectionRecord& other) {
  struct Setting {
    const char* name;
    std::uint64_t there;
    std::uint64_t here;
  };
  for (const Setting& setting :
       {Setting{"slot_size", rank0.slot_size, other.slot_size},
        Setting{"slots", rank0.slots, other.slots},
        Setting{"queue_pairs", rank0.queue_pairs, other.queue_pairs},
        Setting{"split", rank0.split_writes ? 1U : 0U, other.split_writes ? 1U : 0U},
        Setting{"immediate apart", rank0.immediate_apart ? 1U : 0U,
                other.immediate_apart ? 1U : 0U}}) {
    if (setting.there == setting.here) continue;
    return std::string(setting.name) + " is " + std::to_string(setting.here) + ", that of rank 0 " +
           std::to_string(setting.there);
  }
  return "";
}

}  // namespace gradhaul
