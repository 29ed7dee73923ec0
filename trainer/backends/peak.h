/* SPDX-License-Identifier: BSD-3-Clause */
/* The peak rates of one core of this machine, with which the rates of ops are compared. */
#ifndef UNETCTL_TRAINER_BACKENDS_PEAK_H
#define UNETCTL_TRAINER_BACKENDS_PEAK_H

/* Returns the floating-point operations per second of one thread, measured with independent fused
 * multiply-adds in registers. Takes some hundredths of a second. */
double peak_flop(void);

/* Returns the bytes per second of one thread, measured with a = b + s c over arrays that no cache
 * holds; each array counts once. Returns 0 if there is no memory. */
double peak_bytes(void);

#endif
