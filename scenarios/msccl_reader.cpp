#include "scenarios/msccl_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <pugixml.hpp>
#include <string_view>

#include "scenarios/communication_reader.h"
#include "scenarios/did_you_mean.h"

namespace gradhaul {
namespace {

constexpr int kMost = 1'000'000;        // of anything that is counted
constexpr int kMostChunks = 4'000'000;  // of all ranks, each of them looked at

template <typename Value>
using Words = std::vector<std::pair<std::string_view, Value>>;

const Words<Collective> kCollectives{
    {"allreduce", Collective::kAllReduce},         {"allgather", Collective::kAllGather},
    {"reducescatter", Collective::kReduceScatter}, {"reduce_scatter", Collective::kReduceScatter},
    {"broadcast", Collective::kBroadcast},         {"alltoall", Collective::kAllToAll}};
const Words<Protocol> kProtocols{
    {"Simple", Protocol::kSimple}, {"LL", Protocol::kLl}, {"LL128", Protocol::kLl128}};
const Words<ListedBuffer> kBuffers{
    {"i", ListedBuffer::kInput}, {"o", ListedBuffer::kOutput}, {"s", ListedBuffer::kScratch}};
const Words<ListedAction> kActions{{"s", ListedAction::kSend},
                                   {"r", ListedAction::kReceive},
                                   {"rcs", ListedAction::kReceiveSend},
                                   {"rrc", ListedAction::kReceiveReduce},
                                   {"rrs", ListedAction::kReceiveReduceSend},
                                   {"rrcs", ListedAction::kReceiveReduceKeep},
                                   {"cpy", ListedAction::kCopy},
                                   {"re", ListedAction::kReduce},
                                   {"nop", ListedAction::kNothing}};

class MscclReader {
 public:
  MscclReader(const std::string& text, const std::string& file, Problems& problems)
      : text_(text), file_(file), problems_(problems) {}

  std::optional<MscclAlgorithm> read() {
    const std::size_t before = problems_.size();
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text_.data(), text_.size());
    if (!parsed) {
      add(parsed.offset, fmt::format("no XML: {}", parsed.description()));
      return std::nullopt;
    }
    const pugi::xml_node algo = document.child("algo");
    if (!algo) {
      problems_.add({file_, 1, 1}, "no algorithm of MSCCL: it holds no <algo>");
      return std::nullopt;
    }
    read_algorithm(algo);
    if (problems_.size() != before) return std::nullopt;
    return std::move(result_);
  }

 private:
  void read_algorithm(const pugi::xml_node& algo) {
    ListedAlgorithm& algorithm = result_.algorithm;
    algorithm.name = algo.attribute("name").as_string("listed");
    std::replace_if(
        algorithm.name.begin(), algorithm.name.end(),
        [](unsigned char c) { return c <= ' ' || c == ',' || c == '"' || c >= 0x7F; }, '_');
    if (algorithm.name.empty()) algorithm.name = "listed";
    algorithm.collective = word(algo, "coll", kCollectives);
    if (algo.attribute("proto")) result_.protocol = word(algo, "proto", kProtocols);
    algorithm.chunks = count(algo, "nchunksperloop", 1);
    algorithm.channels = count(algo, "nchannels", 1, kMostChannels);
    algorithm.in_place = algo.attribute("inplace").as_int() != 0;
    const int ranks = count(algo, "ngpus", 2);
    for (const pugi::xml_node& gpu : algo.children("gpu")) read_rank(gpu);
    if (static_cast<int>(algorithm.ranks.size()) != ranks) {
      report(algo,
             fmt::format("ngpus is {}, and there are {} of <gpu>", ranks, algorithm.ranks.size()));
    }
    check_chunks(algo);
  }

  // As many chunks as the collective makes of a message.
  void check_chunks(const pugi::xml_node& algo) {
    const ListedAlgorithm& algorithm = result_.algorithm;
    const auto ranks = static_cast<int>(algorithm.ranks.size());
    const bool gathers = algorithm.collective == Collective::kAllGather;
    const bool scatters = algorithm.collective == Collective::kReduceScatter;
    const bool in_parts = gathers || scatters || algorithm.collective == Collective::kAllToAll;
    if (in_parts && ranks > 0 && algorithm.chunks % ranks != 0) {
      report(algo, fmt::format("nchunksperloop: {} chunks are not the same number for each of {} "
                               "ranks",
                               algorithm.chunks, ranks));
      return;
    }
    std::int64_t chunks = std::int64_t{algorithm.chunks} * ranks;
    for (const ListedRank& rank : algorithm.ranks) chunks += rank.scratch_chunks;
    if (chunks > kMostChunks) {
      report(algo,
             fmt::format("{} chunks of all ranks together are more than {}", chunks, kMostChunks));
      return;
    }
    const int part = ranks > 0 ? algorithm.chunks / ranks : 0;
    for (const ListedRank& rank : algorithm.ranks) {
      check_buffer(rank, "i_chunks", rank.input_chunks, gathers ? part : algorithm.chunks);
      check_buffer(rank, "o_chunks", rank.output_chunks, scatters ? part : algorithm.chunks);
    }
  }

