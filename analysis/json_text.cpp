#include "analysis/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/input_error.h"
#include "analysis/log_lines.h"

namespace gradhaul {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 64;
constexpr std::int64_t kMostValues = 8'000'000;

Place place_of(std::string_view text, std::size_t byte, const std::string& source) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t begin = before.find_last_of('\n');
  const std::size_t column =
      before.size() - (begin == std::string_view::npos ? 0 : begin + 1);  // of the byte read last
  return {source, lines + 1, static_cast<std::int64_t>(std::max<std::size_t>(column, 1))};
}

// Without the library's own numbers and positions.
std::string what_is_wrong(const std::string& message) {
  const std::size_t colon = message.find(": ");
  return colon == std::string::npos ? message : message.substr(colon + 2);
}

struct Limits {
  int skipping_from = -1;  // the depth of the value that is being skipped
  std::int64_t values = 0;
  const char* exceeded = nullptr;
};

}  // namespace

Json parse_json_text(std::string_view text, const std::string& source,
                     std::initializer_list<std::string_view> ignored) {
  Limits limits;
  bool skip_next = false;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDeepest) limits.exceeded = "it is nested deeper than 64 levels";
    if (++limits.values > kMostValues) limits.exceeded = "it holds more than 8 million values";
    // The library offers no other way out of a parse.
    if (limits.exceeded != nullptr) throw InputError({source, 1, 1}, limits.exceeded);
    if (event == Json::parse_event_t::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      skip_next = std::find(ignored.begin(), ignored.end(), name) != ignored.end();
      return true;
    }
    return !std::exchange(skip_next, false);
  };
  try {
    return Json::parse(text.begin(), text.end(), watch);
  } catch (const Json::parse_error& error) {
    const Place place = place_of(text, error.byte, source);
    const bool cut = error.byte > text.size();
    throw InputError(place, cut ? "the file ends before its JSON does; it was cut off"
                                : fmt::format("no JSON: {}", what_is_wrong(error.what())));
  } catch (const Json::exception& error) {
    throw InputError({source, 1, 1}, fmt::format("no JSON: {}", what_is_wrong(error.what())));
  }
}

const Json& member(const Json& object, const char* name) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::optional<double> real_of(const Json& value) {
  if (!value.is_number()) return std::nullopt;
  const auto number = value.get<double>();
  if (!std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<std::int64_t> whole_of(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_string()) return std::nullopt;
  const std::vector<std::string_view> words = words_of(value.get_ref<const std::string&>());
  return words.size() == 1 ? integer_of(words[0]) : std::nullopt;
}

}  // namespace gradhaul
