/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of settings as JSON. */
#ifndef UNETCTL_LAUNCHER_STUDY_SETTING_JSON_H
#define UNETCTL_LAUNCHER_STUDY_SETTING_JSON_H

#include <jansson.h>

#include "src/settings/settings.h"

json_t *setting_json_encode(const struct setting *s, const void *src);

/* Returns whether value equals what a file without the setting means. */
bool setting_json_is_preset(const struct setting *s, const json_t *value);

#endif
