#include "scenarios/flow_text.h"

#include <fmt/format.h>

#include <string_view>

namespace gradhaul {
namespace {

using Kind = TreeNode::Kind;

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string scalar_text(const std::string& text) {
  const bool plain = !text.empty() && text != "~" && text != "null" &&
                     text.find_first_of(",[]{}#&*!|>'\"%@`\\\n") == text.npos &&
                     text.find(": ") == text.npos && text.front() != ' ' && text.back() != ' ' &&
                     text.front() != '-' && text.front() != '?' && text.back() != ':';
  return plain ? text : in_quotes(text);
}

}  // namespace

std::string flow_text(const TreeNode& node) {
  std::string parts;
  switch (node.kind) {
    case Kind::kScalar:
      return scalar_text(node.text);
    case Kind::kSequence:
      for (const TreeNode& child : node.children) {
        parts += fmt::format("{}{}", parts.empty() ? "" : ", ", flow_text(child));
      }
      return "[" + parts + "]";
    case Kind::kMapping:
      for (const TreeNode& child : node.children) {
        parts += fmt::format("{}{}: {}", parts.empty() ? "" : ", ", scalar_text(child.key),
                             flow_text(child));
      }
      return "{" + parts + "}";
    default:
      return "null";
  }
}

}  // namespace gradhaul
