/* SPDX-License-Identifier: BSD-3-Clause */
/* run.json, the plan of one run: what unetctl writes and its trainer reads (doc/FORMATS.md). */
#ifndef UNETCTL_LAUNCHER_STUDY_RUN_JSON_H
#define UNETCTL_LAUNCHER_STUDY_RUN_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "launcher/study/plan.h"

/* Returns run.json of a run, which the caller frees, or NULL with
 * an error. */
char *run_json_encode(const char *study_id, const struct run *run, struct err *e);

/* Returns run.json as JSON, to be released by the caller, or NULL with ERR_CONFIG. If study_dir
 * is not NULL, paths in the study's earlier folder are changed to study_dir, its current folder. */
json_t *run_json_decode(const char *text, const char *study_dir, struct err *e);

/* Returns the study's folder according to run.json, a text that continues after *length bytes, or
 * NULL and 0 if it is unknown. */
const char *run_json_study_dir(const json_t *plan, size_t *length);

/* Returns the value of a key of study.yaml, such as "train.lr", in run.json, or NULL; of the
 * keys without a section it may have markers. For engines other than the embedded one, the section
 * of the engine's name in study.yaml is "program" in run.json. */
const json_t *run_json_value(const json_t *plan, const char *key);

/* How two run.json texts differ: the number of differing values, and path and values (as JSON)
 * of the first. Not counted are keys that only the old text has, unless run.json has them only
 * where they are set, and keys that only the new text has, at their preset, unless the setting is
 * "expected". run_json_compare returns 0, or -1 with ERR_CONFIG; study_dir applies to the old text
 * as in run_json_decode. */
struct run_difference {
    size_t count;
    char path[128], was[512], is[512]; /* "train.lr", "0.001", "0.01" */
};
int run_json_compare(const char *old_text, const char *new_text, const char *study_dir,
                     struct run_difference *dst, struct err *e);

/* Returns the value of a setting in src, the struct that has it. */
json_t *setting_json_encode(const struct setting *s, const void *src);

/* Returns whether value equals what a file without the setting means. */
bool setting_json_is_preset(const struct setting *s, const json_t *value);

#endif
