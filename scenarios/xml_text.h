#pragma once

// Reading XML that others have written.

#include <cstddef>
#include <pugixml.hpp>
#include <string>

#include "scenarios/config_error.h"

namespace gradhaul {

// In which line of `text`, from 1, the character at `offset` stands; one outside it is at the end
// that is nearer.
int line_of(const std::string& text, std::ptrdiff_t offset);

// False where it is no XML: a problem then tells why, and in which line of `file`.
bool load_xml(const std::string& text, const std::string& file, Problems& problems,
              pugi::xml_document& document);

}  // namespace gradhaul
