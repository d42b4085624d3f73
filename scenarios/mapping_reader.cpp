#include "scenarios/mapping_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/did_you_mean.h"
#include "scenarios/estimate_range.h"

namespace gradhaul {
namespace {

using TreeKind = TreeNode::Kind;
using FilledKind = FilledValue::Kind;

std::vector<std::string> strings(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

std::string number_text(std::int64_t value, std::optional<Dimension> dimension) {
  return dimension ? format_quantity(value, *dimension) : fmt::format("{}", value);
}

// "at least 1 and at most 64", as far as there are bounds.
std::string range_text(const NumberSpec& spec, std::optional<Dimension> dimension) {
  std::string text = fmt::format("at least {}", number_text(spec.least, dimension));
  if (spec.most != std::numeric_limits<std::int64_t>::max()) {
    text += fmt::format(" and at most {}", number_text(spec.most, dimension));
  }
  for (const Word& word : spec.words) text += fmt::format(", or \"{}\"", word.name);
  return text;
}

std::string range_text(const RealSpec& spec) {
  std::string text = fmt::format("{} {}", spec.above_least ? "above" : "at least", spec.least);
  if (spec.most != std::numeric_limits<double>::max()) {
    text += fmt::format(" and {} {}", spec.below_most ? "below" : "at most", spec.most);
  }
  return text;
}

// What a key has where what was written is wrong.
std::int64_t default_number(std::optional<Dimension> dimension, const NumberSpec& spec) {
  const std::string_view text = spec.otherwise.text;
  for (const Word& word : spec.words) {
    if (text == word.name) return word.value;
  }
  const auto parsed = dimension ? parse_quantity(text, *dimension) : parse_count(text);
  return parsed.value.value_or(spec.least);
}

bool same_value(const std::string& text, std::string_view other) {
  if (text == other) return true;
  const auto a = parse_real(text).value;
  const auto b = parse_real(other).value;
  return a && b && *a == *b;
}

std::string kind_in_words(TreeKind kind) {
  switch (kind) {
    case TreeKind::kSequence:
      return "a list";
    case TreeKind::kMapping:
      return "a mapping";
    case TreeKind::kScalar:
      return "one value";
    default:
      return "nothing";
  }
}

}  // namespace

MappingReader::MappingReader(const TreeNode* node, Location owner, FilledValue& filled,
                             Problems& problems, std::string_view name)
    : node_(node),
      owner_(std::move(owner)),
      filled_(filled),
      problems_(problems),
      problems_before_(problems.size()) {
  filled_.kind = FilledKind::kMapping;
  if (node_ != nullptr &&
      (node_->kind == TreeKind::kScalar || node_->kind == TreeKind::kSequence)) {
    const std::string what = node_->key.empty() ? std::string(name) : '"' + node_->key + '"';
    problems_.add(node_->location, fmt::format("{} is a mapping of keys, and this is {}", what,
                                               kind_in_words(node_->kind)));
  }
}

bool MappingReader::broken() const {
  return node_ != nullptr && node_->kind != TreeKind::kMapping && node_->kind != TreeKind::kNull;
}

const TreeNode* MappingReader::find(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) asked_.emplace_back(key);
  return node_ == nullptr ? nullptr : node_->find(key);
}

bool MappingReader::has_scalar(std::string_view key) const {
  return has(key) && node_->find(key)->kind == TreeKind::kScalar;
}

bool MappingReader::has(std::string_view key) const {
  return node_ != nullptr && node_->find(key) != nullptr;
}

Location MappingReader::location(std::string_view key) const {
  const TreeNode* value = node_ == nullptr ? nullptr : node_->find(key);
  if (value == nullptr) return owner_;
  return value->place();
}

void MappingReader::report(std::string_view key, const std::string& message) {
  problems_.add(location(key), message);
}

void MappingReader::report_together(const std::vector<std::string_view>& keys,
                                    const std::string& message) {
  const auto value_at = [this](std::string_view key) {
    return node_ == nullptr ? nullptr : node_->find_path(key);
  };
  for (const std::string_view key : keys) {
    const TreeNode* value = value_at(key);
    if (value != nullptr && value->place().option()) {
      problems_.add(value->place(), message);
      return;
    }
  }
  const TreeNode* place = value_at(keys.front());
  for (std::size_t i = 1; i < keys.size() && place != nullptr && place->reference.empty(); ++i) {
    const TreeNode* deeper = value_at(keys[i]);
    if (deeper == nullptr || !keys[i].starts_with(keys[i - 1])) break;
    place = deeper;
  }
  problems_.add(place == nullptr ? owner_ : place->place(), message);
}

void MappingReader::missing(std::string_view key) {
  if (!broken()) problems_.add(owner_, fmt::format("\"{}\" is missing", key));
}

FilledValue& MappingReader::record(std::string_view key, FilledKind kind, std::string text,
                                   const TreeNode* node, const Default& otherwise) {
  FilledValue& value = filled_.children.emplace_back();
  value.kind = kind;
  value.key = key;
  value.text = std::move(text);
  value.origin.from_default = node == nullptr;
  if (node != nullptr) {
    // A mapping begins at its key: its first own place is that of the first key in it.
    value.origin.location = kind == FilledKind::kMapping ? node->key_location : node->location;
    value.origin.estimate = node->estimate;
    value.origin.source = node->source;
    if (node->range) {
      value.origin.low = node->range->low;
      value.origin.high = node->range->high;
    }
  } else {
    value.origin.estimate = otherwise.estimate;
    value.origin.source = otherwise.source;
    value.origin.low = otherwise.low;
    value.origin.high = otherwise.high;
  }
  return value;
}

std::optional<std::string> MappingReader::scalar(std::string_view key, const TreeNode* node,
                                                 const Default& otherwise) {
  if (node == nullptr) {
    if (!otherwise.text.empty()) return std::string(otherwise.text);
    missing(key);
    return std::nullopt;
  }
  if (node->kind == TreeKind::kScalar) return node->text;
  if (node->kind == TreeKind::kNull) {
    report(key, otherwise.text.empty()
                    ? fmt::format("\"{}\" has no value", key)
                    : fmt::format("\"{}\" has no value; leave the key out for its default, {}", key,
                                  otherwise.text));
  } else if (node->kind != TreeKind::kBroken) {
    report(key, fmt::format("\"{}\" is one value, and this is {}", key, kind_in_words(node->kind)));
  }
  return std::nullopt;
}

std::optional<std::int64_t> MappingReader::check_number(std::string_view key,
                                                        const std::string& text,
                                                        std::optional<Dimension> dimension,
                                                        const NumberSpec& spec) {
  for (const Word& word : spec.words) {
    if (text == word.name) return word.value;
  }
  const auto parsed = dimension ? parse_quantity(text, *dimension) : parse_count(text);
  if (!parsed.value) {
    std::vector<std::string> words;
    for (const Word& word : spec.words) words.emplace_back(word.name);
    const std::string meant = nearest(text, words);
    std::string message = fmt::format("{}: \"{}\" {}", key, text, parsed.error);
    if (!meant.empty()) {
      message = fmt::format(R"({}: "{}" (did you mean "{}"?))", key, text, meant);
    } else if (!words.empty()) {
      message += fmt::format("; or \"{}\"", join_or(words));
    }
    report(key, message);
    return std::nullopt;
  }
  if (*parsed.value < spec.least || *parsed.value > spec.most) {
    report(key,
           fmt::format("{}: {} is out of range; it is {}", key, text, range_text(spec, dimension)));
    return std::nullopt;
  }
  return parsed.value;
}

std::int64_t MappingReader::number(std::string_view key, std::optional<Dimension> dimension,
                                   const NumberSpec& spec) {
  const TreeNode* node = find(key);
  const auto text = scalar(key, node, spec.otherwise);
  auto value = text ? check_number(key, *text, dimension, spec) : std::nullopt;
  const bool word = value && std::any_of(spec.words.begin(), spec.words.end(),
                                         [&](const Word& w) { return w.name == *text; });
  if (value && node != nullptr) check_range(key, *node, *value, dimension, problems_);
  record(key, dimension || word ? FilledKind::kText : FilledKind::kInteger, text.value_or(""), node,
         spec.otherwise);
  return value ? *value : default_number(dimension, spec);
}

Bytes MappingReader::bytes(std::string_view key, const NumberSpec& spec) {
  return {number(key, Dimension::kSize, spec)};
}

BitRate MappingReader::rate(std::string_view key, const NumberSpec& spec) {
  return {number(key, Dimension::kRate, spec)};
}

Duration MappingReader::time(std::string_view key, const NumberSpec& spec) {
  return {number(key, Dimension::kTime, spec)};
}

double MappingReader::metres(std::string_view key, const NumberSpec& spec) {
  return static_cast<double>(number(key, Dimension::kLength, spec)) / 1000.0;
}

std::int64_t MappingReader::count(std::string_view key, const NumberSpec& spec) {
  return number(key, std::nullopt, spec);
}

double MappingReader::real(std::string_view key, const RealSpec& spec) {
  const TreeNode* node = find(key);
  const auto text = scalar(key, node, spec.otherwise);
  const double fallback = parse_real(spec.otherwise.text).value.value_or(spec.least);
  double value = fallback;
  if (text) {
    const auto parsed = parse_real(*text);
    if (!parsed.value) {
      report(key, fmt::format("{}: \"{}\" {}", key, *text, parsed.error));
    } else if (*parsed.value < spec.least || (spec.above_least && *parsed.value == spec.least) ||
               *parsed.value > spec.most || (spec.below_most && *parsed.value == spec.most)) {
      report(key, fmt::format("{}: {} is out of range; it is {}", key, *text, range_text(spec)));
    } else {
      value = *parsed.value;
      if (node != nullptr) check_range(key, *node, value, problems_);
    }
  }
  record(key, FilledKind::kReal, text.value_or(""), node, spec.otherwise);
  return value;
}

bool MappingReader::truth(std::string_view key, const Default& otherwise) {
  const TreeNode* node = find(key);
  const auto text = scalar(key, node, otherwise);
  if (text && *text != "true" && *text != "false") {
    report(key, fmt::format("{}: \"{}\" is neither true nor false", key, *text));
  }
  record(key, FilledKind::kTruth, text.value_or("false"), node, otherwise);
  return text && *text == "true";
}

std::string MappingReader::text(std::string_view key, const Default& otherwise) {
  const TreeNode* node = find(key);
  std::string value(otherwise.text);
  // An empty default is a default here: a question may be left out.
  if (node != nullptr) value = scalar(key, node, otherwise).value_or(value);
  record(key, FilledKind::kText, value, node, otherwise);
  return value;
}

std::size_t MappingReader::choice(std::string_view key, const ChoiceSpec& spec) {
  const TreeNode* node = find(key);
  const auto text = scalar(key, node, spec.otherwise);
  const auto index_of = [&spec](std::string_view name) {
    const auto found = std::find(spec.available.begin(), spec.available.end(), name);
    return static_cast<std::size_t>(found - spec.available.begin());
  };
  record(key, FilledKind::kText, text.value_or(""), node, spec.otherwise);
  if (text) {
    const std::size_t index = index_of(*text);
    if (index < spec.available.size()) return index;
    const bool known = std::find(spec.unavailable.begin(), spec.unavailable.end(), *text) !=
                       spec.unavailable.end();
    std::vector<std::string> all = strings(spec.available);
    all.insert(all.end(), spec.unavailable.begin(), spec.unavailable.end());
    const std::string offer = join_or(strings(spec.available));
    report(key, known ? fmt::format("{}: {} is not available in this version, which has {}", key,
                                    *text, offer)
                      : fmt::format("{}: \"{}\" is not known{}; it is {}", key, *text,
                                    did_you_mean(*text, all), offer));
  }
  const std::size_t fallback = index_of(spec.otherwise.text);
  return fallback < spec.available.size() ? fallback : 0;
}

void MappingReader::fixed(std::string_view key, std::string_view only,
                          const std::vector<std::string_view>& others) {
  if (!others.empty()) {
    choice(key, {.otherwise = {only}, .available = {only}, .unavailable = others});
    if (only == "true" || only == "false") filled_.children.back().kind = FilledKind::kTruth;
    return;
  }
  const TreeNode* node = find(key);
  const auto text = scalar(key, node, {only});
  if (text && !same_value(*text, only)) {
    report(key, fmt::format("{}: {} is not available in this version; leave the key out, or at {}",
                            key, *text, only));
  }
  const FilledKind kind = only == "true" || only == "false" ? FilledKind::kTruth
                          : parse_count(only).value         ? FilledKind::kInteger
                                                            : FilledKind::kText;
  record(key, kind, std::string(only), node);
}

void MappingReader::empty_only(std::string_view key, FilledKind kind) {
  const TreeNode* node = find(key);
  if (node != nullptr && node->kind != TreeKind::kBroken && node->kind != TreeKind::kNull &&
      !(node->kind != TreeKind::kScalar && node->children.empty())) {
    report(key, fmt::format("\"{}\" is not available in this version; leave it out or empty", key));
  }
  record(key, kind, "", node);
}

MappingReader MappingReader::mapping(std::string_view key) {
  const TreeNode* node = find(key);
  FilledValue& filled = record(key, FilledKind::kMapping, "", node);
  if (node == nullptr) return {node, owner_, filled, problems_};
  // What a file lacks is said at its beginning.
  return {node, node->reference.empty() ? node->key_location : node->location, filled, problems_};
}

MappingReader MappingReader::mapping_of_kind(std::string_view key) {
  const TreeNode* node = find(key);
  if (node == nullptr || node->kind != TreeKind::kScalar) return mapping(key);
  TreeNode kind = *node;
  kind.key = "kind";
  kind.key_location = node->location;
  TreeNode& made = made_.emplace_back(*node);
  made.kind = TreeKind::kMapping;
  made.text.clear();
  made.children = {std::move(kind)};
  FilledValue& filled = record(key, FilledKind::kMapping, "", &made);
  return {&made, made.location, filled, problems_};
}

const TreeNode* MappingReader::raw(std::string_view key) { return find(key); }

void MappingReader::finish() {
  if (node_ == nullptr || node_->kind != TreeKind::kMapping) return;
  for (const TreeNode& child : node_->children) {
    if (std::find(asked_.begin(), asked_.end(), child.key) != asked_.end()) continue;
    // A key that is here already was not meant, unless an option wanted to change it.
    std::vector<std::string> free;
    for (const std::string& key : asked_) {
      if (child.key_location.option() || node_->find(key) == nullptr) free.push_back(key);
    }
    std::string message =
        fmt::format("unknown key \"{}\"{}", child.key, did_you_mean(child.key, free));
    if (nearest(child.key, free).empty()) {
      message += fmt::format("; the keys here are {}", fmt::join(asked_, ", "));
    }
    problems_.add(child.key_location, message);
  }
}

}  // namespace gradhaul
