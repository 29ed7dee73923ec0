/* SPDX-License-Identifier: BSD-3-Clause */
/* What no single row of the table of settings can check: rules that several settings have together,
 * and texts that are parsed where they are used. The same for study.yaml and for run.json. */
#ifndef UNETCTL_SRC_SETTINGS_SETTINGS_CHECK_H
#define UNETCTL_SRC_SETTINGS_SETTINGS_CHECK_H

#include "src/err.h"
#include "src/settings/settings.h"

/* Returns NULL, or the path of a setting that is wrong, with ERR_CONFIG and a text that begins with
 * this path. */
const char *settings_check(const struct settings *c, struct err *e);

/* Checks that train.comm can connect the GPUs of a run, which are in so many tasks. Returns 0, or
 * -1 with ERR_CONFIG. */
int settings_check_comm(const struct settings *c, int gpus, int tasks, struct err *e);

/* Fills dst with the weights of the classes (of background and foreground for one class). Returns
 * their number, 0 without weights, or -1 with ERR_CONFIG. */
int settings_check_weights(const struct settings *c, float dst[SETTINGS_CLASSES_MAX],
                           struct err *e);

#endif
