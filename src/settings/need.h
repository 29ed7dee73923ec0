/* SPDX-License-Identifier: BSD-3-Clause */
/* What a setting needs to have an effect, from its row of the table (NEEDS in settings.def). */
#ifndef UNETCTL_SRC_NEED_H
#define UNETCTL_SRC_NEED_H

#include <stdbool.h>

#include "src/buf.h"
#include "src/err.h"
#include "src/settings/settings.h"

/* Returns the first need of row s that the settings src of this table do not meet, or NULL. Also
 * NULL for a value that is the preset or neutral. gpus: the most GPUs of a run; 0: unknown. What is
 * unknown, such as a need that only the data show, counts as met. */
const struct setting_need *need_unmet(const struct setting *table, const struct setting *s,
                                      const void *src, int gpus);

/* Does the same. Returns 0, or -1 with ERR_CONFIG: which value has no effect, why, and what to
 * change. */
int need_check(const struct setting *table, const struct setting *s, const void *src, int gpus,
               struct err *e);

/* Adds all needs of a row in front of its help: "for sgd, lars: " or "without lr_steps: "; nothing
 * without needs. */
void need_describe(const struct setting *s, struct buf *dst);

#endif
