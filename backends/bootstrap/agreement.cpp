#include "backends/bootstrap/agreement.h"

#include <algorithm>
#include <string_view>

#include "backends/bootstrap/wire_bytes.h"

namespace gradhaul {
namespace {

// FNV-1a, 64 bits (Fowler, Noll & Vo).
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::byte b : bytes) {
    hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001b3U;
  }
  return hash;
}

std::vector<std::byte> bytes_of(const AgreedValues& values) {
  WireWriter writer;
  writer.u32(static_cast<std::uint32_t>(values.size()));
  for (const auto& [name, value] : values) {
    writer.text(name);
    writer.text(value);
  }
  return writer.bytes();
}

AgreedValues values_of(std::span<const std::byte> bytes) {
  WireReader reader(bytes);
  AgreedValues values;
  const std::uint32_t count = reader.u32();
  for (std::uint32_t i = 0; i < count; ++i) {
    std::string name = reader.text();
    values.emplace_back(std::move(name), reader.text());
  }
  reader.expect_end();
  return values;
}

const std::string* find(const AgreedValues& values, std::string_view name) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [name](const auto& value) { return value.first == name; });
  return found == values.end() ? nullptr : &found->second;
}

std::string sentence(Rank rank, const std::string& name, const std::string* theirs,
                     const std::string* of_rank0) {
  const auto says = [](const std::string* value) { return value ? *value : "nothing of it"; };
  return "rank " + std::to_string(rank) + " uses " + name + " " + says(theirs) + ", rank 0 " +
         says(of_rank0);
}

}  // namespace

std::optional<std::string> first_difference(const AgreedValues& rank0, const AgreedValues& other,
                                            Rank rank) {
  for (const auto& [name, value] : rank0) {
    const std::string* theirs = find(other, name);
    if (theirs == nullptr || *theirs != value) return sentence(rank, name, theirs, &value);
  }
  for (const auto& [name, value] : other) {
    if (find(rank0, name) == nullptr) return sentence(rank, name, &value, nullptr);
  }
  return std::nullopt;
}

std::optional<std::string> disagreement(Exchange& exchange, const AgreedValues& values) {
  const std::vector<std::byte> bytes = bytes_of(values);
  WireWriter hash;
  hash.number(hash_of(bytes), 8);
  const auto hashes = exchange.all_gather(hash.bytes());
  const bool same = std::all_of(hashes.begin(), hashes.end(),
                                [&hashes](const auto& h) { return h == hashes.front(); });
  if (same) return std::nullopt;
  const auto all = exchange.all_gather(bytes);
  try {
    const AgreedValues rank0 = values_of(all.front());
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
      auto difference = first_difference(rank0, values_of(all[rank]), static_cast<Rank>(rank));
      if (difference) return difference;
    }
  } catch (const WireError& error) {
    throw ExchangeError(std::string("what ranks say of their settings can't be read: ") +
                        error.what());
  }
  return "ranks say the same in another order: they are of different versions";
}

}  // namespace gradhaul
