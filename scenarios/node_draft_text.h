#pragma once

// A node file (interface.md, section 2.1) out of what a host, or a file about it, told.

#include <string>

#include "core/host_checkup.h"

namespace gradhaul {

// Requires a GPU: a node has at least one. `place`: where the host was read, and by which command,
// for a comment.
std::string node_draft_text(const NodeDraft& draft, const std::string& place,
                            const char* command = "doctor");

}  // namespace gradhaul
