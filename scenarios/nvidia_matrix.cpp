#include "scenarios/nvidia_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

namespace gradhaul {
namespace {

constexpr std::size_t kMostDevices = 64;
constexpr int kMostLinks = 64;

// The number behind "GPU", "NIC" or "NV".
std::optional<int> numbered(std::string_view word, std::string_view kind) {
  if (!word.starts_with(kind)) return std::nullopt;
  word.remove_prefix(kind.size());
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc{} || end != word.data() + word.size() || number < 0) return std::nullopt;
  return number;
}

std::optional<NvidiaRelation> relation_of(std::string_view word) {
  static constexpr std::pair<std::string_view, NvidiaDistance> kWords[] = {
      {"X", NvidiaDistance::kSelf},  {"PIX", NvidiaDistance::kPix},   {"PXB", NvidiaDistance::kPxb},
      {"PHB", NvidiaDistance::kPhb}, {"NODE", NvidiaDistance::kNode}, {"SYS", NvidiaDistance::kSys},
      {"SOC", NvidiaDistance::kSys}};
  for (const auto& [name, distance] : kWords) {
    if (word == name) return NvidiaRelation{distance, 0};
  }
  const auto links = numbered(word, "NV");
  if (!links || *links < 1 || *links > kMostLinks) return std::nullopt;
  return NvidiaRelation{NvidiaDistance::kNvlink, *links};
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

class MatrixReader {
 public:
  MatrixReader(const std::string& file, Problems& problems) : file_(file), problems_(problems) {}

  std::optional<NvidiaMatrix> read(const std::string& lines) {
    std::istringstream stream(lines);
    int number = 0;
    for (std::string line; std::getline(stream, line);) {
      ++number;
      const std::vector<std::string> words = words_of(line);
      if (words.empty()) continue;
      if (matrix_.devices.empty()) {
        read_head(words, number);
      } else if (words.size() == 2 && words[0].ends_with(':')) {
        read_alias(words);
      } else {
        read_row(words, number);
      }
      if (!problems_.empty()) return std::nullopt;
    }
    check(number);
    if (!problems_.empty()) return std::nullopt;
    return std::move(matrix_);
  }

 private:
  void fail(int line, const std::string& what) { problems_.add({file_, line, 1}, what); }

  // Rows begin with a device too, but go on with what lies between it and others.
  void read_head(const std::vector<std::string>& words, int line) {
    if (!numbered(words[0], "GPU")) return;
    if (words.size() > 1 && relation_of(words[1])) {
      fail(line, fmt::format("the row of {} stands before any line that names the columns (GPU0 "
                             "GPU1 …): the beginning is cut off",
                             words[0]));
      return;
    }
    for (const std::string& word : words) {
      if (word == "CPU" || word == "NUMA") break;
      const auto same = [&](const NvidiaMatrix::Device& device) { return device.name == word; };
      if (std::any_of(matrix_.devices.begin(), matrix_.devices.end(), same)) {
        fail(line, fmt::format("{} has two columns", word.substr(0, 40)));
        return;
      }
      if (matrix_.devices.size() == kMostDevices) {
        fail(line, fmt::format("more than {} columns", kMostDevices));
        return;
      }
      NvidiaMatrix::Device device;
      device.name = word;
      device.gpu = numbered(word, "GPU").has_value();
      matrix_.devices.push_back(device);
    }
    matrix_.of.resize(matrix_.devices.size());
  }

  void read_row(const std::vector<std::string>& words, int line) {
    std::size_t row = 0;
    while (row < matrix_.devices.size() && matrix_.devices[row].name != words[0]) ++row;
    // The legend, or a prompt.
    if (row == matrix_.devices.size()) return;
    NvidiaMatrix::Device& device = matrix_.devices[row];
    if (device.line != 0) {
      fail(line,
           fmt::format("{} has a second row; its first is line {}", device.name, device.line));
      return;
    }
    device.line = line;
    const std::size_t columns = matrix_.devices.size();
    if (words.size() < columns + 1) {
      fail(line, fmt::format("the row of {} ends after {} of {} columns", device.name,
                             words.size() - 1, columns));
      return;
    }
    for (std::size_t column = 0; column < columns; ++column) {
      const auto relation = relation_of(words[column + 1]);
      if (!relation) {
        fail(line, fmt::format("\"{}\" between {} and {} is none of X, NVn, PIX, PXB, PHB, NODE "
                               "and SYS",
                               words[column + 1].substr(0, 40), device.name,
                               matrix_.devices[column].name));
        return;
      }
      matrix_.of[row].push_back(*relation);
    }
    // The affinities of CPUs and of memory.
    const bool told = words.size() > columns + 2 && words[columns + 2] != "N/A";
    if (device.gpu && told) device.numa = words[columns + 2];
  }

  void read_alias(const std::vector<std::string>& words) {
    for (NvidiaMatrix::Device& device : matrix_.devices) {
      if (words[0] == device.name + ":") device.alias = words[1].substr(0, 40);
    }
  }

  void check(int last) {
    if (matrix_.devices.empty()) {
      fail(1, "no output of nvidia-smi topo -m: no line names GPUs (GPU0 GPU1 …)");
      return;
    }
    for (const NvidiaMatrix::Device& device : matrix_.devices) {
      if (device.line != 0) continue;
      fail(last, fmt::format("the row of {} is missing", device.name));
      return;
    }
    for (std::size_t row = 0; row < matrix_.devices.size(); ++row) {
      for (std::size_t column = 0; column <= row; ++column) check(row, column);
    }
  }

  void check(std::size_t row, std::size_t column) {
    const NvidiaRelation& here = matrix_.of[row][column];
    const NvidiaRelation& there = matrix_.of[column][row];
    const NvidiaMatrix::Device& device = matrix_.devices[row];
    const bool self = here.distance == NvidiaDistance::kSelf;
    if (self != (row == column)) {
      fail(device.line, fmt::format("X stands for a device itself, and not for {} and {}",
                                    device.name, matrix_.devices[column].name));
    } else if (here.distance != there.distance || here.links != there.links) {
      fail(device.line, fmt::format("{} to {} is {}, and the other way round {}", device.name,
                                    matrix_.devices[column].name, name_of(here.distance),
                                    name_of(there.distance)));
    }
  }

  const std::string& file_;
  Problems& problems_;
  NvidiaMatrix matrix_;
};

}  // namespace

std::string_view name_of(NvidiaDistance distance) {
  switch (distance) {
    case NvidiaDistance::kSelf:
      return "X";
    case NvidiaDistance::kPix:
      return "PIX";
    case NvidiaDistance::kPxb:
      return "PXB";
    case NvidiaDistance::kPhb:
      return "PHB";
    case NvidiaDistance::kNode:
      return "NODE";
    case NvidiaDistance::kSys:
      return "SYS";
    case NvidiaDistance::kNvlink:
      return "NV";
  }
  return "?";
}

std::optional<NvidiaMatrix> read_nvidia_matrix(const std::string& lines, const std::string& file,
                                               Problems& problems) {
  return MatrixReader(file, problems).read(lines);
}

}  // namespace gradhaul
