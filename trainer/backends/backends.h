/* SPDX-License-Identifier: BSD-3-Clause */
/* The backends that this program contains. They are constants and need no setup.
 *
 * A backend is a table of kernels (core/kernel.h), and, if it computes on a device, the functions
 * of that device. network/ and run/ find one by name; the ops that it has no kernel for are left to
 * its fallback. ref/ is the reference in plain C, cpu/ the backend "simd" for wide instructions,
 * cuda/ the one for NVIDIA GPUs. The same numbers give the same results in every backend up to
 * rounding, which trainer/ops/test/opcheck.t checks kernel by kernel. To read: ref/, then one of
 * the others. */
#pragma once

#include "trainer/core/kernel.h"

/* All backends, NULL-terminated: first those of the host, the fastest first and the reference,
 * which has a kernel for every kind of op, last; then those of devices. */
extern const struct backend *const backends[];

/* Returns the backend of that name, or NULL if the program does not contain it. */
const struct backend *backend_find(const char *name);

/* The peak rates of one core of this machine, with which the rates of ops are compared. */

/* Returns the floating-point operations per second of one thread, measured with independent fused
 * multiply-adds in registers. Takes some hundredths of a second. */
double peak_flop(void);

/* Returns the bytes per second of one thread, measured with a = b + s c over arrays that no cache
 * holds; each array counts once. Returns 0 if there is no memory. */
double peak_bytes(void);
