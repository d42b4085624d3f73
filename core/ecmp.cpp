#include "core/ecmp.h"

#include "core/assert.h"

namespace gradhaul {
namespace {

// The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) over one number after the other.
class Hash {
 public:
  Hash& add(std::uint64_t number) {
    std::uint64_t x = value_ ^ (number + 0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    value_ = x ^ x >> 31;
    return *this;
  }
  Hash& add(int number) { return add(static_cast<std::uint64_t>(number)); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x65636D70;  // "ecmp"
};

}  // namespace

std::uint16_t udp_source_port(std::uint64_t seed, const ConnectionKey& connection, bool credit,
                              int queue_pair, bool answers) {
  Hash hash;
  hash.add(seed).add(connection.channel).add(connection.source).add(connection.destination);
  hash.add(connection.stream).add(credit ? 1 : 0).add(queue_pair).add(answers ? 1 : 0);
  const std::uint64_t label = hash.value() & 0xFFFFF;
  return static_cast<std::uint16_t>(0xC000 | ((label ^ label >> 14) & 0x3FFF));
}

int ecmp_choice(const FlowAddress& address, std::uint64_t where, int links) {
  GRADHAUL_ASSERT(links >= 1, "there is a link to choose");
  Hash hash;
  hash.add(where).add(address.source_node).add(address.source_nic);
  hash.add(address.destination_node).add(address.destination_nic).add(address.udp_source_port);
  return static_cast<int>(hash.value() % static_cast<std::uint64_t>(links));
}

}  // namespace gradhaul
