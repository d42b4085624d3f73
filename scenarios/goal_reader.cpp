#include "scenarios/goal_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <map>

#include "scenarios/references.h"
#include "scenarios/sha256.h"

namespace gradhaul {
namespace {

constexpr std::int64_t kMostRanks = 65'536;
constexpr std::size_t kMostOperations = 1'000'000;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
constexpr std::int64_t kMostNanoseconds = 86'400'000'000'000;  // a day

struct Token {
  std::string_view text;
  int line = 1;
  int column = 1;
};

// Words and the signs { } and :, without comments.
std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  std::size_t line_begin = 0;
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ||
           c == '+';
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    std::size_t length = 1;
    if (rest.front() == '#' || rest.starts_with("//")) {
      length = std::min(rest.find('\n'), rest.size());
    } else if (rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/", 2);
      length = end == rest.npos ? rest.size() : end + 2;
    } else if (std::isspace(static_cast<unsigned char>(rest.front())) == 0) {
      while (is_word(rest.front()) && length < rest.size() && is_word(rest[length])) ++length;
      tokens.push_back({rest.substr(0, length), line, static_cast<int>(at - line_begin) + 1});
    }
    for (const std::size_t end = at + length; at < end; ++at) {
      if (text[at] != '\n') continue;
      ++line;
      line_begin = at + 1;
    }
  }
  return tokens;
}

class GoalReader {
 public:
  GoalReader(const std::string& text, const std::string& file, Problems& problems)
      : tokens_(tokens_of(text)), file_(file), problems_(problems) {}

  std::optional<GoalProgram> read() {
    const std::size_t before = problems_.size();
    if (take_word("num_ranks")) {
      program_.ranks.resize(static_cast<std::size_t>(number("a number of ranks", 1, kMostRanks)));
      while (problems_.size() == before && at_ < tokens_.size()) read_rank();
    }
    if (problems_.size() != before) return std::nullopt;
    return std::move(program_);
  }

 private:
  // Reports once, where it stands; the rest of the file is passed over.
  void fail(const std::string& what) {
    if (failed_) return;
    failed_ = true;
    if (at_ < tokens_.size()) {
      const Token& token = tokens_[at_];
      problems_.add({file_, token.line, token.column}, fmt::format("\"{}\": {}", token.text, what));
    } else {
      const int line = tokens_.empty() ? 1 : tokens_.back().line;
      problems_.add({file_, line, 1}, fmt::format("the file ends here: {}", what));
    }
    at_ = tokens_.size();
  }

  std::string_view peek(std::size_t ahead = 0) const {
    return at_ + ahead < tokens_.size() ? tokens_[at_ + ahead].text : std::string_view{};
  }
  int line() const { return at_ < tokens_.size() ? tokens_[at_].line : 0; }
  bool take_if(std::string_view word) {
    if (peek() != word) return false;
    ++at_;
    return true;
  }
  bool take_word(std::string_view word) {
    if (take_if(word)) return true;
    fail(fmt::format("expected {}", word));
    return false;
  }

  std::int64_t number(const char* what, std::int64_t least, std::int64_t most,
                      std::string_view unit = {}) {
    std::string_view text = peek();
    if (!unit.empty() && text.ends_with(unit)) text.remove_suffix(unit.size());
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    if (!whole || value < least || value > most) {
      fail(fmt::format("expected {}, from {} to {}", what, least, most));
      return least;
    }
    ++at_;
    return value;
  }

  Rank rank() {
    return static_cast<Rank>(
        number("a rank", 0, static_cast<std::int64_t>(program_.ranks.size()) - 1));
  }

  void read_rank() {
    if (!take_word("rank")) return;
    const Rank number = rank();
    rank_ = number;
    labels_.clear();
    if (failed_ || !take_word("{")) return;
    if (!operations().empty()) return fail("this rank has been listed before");
    while (!failed_ && !take_if("}")) read_line();
  }

  std::vector<GoalOperation>& operations() {
    return program_.ranks[static_cast<std::size_t>(rank_)];
  }

  void read_line() {
    if (peek().empty()) return fail("expected }, which ends the rank");
    if (peek(1) == "requires" || peek(1) == "irequires") return read_wait();
    std::string label;
    const Token* const named = &tokens_[at_];
    if (peek(1) == ":") {
      label = std::string(peek());
      at_ += 2;
    }
    if (!label.empty() && !labels_.emplace(label, static_cast<int>(operations().size())).second) {
      at_ = static_cast<std::size_t>(named - tokens_.data());
      return fail("a second operation of this name");
    }
    read_operation(label);
  }

