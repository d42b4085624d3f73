#include "scenarios/xml_text.h"

#include <algorithm>

namespace gradhaul {

int line_of(const std::string& text, std::ptrdiff_t offset) {
  const auto end = text.begin() +
                   std::clamp<std::ptrdiff_t>(offset, 0, static_cast<std::ptrdiff_t>(text.size()));
  return static_cast<int>(1 + std::count(text.begin(), end, '\n'));
}

bool load_xml(const std::string& text, const std::string& file, Problems& problems,
              pugi::xml_document& document) {
  const pugi::xml_parse_result parsed = document.load_buffer(text.data(), text.size());
  if (parsed) return true;
  problems.add({file, line_of(text, parsed.offset), 1},
               std::string("no XML: ") + parsed.description());
  return false;
}

}  // namespace gradhaul
