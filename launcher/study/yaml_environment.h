/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings in the environment: train.lr as $UNETCTL_TRAIN_LR. */
#ifndef UNETCTL_LAUNCHER_STUDY_YAML_ENVIRONMENT_H
#define UNETCTL_LAUNCHER_STUDY_YAML_ENVIRONMENT_H

#include "launcher/study/yaml_table.h"

/* Adds the values of environment variables. A setting's variable is prefix and its path in
 * capitals, with _ for the dot. A variable that looks like a setting but is not is refused,
 * unless others (names without prefix, NULL-terminated) has it. Returns 0, or -1 with ERR_USAGE. */
int yaml_environment_add(const struct setting *keys, const char *prefix, const char *const *others,
                         void *dst, struct yaml_origins *origins, struct err *e);

#endif
