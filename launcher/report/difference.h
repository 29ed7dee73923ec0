/* SPDX-License-Identifier: BSD-3-Clause */
/* The difference of two series in words, which follow from its interval. */
#ifndef UNETCTL_LAUNCHER_REPORT_DIFFERENCE_H
#define UNETCTL_LAUNCHER_REPORT_DIFFERENCE_H

#include "launcher/analysis/analysis.h"
#include "src/buf.h"

/* Adds one sentence on how the series label_b compares with label_a at one count, such as "With 14
 * GPUs, steady epoch: horovod is 1.20x faster than native (95 % interval 1.18 to 1.22,
 * simultaneous over 8 comparisons).". s is the series of a. */
void difference_describe(struct buf *b, const struct analysis_difference *d, const char *label_a,
                         const char *label_b, const struct series *s);

#endif
