#pragma once

// Reads one mapping of a scenario, key by key. Each call names a key, its default as a user would
// write it, and what it may be; it answers with the value, reports what is wrong with it at its
// place, and records it in the filled-in scenario. One line of a reader is thus a key's whole
// definition. Where something is wrong the default is answered, so that reading can go on.
//
// Call finish() at the end: it reports the keys that nobody asked for.

#include <cstdint>
#include <limits>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/quantities.h"
#include "scenarios/config_error.h"
#include "scenarios/document.h"
#include "scenarios/filled_value.h"
#include "scenarios/quantity.h"

namespace gradhaul {

// A default. An empty text: there is none, the key has to be there. `low` and `high`: between what
// an estimate lies, where that is known.
struct Default {
  std::string_view text = {};
  bool estimate = false;
  std::string_view source = {};
  std::string_view low = {};
  std::string_view high = {};
};

// A word that stands for a number: "unlimited".
struct Word {
  std::string_view name;
  std::int64_t value;
};

// Bounds and words are in base units (scenarios/quantity.h).
struct NumberSpec {
  Default otherwise = {};
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::vector<Word> words = {};
};

struct RealSpec {
  Default otherwise = {};
  double least = 0;
  double most = std::numeric_limits<double>::max();
  bool above_least = false;  // `least` itself is out of range
  bool below_most = false;
};

struct ChoiceSpec {
  Default otherwise = {};
  std::vector<std::string_view> available = {};
  std::vector<std::string_view> unavailable = {};  // known, but not in this version
};

class MappingReader {
 public:
  // `node`: the mapping, or nothing where its key is absent, so that all its keys take their
  // defaults. `owner`: where to report keys that are missing. All of them outlive the reader.
  // `name`: what to call the mapping where it has no key.
  MappingReader(const TreeNode* node, Location owner, FilledValue& filled, Problems& problems,
                std::string_view name = "this");

  Bytes bytes(std::string_view key, const NumberSpec& spec);
  BitRate rate(std::string_view key, const NumberSpec& spec);
  Duration time(std::string_view key, const NumberSpec& spec);
  double metres(std::string_view key, const NumberSpec& spec);
  std::int64_t count(std::string_view key, const NumberSpec& spec);
  double real(std::string_view key, const RealSpec& spec);
  bool truth(std::string_view key, const Default& otherwise);
  std::string text(std::string_view key, const Default& otherwise);
  // The index in spec.available.
  std::size_t choice(std::string_view key, const ChoiceSpec& spec);
  // A key that has one value in this version; `others`: what it will be one day. Where these are
  // not all of them (numbers), none are given.
  void fixed(std::string_view key, std::string_view only,
             const std::vector<std::string_view>& others = {});
  // A key that this version takes only empty: [] or {}.
  void empty_only(std::string_view key, FilledValue::Kind kind);

  // A mapping below this one; its keys are read through what is returned.
  MappingReader mapping(std::string_view key);
  // The same where one word is short for its `kind`: "pfc" for {kind: pfc}.
  MappingReader mapping_of_kind(std::string_view key);
  // The raw value, for what has a form of its own; the caller records it. Nothing: absent.
  const TreeNode* raw(std::string_view key);
  // Records a value under a key.
  FilledValue& record(std::string_view key, FilledValue::Kind kind, std::string text,
                      const TreeNode* node, const Default& otherwise = {});

  bool has(std::string_view key) const;
  bool has_scalar(std::string_view key) const;
  // Whether the mapping could not be had at all, which has been reported.
  bool broken() const;
  // Where the key's value stands, or the mapping where it is left out.
  Location location(std::string_view key) const;
  const Location& owner() const { return owner_; }
  void report(std::string_view key, const std::string& message);
  // Reports what several values make together, named by dotted keys: at the first that an option
  // set, for it was changed last; else at the first of them or, while each key continues the one
  // before, at the deepest that is written in the same file.
  void report_together(const std::vector<std::string_view>& keys, const std::string& message);
  // Nothing has been reported since the reader was made.
  bool good() const { return problems_.size() == problems_before_; }
  Problems& problems() { return problems_; }
  FilledValue& filled() { return filled_; }
  const TreeNode* node() const { return node_; }

  void finish();

 private:
  const TreeNode* find(std::string_view key);
  // The text of a scalar; nothing where there is none, which has been reported.
  std::optional<std::string> scalar(std::string_view key, const TreeNode* node,
                                    const Default& otherwise);
  std::int64_t number(std::string_view key, std::optional<Dimension> dimension,
                      const NumberSpec& spec);
  std::optional<std::int64_t> check_number(std::string_view key, const std::string& text,
                                           std::optional<Dimension> dimension,
                                           const NumberSpec& spec);
  void missing(std::string_view key);

  const TreeNode* node_;
  Location owner_;
  FilledValue& filled_;
  Problems& problems_;
  std::size_t problems_before_;
  std::vector<std::string> asked_;
  std::list<TreeNode> made_;  // that no file has; readers keep pointers into it
};

}  // namespace gradhaul
