#include "scenarios/document.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <sstream>

namespace gradhaul {
namespace {

// No scenario comes near; a file of aliases of aliases would.
constexpr std::size_t kMostNodes = 200'000;
constexpr std::size_t kDeepest = 64;

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

std::optional<TreeNode> parse(std::string_view text, const Location& base, Problems& problems) {
  TreeBuilder builder(base, problems);
  const auto whole = [&base](int line, int column) {
    return base.option() ? base : Location{base.source, line, column};
  };
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) {
      TreeNode nothing;
      nothing.location = whole(1, 1);
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
    const bool placed = !error.mark.is_null();
    problems.add(placed ? whole(error.mark.line + 1, error.mark.column + 1) : whole(1, 1),
                 fmt::format("not valid YAML: {}", error.msg));
  } catch (const TooLarge& error) {
    problems.add(whole(1, 1), error.message);
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

void TreeNode::erase(std::string_view name) {
  std::erase_if(children, [name](const TreeNode& child) { return child.key == name; });
}

std::optional<TreeNode> parse_document(std::string_view text, const std::string& source,
                                       Problems& problems) {
  return parse(text, {source, 1, 1}, problems);
}

std::optional<TreeNode> parse_option_value(std::string_view text, const Location& option,
                                           Problems& problems) {
  return parse(text, {option.source, 0, 0}, problems);
}

}  // namespace gradhaul
