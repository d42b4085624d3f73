#pragma once

// Small writes whose data a work request carries itself, so that the NIC has nothing to read: only
// from the memory of the host, for it is the CPU that copies them. A driver writes such a request
// with its doorbell, where it is alone [rdma-core, providers/mlx5/qp.c: _mlx5_post_send, BlueFlame
// of one inline request].

#include "core/quantities.h"

namespace gradhaul {

// What queue pairs are asked for (max_inline_data); devices of the mlx5 driver have several times
// that.
inline constexpr Bytes kInlineBytes{128};

}  // namespace gradhaul
