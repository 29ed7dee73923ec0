/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings with which a run was made, from its run.json. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RESULT_SETTINGS_H
#define UNETCTL_LAUNCHER_COLLECT_RESULT_SETTINGS_H

#include <jansson.h>

/* The settings that can change the run's time or quality (affects_result in settings_of_study), as
 * one text (settings.h), without those that have their built-in value; the batch is always there.
 * backend: the one that computed, or "" where only the plan is known. device: the name of the GPU
 * or processor that it used; GPUs of different models are different settings. malloc'ed; NULL
 * without memory. */
char *result_settings_encode(const json_t *plan, const char *backend, const char *device);

#endif
