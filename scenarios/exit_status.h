#pragma once

// What the program's exit status says (interface.md, section 3).

namespace gradhaul {

enum ExitStatus : int {
  kDone = 0,
  kRunFailed = 1,
  kBadInput = 2,  // the scenario or the command line
  kOutsideExpectation = 3,
  kInterrupted = 4,  // what was finished is kept
};

}  // namespace gradhaul
