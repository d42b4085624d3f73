#include "scenarios/document.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "scenarios/utf8.h"

namespace gradhaul {
namespace {

// No scenario comes near; a file of aliases of aliases would.
constexpr std::size_t kMostNodes = 200'000;
constexpr std::size_t kDeepest = 64;
constexpr std::size_t kMostKeys = 1000;  // of one mapping

// A comment put behind every text. The parser takes a quote that is never closed to end with the
// text; what it then swallows is this.
constexpr std::string_view kEnd = "# end of the text, after its last quote";

// Thrown through the parser, and caught right behind it.
struct TooLarge {
  std::string message;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const Location& base, Problems& problems) : base_(base), problems_(problems) {}

  TreeNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    TreeNode node;
    node.location = location(mark);
    finish(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    TreeNode node;
    if (const auto found = anchors_.find(anchor); found != anchors_.end()) {
      node = found->second;
      nodes_ += size_of_tree(node);
      check_size();
    } else {
      problems_.add(location(mark), "this alias stands inside of what it names");
      node.kind = TreeNode::Kind::kBroken;
    }
    node.location = location(mark);
    finish(std::move(node), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    TreeNode node;
    const bool plain = tag == "?" || tag.empty();
    const bool null = plain && (value.empty() || value == "~" || value == "null" ||
                                value == "Null" || value == "NULL");
    node.kind = null ? TreeNode::Kind::kNull : TreeNode::Kind::kScalar;
    node.text = value;
    node.location = location(mark);
    if (value.find(kEnd) != std::string::npos) {
      problems_.add(node.location, "not valid YAML: this quote is never closed");
      node.kind = TreeNode::Kind::kBroken;
    }
    finish(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(TreeNode::Kind::kSequence, mark, anchor);
  }
  void OnSequenceEnd() override { end(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(TreeNode::Kind::kMapping, mark, anchor);
  }
  void OnMapEnd() override { end(); }

 private:
  struct Open {
    TreeNode node;
    YAML::anchor_t anchor = 0;
    // Of a mapping: the key whose value comes next.
    bool has_key = false;
    TreeNode key;
  };

  Location location(const YAML::Mark& mark) const {
    if (base_.option()) return base_;
    return {base_.source, mark.line + 1, mark.column + 1};
  }

  static std::size_t size_of_tree(const TreeNode& node) {
    std::size_t size = 1;
    for (const TreeNode& child : node.children) size += size_of_tree(child);
    return size;
  }

  void check_size() const {
    if (nodes_ > kMostNodes) throw TooLarge{"this is too large for a scenario"};
  }

  void start(TreeNode::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() >= kDeepest) throw TooLarge{"this is nested too deeply for a scenario"};
    Open open;
    open.node.kind = kind;
    open.node.location = location(mark);
    open.anchor = anchor;
    open_.push_back(std::move(open));
  }

  void end() {
    Open open = std::move(open_.back());
    open_.pop_back();
    finish(std::move(open.node), open.anchor);
  }

  void finish(TreeNode node, YAML::anchor_t anchor) {
    ++nodes_;
    check_size();
    if (anchor != 0) anchors_[anchor] = node;
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == TreeNode::Kind::kSequence) {
      parent.node.children.push_back(std::move(node));
    } else if (!parent.has_key) {
      parent.has_key = true;
      parent.key = std::move(node);
    } else {
      parent.has_key = false;
      add_entry(parent.node, parent.key, std::move(node));
    }
  }

  void add_entry(TreeNode& mapping, const TreeNode& key, TreeNode value) {
    if (key.kind != TreeNode::Kind::kScalar) {
      problems_.add(key.location, "a key is one word");
      return;
    }
    if (const TreeNode* first = mapping.find(key.text)) {
      problems_.add(key.location, first->key_location.option()
                                      ? fmt::format("duplicate key \"{}\"", key.text)
                                      : fmt::format("duplicate key \"{}\"; line {} has it already",
                                                    key.text, first->key_location.line));
      return;
    }
    if (mapping.children.size() >= kMostKeys) throw TooLarge{"no mapping has so many keys"};
    value.key = key.text;
    value.key_location = key.location;
    // The parser places "nothing" at whatever comes next.
    if (value.kind == TreeNode::Kind::kNull) value.location = key.location;
    mapping.children.push_back(std::move(value));
  }

  const Location base_;
  Problems& problems_;
  TreeNode root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, TreeNode> anchors_;
  std::size_t nodes_ = 0;
};

// Where a text has this byte or, past its end, where it ends.
Location place_of(std::string_view text, std::size_t at, const Location& base) {
  if (base.option()) return base;
  Location place{base.source, 1, 1};
  for (const char c : text.substr(0, std::min(at, text.size()))) {
    // Of a character of several bytes the first one counts.
    if (c == '\n') {
      ++place.line;
      place.column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
      ++place.column;
    }
  }
  return place;
}

// Behind the last line that says something.
std::size_t end_of_content(std::string_view text) {
  constexpr std::string_view kSpace = " \n\r\t";
  for (std::size_t end = text.find_last_not_of(kSpace); end != text.npos;) {
    const std::size_t newline = text.rfind('\n', end);
    const std::size_t start = newline == text.npos ? 0 : newline + 1;
    if (text[text.find_first_not_of(kSpace, start)] != '#') return end + 1;
    if (start == 0) break;
    end = text.find_last_not_of(kSpace, start - 1);
  }
  return 0;
}

// Where the parser gave up; what it misses at the end of a text is missing behind its last word.
Location place_of(std::string_view text, const YAML::Mark& mark, const Location& base) {
  if (base.option() || mark.is_null()) return base;
  Location end = place_of(text, end_of_content(text), base);
  if (mark.line + 1 > end.line) return end;
  return {base.source, mark.line + 1, mark.column + 1};
}

std::string_view line_at(std::string_view text, int line) {
  for (; line > 1; --line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// The parser's words, and what is most often behind them.
std::string in_plain_words(const YAML::Exception& error, std::string_view text, bool option) {
  const std::string_view line = error.mark.is_null() ? "" : line_at(text, error.mark.line + 1);
  const std::size_t tab = line.find('\t');
  if (!option && tab != line.npos && line.find_first_not_of(" \t") > tab) {
    return "YAML indents with spaces, and this line begins with a tab";
  }
  if (error.msg == "end of map not found") {
    return "this line is indented unlike the keys above it";
  }
  if (error.msg == "end of map flow not found") return "a bracket { is never closed";
  if (error.msg == "end of sequence flow not found") return "a bracket [ is never closed";
  if (error.msg == "illegal EOF in scalar") return "a quote is never closed";
  return error.msg;
}

std::optional<TreeNode> parse(std::string_view text, const Location& base, Problems& problems) {
  if (const auto bad = first_invalid_utf8(text)) {
    problems.add(place_of(text, *bad, base), "this is not UTF-8");
    return std::nullopt;
  }
  TreeBuilder builder(base, problems);
  try {
    std::istringstream stream{fmt::format("{}\n{}", text, kEnd)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) {
      TreeNode nothing;
      nothing.location = base;
      return nothing;
    }
    TreeNode root = builder.take_root();
    TreeBuilder second(base, problems);
    if (parser.HandleNextDocument(second)) {
      problems.add(second.take_root().location, "a second document; a file holds one");
      return std::nullopt;
    }
    return root;
  } catch (const YAML::Exception& error) {
    problems.add(place_of(text, error.mark, base),
                 fmt::format("not valid YAML: {}", in_plain_words(error, text, base.option())));
  } catch (const TooLarge& error) {
    problems.add(base, error.message);
  }
  return std::nullopt;
}

}  // namespace

TreeNode* TreeNode::find(std::string_view name) {
  for (TreeNode& child : children) {
    if (child.key == name) return &child;
  }
  return nullptr;
}

const TreeNode* TreeNode::find(std::string_view name) const {
  return const_cast<TreeNode*>(this)->find(name);
}

TreeNode* TreeNode::find_path(std::string_view dotted) {
  TreeNode* at = this;
  while (at != nullptr) {
    const std::size_t dot = dotted.find('.');
    at = at->kind == Kind::kMapping ? at->find(dotted.substr(0, dot)) : nullptr;
    if (dot == std::string_view::npos) break;
    dotted.remove_prefix(dot + 1);
  }
  return at;
}

const TreeNode* TreeNode::find_path(std::string_view dotted) const {
  return const_cast<TreeNode*>(this)->find_path(dotted);
}

void TreeNode::erase(std::string_view name) {
  std::erase_if(children, [name](const TreeNode& child) { return child.key == name; });
}

std::optional<TreeNode> parse_document(std::string_view text, const std::string& source,
                                       Problems& problems) {
  return parse(text, {source, 1, 1}, problems);
}

std::optional<TreeNode> parse_option_value(std::string_view text, const Location& option,
                                           Problems& problems) {
  if (text.starts_with('>') || text.starts_with('|')) {
    // A comparison, as of expect.busbw=>=340GB/s: no block of text begins on a command line.
    TreeNode scalar;
    scalar.kind = TreeNode::Kind::kScalar;
    scalar.text = as_utf8(text);
    scalar.location = option;
    return scalar;
  }
  return parse(text, {option.source, 0, 0}, problems);
}

}  // namespace gradhaul
