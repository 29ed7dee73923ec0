/* SPDX-License-Identifier: BSD-3-Clause */
/* What earlier starts of a run have left in its folder. */
#ifndef UNETCTL_TRAINER_RUN_EARLIER_START_H
#define UNETCTL_TRAINER_RUN_EARLIER_START_H

#include <stdbool.h>

#include "src/err.h"

/* Moves the results of an earlier start in dir to dir/restart-K, or refuses to, and sets *again, as
 * run_log_open (run_log.h). */
int earlier_start_clear(const char *dir, bool *again, struct err *e);

#endif
