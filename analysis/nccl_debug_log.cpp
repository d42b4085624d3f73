#include "analysis/nccl_debug_log.h"

#include <algorithm>
#include <array>

#include "analysis/nccl_names.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kMostRanks = 1 << 20;
constexpr std::int64_t kMostChannels = 128;
constexpr std::size_t kMostListed = 4096;   // sizes, ranks of a ring that a log lists
constexpr std::size_t kMostQuoted = 16;     // settings, warnings
constexpr std::size_t kLongestQuote = 200;  // bytes

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Up to the limit, and not within a character.
std::string quote(std::string_view text) {
  if (text.size() <= kLongestQuote) return std::string(text);
  std::size_t end = kLongestQuote;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

void add_quote(std::vector<Seen<std::string>>& quotes, std::string_view text, std::int64_t line) {
  if (quotes.size() >= kMostQuoted) return;
  const std::string quoted = quote(text);
  const bool known = std::any_of(quotes.begin(), quotes.end(),
                                 [&](const auto& seen) { return seen.value == quoted; });
  if (!known) quotes.push_back({quoted, line});
}

// "2.18.3+cuda12.2" -> "2.18.3"
std::string_view version_number(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (text[end] == '.' || (text[end] >= '0' && text[end] <= '9'))) ++end;
  return text.substr(0, std::min<std::size_t>(end, 16));
}

}  // namespace

void NcclDebugLog::read(const LogLine& line) {
  read_version(line);
  for (const std::string_view level : {" NCCL INFO ", " NCCL WARN "}) {
    const std::size_t at = line.text.find(level);
    if (at == std::string_view::npos) continue;
    ++facts_.lines;
    std::string_view message = line.text.substr(at + level.size());
    while (message.starts_with(' ')) message.remove_prefix(1);
    if (level == " NCCL WARN ") {
      add_quote(facts_.warnings, message, line.number);
    } else {
      read_message(message, line.number);
    }
    return;
  }
}

void NcclDebugLog::read_version(const LogLine& line) {
  constexpr std::string_view kKey = "NCCL version ";
  const std::size_t at = line.text.find(kKey);
  if (at == std::string_view::npos || facts_.version) return;
  const std::string_view number = version_number(line.text.substr(at + kKey.size()));
  // "RCCL version" holds the key too, and says which it is.
  if (number.empty()) return;
  const bool rccl = at > 0 && line.text[at - 1] == 'R';
  facts_.version = Seen<std::string>{(rccl ? "RCCL " : "NCCL ") + std::string(number), line.number};
}

void NcclDebugLog::read_message(std::string_view text, std::int64_t line) {
  if (text.starts_with("Channel ") && contains(text, " via ")) return read_transport(text, line);
  if (text.starts_with("Channel ")) return read_channel(text, line);
  if (contains(text, "coll channels")) {
    auto count = integer_after(text, "coll channels:");
    if (!count) count = integer_after(text, "");
    if (count && *count > 0 && *count <= kMostChannels) {
      const int channels = static_cast<int>(*count);
      if (!facts_.channels || channels > facts_.channels->value) {
        facts_.channels = Seen<int>{channels, line};
      }
    }
    return;
  }
  if (text.starts_with("Connected all rings")) {
    facts_.connected = true;
    if (const auto gdr = integer_after(text, " GDR"); gdr && !facts_.rings_use_gdr) {
      facts_.rings_use_gdr = Seen<bool>{*gdr != 0, line};
    }
    return;
  }
  if (contains(text, " Bytes -> Algo ")) return read_size_choice(text, line);
  if (text.starts_with("NCCL_") && contains(text, "set by environment")) {
    return add_quote(facts_.settings, text, line);
  }
  if (contains(text, "NET/") || text.starts_with("Using network")) read_network(text, line);
  read_communicator(text, line);
}

// "Channel 00/16 : 0 1 2 3", "Channel 00/16 :    0   1   2": of a long ring its first ranks.
void NcclDebugLog::read_channel(std::string_view text, std::int64_t line) {
  const auto channel = integer_after(text, "Channel");
  const std::size_t colon = text.find(':');
  if (!channel || *channel < 0 || *channel >= kMostChannels || colon == std::string_view::npos) {
    return;
  }
  const auto of = integer_after(text, "/");
  if (of && *of > 0 && *of <= kMostChannels && !facts_.channels) {
    facts_.channels = Seen<int>{static_cast<int>(*of), line};
  }
  read_ring(text.substr(colon + 1), static_cast<int>(*channel), line);
}

void NcclDebugLog::read_ring(std::string_view text, int channel, std::int64_t line) {
  std::vector<int> ring;
  for (const std::string_view word : words_of(text, kMostListed)) {
    const auto rank = integer_of(word);
    if (!rank || *rank < 0 || *rank >= kMostRanks) break;
    ring.push_back(static_cast<int>(*rank));
  }
  if (ring.empty()) return;
  const auto known = facts_.rings.find(channel);
  // The first communicator's, unless a larger one follows.
  if (known != facts_.rings.end() && known->second.value.size() >= ring.size()) return;
  facts_.rings[channel] = {std::move(ring), line};
}

