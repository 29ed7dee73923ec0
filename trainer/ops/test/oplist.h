/* SPDX-License-Identifier: BSD-3-Clause */
/* Which backend has which op. */
#pragma once

#include "src/base.h"

#include "trainer/ops/test/rig.h"

/* Returns the backend whose table has the kernel, or NULL. */
const struct backend *oplist_owner(const struct kernel *kernel);

/* Prints a line for each kind of op with a column for each backend: the backends whose kernels
 * compute the n cases in floats, in the order in which they appear; "-" for none. */
void oplist_list(const struct test_case *cases, size_t n, FILE *out);
