/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a data set has what a model learns: masks, or one class per image. */
#ifndef UNETCTL_TRAINER_RUN_TASK_H
#define UNETCTL_TRAINER_RUN_TASK_H

#include "src/err.h"
#include "trainer/data/set/dataset.h"

/* classes: of the configuration or checkpoint; where images have classes, 1 becomes their number.
 * ERR_CONFIG. */
int task_check(const char *model, const struct dataset *ds, int *classes, struct err *e);

#endif
