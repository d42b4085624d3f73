#pragma once

// A connection's key among the bytes that ranks tell each other.

#include "backends/bootstrap/wire_bytes.h"
#include "core/connection.h"

namespace gradhaul {

inline void write_key(WireWriter& writer, const ConnectionKey& key) {
  writer.i32(key.channel);
  writer.i32(key.source);
  writer.i32(key.destination);
  writer.i32(key.stream);
}

// Throws WireError.
inline ConnectionKey read_key(WireReader& reader) {
  ConnectionKey key;
  key.channel = reader.i32();
  key.source = reader.i32();
  key.destination = reader.i32();
  key.stream = reader.i32();
  return key;
}

}  // namespace gradhaul
