#pragma once

// A node file (interface.md, section 2.1) out of what a host told of itself.

#include <string>

#include "core/host_checkup.h"

namespace gradhaul {

// Requires a GPU: a node has at least one. `place`: where the host was read, for a comment.
std::string node_draft_text(const NodeDraft& draft, const std::string& place);

}  // namespace gradhaul