  // A buffer that is never named may be given as empty.
  void check_buffer(const ListedRank& rank, const char* name, int chunks, int expected) {
    if (chunks == expected || chunks == 0) return;
    problems_.add({file_, rank.line, 1},
                  fmt::format("{}: {} chunks, where a message makes {}", name, chunks, expected));
  }

  void read_rank(const pugi::xml_node& gpu) {
    auto& ranks = result_.algorithm.ranks;
    const int id = count(gpu, "id", 0);
    if (id != static_cast<int>(ranks.size())) {
      report(gpu, fmt::format("id: the {}-th <gpu> is {}; they are listed from 0 on, in order",
                              ranks.size() + 1, id));
    }
    ListedRank& rank = ranks.emplace_back();
    rank.line = location(gpu).line;
    rank.input_chunks = count(gpu, "i_chunks", 0);
    rank.output_chunks = count(gpu, "o_chunks", 0);
    rank.scratch_chunks = count(gpu, "s_chunks", 0);
    for (const pugi::xml_node& block : gpu.children("tb")) read_block(block, rank);
  }

  void read_block(const pugi::xml_node& tb, ListedRank& rank) {
    ListedBlock& block = rank.blocks.emplace_back();
    block.line = location(tb).line;
    if (count(tb, "id", 0) != static_cast<int>(rank.blocks.size()) - 1) {
      report(tb, "id: thread blocks of a GPU are listed from 0 on, in order");
    }
    block.channel = count(tb, "chan", 0);
    block.sends_to = count(tb, "send", -1);
    block.receives_from = count(tb, "recv", -1);
    for (const pugi::xml_node& step : tb.children("step")) read_step(step, block);
  }

  void read_step(const pugi::xml_node& from, ListedBlock& block) {
    ListedStep& step = block.steps.emplace_back();
    step.line = location(from).line;
    if (count(from, "s", 0) != static_cast<int>(block.steps.size()) - 1) {
      report(from, "s: steps of a thread block are listed from 0 on, in order");
    }
    step.action = word(from, "type", kActions);
    if (from.attribute("depid")) step.after_block = count(from, "depid", -1);
    if (from.attribute("deps")) step.after_step = count(from, "deps", -1);
    if (step.after_block < 0) step.after_step = -1;
    if (step.action == ListedAction::kNothing) return;
    step.count = count(from, "cnt", 1);
    step.source = chunk(from, "srcbuf", "srcoff");
    step.target = chunk(from, "dstbuf", "dstoff");
  }

  ListedChunk chunk(const pugi::xml_node& from, const char* buffer, const char* offset) {
    // Not every kind of step has both.
    if (!from.attribute(buffer) && !from.attribute(offset)) return {};
    return {word(from, buffer, kBuffers), count(from, offset, -1)};
  }

  int count(const pugi::xml_node& node, const char* name, int least, int most = kMost) {
    const std::string_view text = node.attribute(name).as_string();
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    if (whole && number >= least && number <= most) return number;
    report(node, fmt::format("{}: {} is no whole number from {} to {}", name,
                             text.empty() ? "it is missing, or" : fmt::format("\"{}\"", text),
                             least, most));
    return std::max(least, 0);
  }

  template <typename Value>
  Value word(const pugi::xml_node& node, const char* name, const Words<Value>& words) {
    const std::string text = node.attribute(name).as_string();
    std::vector<std::string> known;
    for (const auto& [written, value] : words) {
      if (text == written) return value;
      known.emplace_back(written);
    }
    report(node, fmt::format("{}: \"{}\" is none of {}{}", name, text, join_or(known),
                             did_you_mean(text, known)));
    return words.front().second;
  }

  Location location(const pugi::xml_node& node) const { return location_of(node.offset_debug()); }
  Location location_of(std::ptrdiff_t offset) const {
    const auto end = text_.begin() + std::clamp<std::ptrdiff_t>(
                                         offset, 0, static_cast<std::ptrdiff_t>(text_.size()));
    const auto line = std::count(text_.begin(), end, '\n') + 1;
    const auto begin = std::find(std::make_reverse_iterator(end), text_.rend(), '\n').base();
    return {file_, static_cast<int>(line), static_cast<int>(end - begin) + 1};
  }
  void add(std::ptrdiff_t offset, const std::string& what) {
    problems_.add(location_of(offset), what);
  }
  void report(const pugi::xml_node& node, const std::string& what) {
    problems_.add(location(node), fmt::format("<{}> {}", node.name(), what));
  }

  const std::string& text_;
  const std::string& file_;
  Problems& problems_;
  MscclAlgorithm result_;
};

}  // namespace

std::optional<MscclAlgorithm> read_msccl(const std::string& text, const std::string& file,
                                         Problems& problems) {
  return MscclReader(text, file, problems).read();
}

}  // namespace gradhaul
