/* SPDX-License-Identifier: BSD-3-Clause */
/* opcheck's two other modes: which backend has which op, and how fast each is. The trainer has one
 * type of numbers, float (trainer/core/tensor.h); the tables name it f32. */
#ifndef UNETCTL_TRAINER_OPS_TEST_OPSPEED_H
#define UNETCTL_TRAINER_OPS_TEST_OPSPEED_H

#include <stdio.h>

#include "trainer/ops/test/rig.h"

/* Whose table a kernel stands in. */
const struct backend *opspeed_owner(const struct kernel *kernel);

/* A line for each kind of op, a column for each backend: whose kernels do it for the n cases, in
 * the order in which they appear, of floats; "-": nobody's. */
void opspeed_list(const struct test_case *cases, size_t n, FILE *out);

/* One line for each op of each case (sizes of the reference networks), forward and gradient, and of
 * the casts that activations of that type need: median time of a run, GFLOP/s of convolutions, GB/s
 * (inputs and results, each once), whose kernel. For seconds_each of at least five rounds. op: only that
 * kind's cases; NULL or empty: all. -1: the backend's device is not there. */
int opspeed_measure(const struct backend *backend, const char *op, double seconds_each,
                    enum dtype dtype, FILE *out, struct err *e);

#endif
