#pragma once

// The part of a row that says what was asked, predicted or measured alike.

#include "core/communication.h"
#include "core/result.h"
#include "core/workload.h"

namespace gradhaul {

// `size` is whole elements.
ResultRow asked_row(const Workload& workload, const Communication& communication, int ranks,
                    int channels, Bytes size);

}  // namespace gradhaul
