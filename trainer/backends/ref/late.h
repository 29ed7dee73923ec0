/* SPDX-License-Identifier: BSD-3-Clause */
/* The gradient of a norm that its reader computes (core/op.h), for kernels that take it. */
#ifndef UNETCTL_TRAINER_BACKENDS_REF_LATE_H
#define UNETCTL_TRAINER_BACKENDS_REF_LATE_H

#include "trainer/core/op.h"

/* Bytes of memory for late_gradient, a multiple of 64; 0: op takes in[0] as it is. */
size_t late_size(const struct op *op);

/* in[0], or *late, which is computed into the memory. */
const struct tensor *late_gradient(const struct op *op, struct tensor *late, void *memory);

#endif
