/* SPDX-License-Identifier: BSD-3-Clause */
/* STUDY/split.json lists which images train and which validate. */
#ifndef UNETCTL_LAUNCHER_PLAN_DATA_SPLIT_H
#define UNETCTL_LAUNCHER_PLAN_DATA_SPLIT_H

#include <jansson.h>

#include "launcher/study/workspace.h"

/* Writes the split, unless it exists, by means of unet-train, which reads the data. Returns 0, or
 * -1 with unet-train's error, or with ERR_CONFIG if data and model do not fit. */
int data_split_make(const struct plan *p, struct err *e);

/* Sets *dst to split.json, which the caller releases, or to NULL if the study has none yet. Returns
 * 0, or -1 with ERR_DATA if it is damaged or has another schema. */
int data_split_read(const struct study *s, json_t **dst, struct err *e);

#endif
