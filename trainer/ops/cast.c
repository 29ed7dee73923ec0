/* SPDX-License-Identifier: BSD-3-Clause */
/* The op that converts between floats and numbers of 16 bits; passes/precision.c appends it. */
#include "config.h"
#include "trainer/ops/ops.h"

const struct op_kind cast_kind = {
    .name = "cast", .nin = 1, .nout = 1, .infer = ops_infer_same_shape,
};
