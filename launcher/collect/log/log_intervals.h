/* SPDX-License-Identifier: BSD-3-Clause */
/* The one way from the rows of a log to the intervals of a run.
 *
 * A row ends an interval if it has a time: that of the interval itself, or a clock, of which the
 * differences count. With a clock, the row must also be later than the last one, at a greater step,
 * and have a loss if any row has one. Rows without a time, such as those of a validation, add their
 * values to the interval of their step. Before the first row of a clock with dates nothing is
 * known, so it only starts the first interval. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_LOG_INTERVALS_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_LOG_INTERVALS_H

#include "launcher/collect/log/log_form.h"
#include "launcher/collect/log/log_table.h"
#include "launcher/collect/results/results.h"

/* Sets r's curve, times, loss, quality and work. r's global_batch, if it is known, is the work of a
 * step of a log without units. Sets r's stepped unless its intervals are epochs. Returns 0, or -1:
 * with ERR_DATA "FILE:LINE: REASON" for damage, with ERR_CONFIG if the user has to say more. r's
 * curve is then NULL. */
int log_intervals_fill(const struct log_table *t, const struct log_form *form, struct result *r,
                       struct err *e);

#endif
