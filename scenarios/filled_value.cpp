#include "scenarios/filled_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "scenarios/quantity.h"

namespace gradhaul {
namespace {

using Kind = FilledValue::Kind;

constexpr std::size_t kCommentColumn = 44;
constexpr std::size_t kFlowWidth = 100;

bool is_plain_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/' || c == '+' || c == ' ';
}

// Whether the text can stand in YAML without quotes and comes back as it is.
bool is_plain(const std::string& text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.front() == '-')
    return false;
  if (text == "null" || text == "Null" || text == "NULL") return false;
  return std::all_of(text.begin(), text.end(), is_plain_character);
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string scalar_text(const FilledValue& value) {
  return value.kind != Kind::kText || is_plain(value.text) ? value.text : quoted(value.text);
}

// On one line.
std::string flow_text(const FilledValue& value) {
  std::string text;
  switch (value.kind) {
    case Kind::kList:
    case Kind::kEntries:
      for (const FilledValue& child : value.children) {
        text += (text.empty() ? "" : ", ") + flow_text(child);
      }
      return "[" + text + "]";
    case Kind::kMapping:
      for (const FilledValue& child : value.children) {
        text += (text.empty() ? "" : ", ") + child.key + ": " + flow_text(child);
      }
      return "{" + text + "}";
    default:
      return scalar_text(value);
  }
}

std::string comment_of(const Origin& origin) {
  std::string text = "default";
  if (!origin.from_default && origin.location.option()) {
    text = origin.location.source;
  } else if (!origin.from_default) {
    const std::string file = std::filesystem::path(origin.location.source).filename().string();
    text = fmt::format("{}:{}", file, origin.location.line);
  }
  if (origin.estimate) text += ", estimate";
  if (!origin.low.empty()) text += fmt::format(" ({} to {})", origin.low, origin.high);
  if (!origin.source.empty()) text += ": " + origin.source;
  // A comment ends with its line.
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return text;
}

std::string with_comment(const std::string& line, const std::string& comment) {
  const std::size_t width = std::max(kCommentColumn, line.size() + 2);
  return fmt::format("{:<{}}# {}\n", line, width, comment);
}

void collect_estimates(const FilledValue& mapping, const std::string& prefix,
                       std::vector<FoundEstimate>& found) {
  for (const FilledValue& child : mapping.children) {
    const std::string name = prefix + child.key;
    if (child.kind == Kind::kMapping) {
      collect_estimates(child, name + ".", found);
    } else if (child.origin.estimate) {
      found.push_back({name, &child});
    }
  }
}

// "read_latency: [500ns, 1100ns]"; a null where there is no range.
std::string range_entry(const FoundEstimate& estimate) {
  const Origin& origin = estimate.value->origin;
  return origin.low.empty() ? estimate.key + ": ~"
                            : fmt::format("{}: [{}, {}]", estimate.key, origin.low, origin.high);
}

class YamlWriter {
 public:
  std::string text;

  void write_mapping(const FilledValue& mapping, const std::string& indent) {
    for (const FilledValue& child : mapping.children) write_entry(child, indent);
  }

  // So that what is read back knows its estimates too.
  void write_estimates(const FilledValue& mapping, const std::string& indent) {
    std::string line;
    for (const FoundEstimate& estimate : estimates_in(mapping)) {
      const std::string entry = range_entry(estimate);
      if (line.empty()) {
        text += indent + "estimates:\n";
        line = indent + "  {" + entry;
      } else if (line.size() + entry.size() + 2 < kFlowWidth) {
        line += ", " + entry;
      } else {
        text += line + ",\n";
        line = indent + "   " + entry;
      }
    }
    if (!line.empty()) text += line + "}\n";
  }

 private:
  void write_entry(const FilledValue& value, const std::string& indent) {
    const std::string head = indent + value.key + ":";
    if (value.kind == Kind::kMapping && !value.children.empty()) {
      text +=
          value.origin.from_default ? head + "\n" : with_comment(head, comment_of(value.origin));
      write_mapping(value, indent + "  ");
      if (indent.empty()) write_estimates(value, indent + "  ");
    } else if (value.kind == Kind::kEntries && !value.children.empty()) {
      text += head + "\n";
      for (const FilledValue& entry : value.children) {
        text += with_comment(indent + "  - " + flow_text(entry), comment_of(entry.origin));
      }
    } else {
      text += with_comment(head + " " + flow_text(value), comment_of(value.origin));
    }
  }
};

}  // namespace

const FilledValue* FilledValue::find(std::string_view name) const {
  for (const FilledValue& child : children) {
    if (child.key == name) return &child;
  }
  return nullptr;
}

const FilledValue* FilledValue::find_path(std::string_view dotted) const {
  const std::size_t dot = dotted.find('.');
  const FilledValue* child = find(dotted.substr(0, dot));
  if (child == nullptr || dot == std::string_view::npos) return child;
  return child->find_path(dotted.substr(dot + 1));
}

std::vector<FoundEstimate> estimates_in(const FilledValue& mapping) {
  std::vector<FoundEstimate> found;
  collect_estimates(mapping, "", found);
  return found;
}

nlohmann::ordered_json json_of(const FilledValue& value) {
  switch (value.kind) {
    case Kind::kText:
      return value.text;
    case Kind::kInteger:
      return parse_count(value.text).value.value_or(0);
    case Kind::kReal:
      return parse_real(value.text).value.value_or(0);
    case Kind::kTruth:
      return value.text == "true";
    case Kind::kList:
    case Kind::kEntries: {
      auto list = nlohmann::ordered_json::array();
      for (const FilledValue& child : value.children) list.push_back(json_of(child));
      return list;
    }
    case Kind::kMapping:
      break;
  }
  auto mapping = nlohmann::ordered_json::object();
  for (const FilledValue& child : value.children) mapping[child.key] = json_of(child);
  return mapping;
}

std::string commented_yaml(const FilledValue& root) {
  YamlWriter writer;
  writer.write_mapping(root, "");
  return writer.text;
}

}  // namespace gradhaul
