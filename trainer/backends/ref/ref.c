/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of the reference backend, one for each kind of op. */
#include "config.h"
#include "trainer/backends/ref/ref.h"

static const struct kernel *const kernels[] = {
#define OP(name) &ref_##name,
#include "trainer/core/ops.def"
#undef OP
    NULL,
};

const struct backend ref_backend = {.name = "ref", .kernels = kernels};
