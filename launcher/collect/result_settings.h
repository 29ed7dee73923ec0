/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings that a run was made with, from its run.json and what its record says of the backend
 * and the device. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RESULT_SETTINGS_H
#define UNETCTL_LAUNCHER_COLLECT_RESULT_SETTINGS_H

#include <jansson.h>

/* Returns the settings that can change the run's time or quality (affects_result in
 * settings_of_study) as one text (settings.h), without those at their preset; the batch is always
 * included, and so is the strategy multi-worker where one task could have had all GPUs.
 * backend is the one that computed, or "" if only the plan is known. device is the model of the GPU
 * or processor; it is included only with the backend cuda. script is the hash of what another
 * engine executed, or "". The caller frees the text. NULL if memory ran out. */
char *result_settings_encode(const json_t *plan, const char *backend, const char *device,
                             const char *script);

#endif
