/* SPDX-License-Identifier: BSD-3-Clause */
/* The reference backend: plain kernels for every kind of op, with which other backends are
 * compared. The CPU backend "simd" falls back to it. Sums have a fixed order that does not depend
 * on the number of threads. */
#ifndef UNETCTL_TRAINER_BACKENDS_REF_REF_H
#define UNETCTL_TRAINER_BACKENDS_REF_REF_H

#include "trainer/core/backend.h"

#define OP(name) extern const struct kernel ref_##name;
#include "trainer/core/ops.def"
#undef OP

extern const struct backend ref_backend;

#endif