  void read_operation(const std::string& label) {
    if (++operation_count_ > kMostOperations) {
      return fail(fmt::format("more than {} operations", kMostOperations));
    }
    GoalOperation operation;
    operation.line = line();
    operation.label = label.empty() ? fmt::format("line {}", operation.line) : label;
    if (take_if("calc")) {
      operation.work = {number("nanoseconds", 0, kMostNanoseconds, "ns") * 1000};
    } else if (take_if("send")) {
      read_message(GoalKind::kSend, "to", operation);
    } else if (take_if("recv")) {
      read_message(GoalKind::kReceive, "from", operation);
    } else {
      return fail("expected send, recv, calc, or NAME requires NAME");
    }
    while (peek() == "tag" || peek() == "cpu" || peek() == "nic") {
      const bool tag = peek() == "tag";
      ++at_;
      const std::int64_t value = number("a number", 0, INT32_MAX);
      if (tag) operation.tag = static_cast<int>(value);
    }
    operations().push_back(std::move(operation));
  }

  void read_message(GoalKind kind, std::string_view preposition, GoalOperation& operation) {
    operation.kind = kind;
    operation.bytes = {number("bytes, as 8b", 0, kMostBytes, "b")};
    if (!take_word(preposition)) return;
    operation.peer = rank();
    if (operation.peer == rank_ && !failed_) {
      --at_;
      fail("a rank sends nothing to itself");
    }
  }

  int labelled() {
    const auto found = labels_.find(std::string(peek()));
    if (found == labels_.end()) {
      fail("no operation of this rank, above here, has this name");
      return 0;
    }
    ++at_;
    return found->second;
  }

  void read_wait() {
    const int waits = labelled();
    const bool complete = peek() == "requires";
    if (failed_) return;
    ++at_;
    const int before = labelled();
    if (failed_) return;
    if (waits == before) {
      --at_;
      return fail("an operation does not wait for itself");
    }
    GoalOperation& operation = operations()[static_cast<std::size_t>(waits)];
    (complete ? operation.after : operation.after_start).push_back(before);
  }

  std::vector<Token> tokens_;
  const std::string& file_;
  Problems& problems_;
  GoalProgram program_;
  std::size_t at_ = 0;
  bool failed_ = false;
  Rank rank_ = 0;
  std::map<std::string, int> labels_;  // of the rank
  std::size_t operation_count_ = 0;
};

}  // namespace

std::optional<GoalProgram> read_goal(const std::string& text, const std::string& file,
                                     Problems& problems) {
  auto program = GoalReader(text, file, problems).read();
  if (!program) return std::nullopt;
  program->name = std::filesystem::path(file).stem().string();
  program->digest = sha256(text);
  return program;
}

std::shared_ptr<const GoalProgram> read_goal_file(MappingReader& reader, std::string_view key) {
  const TreeNode& node = *reader.raw(key);
  // As it is found from the working directory, so that a result tells it too.
  const std::filesystem::path path = path_beside(node).lexically_normal();
  reader.record(key, FilledValue::Kind::kText, path.string(), &node);
  const auto text = read_file(path, node.location, reader.problems(), kResultLimit);
  if (!text) return nullptr;
  auto program = read_goal(*text, path.string(), reader.problems());
  return program ? std::make_shared<GoalProgram>(std::move(*program)) : nullptr;
}

void check_goal(MappingReader& reader, std::string_view key, const GoalProgram& program,
                const Cluster& cluster) {
  const auto ranks = static_cast<int>(program.ranks.size());
  if (ranks > cluster.ranks()) {
    reader.report(key, fmt::format("{}: {} has {} ranks, and the cluster {}", key, program.name,
                                   ranks, cluster.ranks()));
    return;
  }
  std::vector<int> gpus;
  for (Rank rank = 0; rank < ranks; ++rank) gpus.push_back(cluster.gpu_of(rank));
  std::vector<GoalProblem> problems;
  goal_tasks(program, gpus, {}, problems);
  const TreeNode& node = *reader.node()->find(key);
  for (const GoalProblem& problem : problems) {
    reader.problems().add({path_beside(node).string(), problem.line, 1}, problem.text);
  }
}

}  // namespace gradhaul
