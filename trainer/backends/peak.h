/* SPDX-License-Identifier: BSD-3-Clause */
/* What a core of this machine can do at most: what the rates of ops are held against. */
#ifndef UNETCTL_TRAINER_BACKENDS_PEAK_H
#define UNETCTL_TRAINER_BACKENDS_PEAK_H

/* Multiplications and additions in a second, of one thread with the vectors that this processor
 * has: independent fused ones on registers. Takes about 0.1 s, as the next. */
double peak_flop(void);

/* Bytes in a second, of one thread: a = b + s c over arrays that no cache holds, each counted
 * once. */
double peak_bytes(void);

#endif
