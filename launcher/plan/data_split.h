/* SPDX-License-Identifier: BSD-3-Clause */
/* STUDY/split.json: which images train and which validate. */
#ifndef UNETCTL_LAUNCHER_PLAN_DATA_SPLIT_H
#define UNETCTL_LAUNCHER_PLAN_DATA_SPLIT_H

#include <jansson.h>

#include "launcher/study/workspace.h"

/* Freezes the split, once, with the trainer's own reader of the data. ERR_CONFIG where the data and
 * the model do not fit. */
int data_split_make(const struct workspace *w, struct err *e);

/* split.json, to be released; NULL where it is missing or cannot be read. */
json_t *data_split_read(const struct study *s);

#endif