// "Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA", "… via P2P/IPC/read", "… via
// SHM/direct"
void NcclDebugLog::read_transport(std::string_view text, std::int64_t line) {
  const std::string_view via = text.substr(text.find(" via ") + 5);
  const std::string_view whole = via.substr(0, via.find_first_of(" \t("));
  const std::size_t slash = whole.find('/');
  std::string name(whole.substr(0, slash));
  if (name == "NET" && slash != std::string_view::npos) {
    const std::string_view rest = via.substr(slash + 1);
    // Plugins have blanks in their names: "NET/AWS Libfabric/0".
    const std::size_t next = rest.find('/');
    name += '/';
    name += rest.substr(0, std::min<std::size_t>(next, 40));
    if (next != std::string_view::npos) {
      const auto nic = integer_after(rest, "/");
      if (nic && *nic >= 0 && *nic < 1024) facts_.nics_used.emplace(static_cast<int>(*nic), line);
    }
    if (contains(rest, "GDRDMA")) name += " GDRDMA";
  }
  if (name.empty() || (facts_.transports.size() >= 32 && !facts_.transports.contains(name))) return;
  NcclFacts::Transport& transport = facts_.transports[name];
  if (transport.count++ == 0) {
    transport.line = line;
    transport.example = quote(text);
  }
}

void NcclDebugLog::read_network(std::string_view text, std::int64_t line) {
  // "Using network IB"
  if (text.starts_with("Using network ") && !facts_.network) {
    facts_.network = Seen<std::string>{quote(text.substr(14)), line};
  }
  if (contains(text, "GPU Direct RDMA") && contains(text, "isabled") && !facts_.gdr_disabled) {
    facts_.gdr_disabled = Seen<std::string>{quote(text), line};
  }
  // "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.4<0>"
  if (!text.starts_with("NET/IB : Using ") || facts_.nics) return;
  Seen<std::vector<std::string>> nics{{}, line};
  for (const std::string_view word : words_of(text.substr(0, text.find(';')), 256)) {
    const std::size_t end = word.find(']');
    if (!word.starts_with('[') || end == std::string_view::npos) continue;
    if (!integer_of(word.substr(1, end - 1)) || end + 1 == word.size()) continue;
    nics.value.push_back(quote(word.substr(end + 1)));
  }
  if (!nics.value.empty()) facts_.nics = std::move(nics);
}

// "AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..15}"; before 2.12 with
// numbers, and without the name: "1048576 Bytes -> Algo 1 proto 2 time 51.2".
void NcclDebugLog::read_size_choice(std::string_view text, std::int64_t line) {
  const std::size_t colon = text.find(':');
  const std::size_t bytes_at = text.find(" Bytes ");
  const bool named = colon != std::string_view::npos && colon < bytes_at;
  const auto collective =
      named ? collective_of_function(text.substr(0, colon)) : std::optional<std::string>("");
  const auto bytes = integer_after(named ? text.substr(colon) : text, named ? ":" : "");
  const std::vector<std::string_view> words = words_of(text);
  NcclFacts::Choice choice;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] == "Algo") choice.algorithm = algorithm_of_nccl(words[i + 1].substr(0, 32));
    if (words[i] == "proto") choice.protocol = protocol_of_nccl(words[i + 1].substr(0, 32));
  }
  if (!collective || !bytes || *bytes < 0 || choice.algorithm.empty()) return;
  const auto low = integer_after(text, "={");
  if (const std::size_t dots = text.rfind(".."); low && dots != std::string_view::npos) {
    const auto high = integer_after(text.substr(dots), "..");
    if (high && *low >= 0 && *high >= *low && *high < kMostChannels) {
      choice.channels = static_cast<int>(*high - *low + 1);
    }
  }
  choice.line = line;
  if (facts_.choices.size() < kMostListed) {
    facts_.choices.emplace(std::pair(*collective, *bytes), std::move(choice));
  }
}

// "comm 0x… rank 0 nranks 16 cudaDev 0 …", "comm 0x… rank 0 nRanks 16 nNodes 2 …"
void NcclDebugLog::read_communicator(std::string_view text, std::int64_t line) {
  for (const std::string_view key : {" nranks ", " nRanks ", " nRanks:"}) {
    const auto ranks = integer_after(text, key);
    if (!ranks || *ranks <= 0 || *ranks > kMostRanks) continue;
    if (!facts_.ranks || *ranks > facts_.ranks->value) {
      facts_.ranks = Seen<int>{static_cast<int>(*ranks), line};
    }
  }
}

}  // namespace gradhaul
