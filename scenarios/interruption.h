#pragma once

// SIGINT and SIGTERM ask a run to end in good order; a second one ends the program at once.

#include <atomic>

namespace gradhaul {

// Catches both from now on; called once, before any other thread begins. The flag turns true with
// the first signal, and lives as long as the program.
const std::atomic<bool>& catch_interruption();

}  // namespace gradhaul
