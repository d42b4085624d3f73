#include "backends/host/driver_counters.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace gradhaul {
namespace {

constexpr std::uint32_t kMostCounters = 65536;

// Requests of one interface.
class DriverRequests {
 public:
  explicit DriverRequests(const std::string& interface)
      : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)), interface_(interface) {}
  ~DriverRequests() {
    if (socket_ >= 0) close(socket_);
  }
  DriverRequests(const DriverRequests&) = delete;
  DriverRequests& operator=(const DriverRequests&) = delete;

  // `data` begins with the command and has room for its answer.
  bool ask(std::vector<std::uint64_t>& data) const {
    ifreq request{};
    if (socket_ < 0 || interface_.size() >= sizeof request.ifr_name) return false;
    std::memcpy(request.ifr_name, interface_.data(), interface_.size());
    request.ifr_data = reinterpret_cast<char*>(data.data());
    return ioctl(socket_, SIOCETHTOOL, &request) == 0;
  }

 private:
  int socket_;
  std::string interface_;
};

std::vector<std::uint64_t> buffer_of(std::size_t bytes) {
  return std::vector<std::uint64_t>(bytes / sizeof(std::uint64_t) + 2);
}

}  // namespace

std::vector<CounterValue> read_driver_counters(const std::string& interface) {
  const DriverRequests requests(interface);
  auto info_data = buffer_of(sizeof(ethtool_drvinfo));
  ethtool_drvinfo info{};
  info.cmd = ETHTOOL_GDRVINFO;
  std::memcpy(info_data.data(), &info, sizeof info);
  if (!requests.ask(info_data)) return {};
  std::memcpy(&info, info_data.data(), sizeof info);
  const std::uint32_t count = info.n_stats;
  if (count == 0 || count > kMostCounters) return {};

  ethtool_gstrings names{};
  names.cmd = ETHTOOL_GSTRINGS;
  names.string_set = ETH_SS_STATS;
  names.len = count;
  auto name_data = buffer_of(sizeof names + std::size_t{count} * ETH_GSTRING_LEN);
  std::memcpy(name_data.data(), &names, sizeof names);
  ethtool_stats values{};
  values.cmd = ETHTOOL_GSTATS;
  values.n_stats = count;
  auto value_data = buffer_of(sizeof values + std::size_t{count} * sizeof(std::uint64_t));
  std::memcpy(value_data.data(), &values, sizeof values);
  if (!requests.ask(name_data) || !requests.ask(value_data)) return {};

  std::vector<CounterValue> counters;
  const char* name = reinterpret_cast<const char*>(name_data.data()) + sizeof names;
  const char* value = reinterpret_cast<const char*>(value_data.data()) + sizeof values;
  for (std::uint32_t i = 0; i < count; ++i) {
    CounterValue counter;
    counter.name.assign(name, strnlen(name, ETH_GSTRING_LEN));
    std::memcpy(&counter.value, value, sizeof counter.value);
    counters.push_back(counter);
    name += ETH_GSTRING_LEN;
    value += sizeof counter.value;
  }
  return counters;
}

}  // namespace gradhaul
