/* SPDX-License-Identifier: BSD-3-Clause */
/* opcheck's two other modes: which backend has which op, and how fast each is. */
#pragma once

#include "src/base.h"

#include "trainer/ops/test/rig.h"

/* Returns the backend whose table has the kernel, or NULL. */
const struct backend *opspeed_owner(const struct kernel *kernel);

/* Prints a line for each kind of op with a column for each backend: the backends whose kernels
 * compute the n cases in floats, in the order in which they appear; "-" for none. */
void opspeed_list(const struct test_case *cases, size_t n, FILE *out);

/* Prints a line for each op of each case (sizes of the reference networks), forward and gradient,
 * and for the casts that activations of that type need: median time of a run, GFLOP/s of
 * convolutions, GB/s (inputs and results, each once), and the kernel's backend. Each op runs for
 * seconds_each, and at least five times. op: only the cases of that kind; NULL or "": all. Returns
 * -1 if the backend's device is missing. */
int opspeed_measure(const struct backend *backend, const char *op, double seconds_each,
                    enum dtype dtype, FILE *out, struct err *e);
