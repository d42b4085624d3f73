#pragma once

// Where numbers come from. Beside its values a mapping may carry
//
//   estimates: [read_latency, nvlink.latency]        # values that nobody has measured or stated
//   sources: {reduce_bandwidth: "NCCL's per-channel caps"}
//
// with the keys of values in it, dotted where they lie deeper. Where it is known between what an
// estimate lies, `estimates` is a mapping, in which a null stands for a range that is not known:
//
//   estimates: {read_latency: [500ns, 1100ns], nvlink.latency: }
//
// A value that is replaced later, by --set, loses both.

#include "scenarios/config_error.h"
#include "scenarios/document.h"

namespace gradhaul {

// Moves `estimates` and `sources` of every mapping in the tree onto the values they speak of.
void annotate(TreeNode& tree, Problems& problems);

}  // namespace gradhaul
