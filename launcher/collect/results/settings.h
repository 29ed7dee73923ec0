/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of a run as one text: "data.height=96; model.base=16". In a value, a backslash
 * stands before ';' and '\'. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RESULTS_SETTINGS_H
#define UNETCTL_LAUNCHER_COLLECT_RESULTS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/buf.h"

#define SETTINGS_GLOBAL_BATCH "train.global_batch"
#define SETTINGS_BATCH_PER_GPU "train.batch_per_gpu"
#define SETTINGS_STRATEGY "strategy"

/* One of them, within the text; the value still has its backslashes. */
struct setting_text {
    const char *key, *value;
    size_t nkey, nvalue;
};

void settings_add(struct buf *dst, const char *key, const char *value);

/* The setting at *text, which then moves behind it. false at the end, or where text is malformed.
 */
bool settings_next(const char **text, struct setting_text *dst);

void settings_add_value(struct buf *dst, const struct setting_text *s);

/* Are they equal? NULL stands for settings that are not known, and equals only NULL. */
bool settings_equal(const char *a, const char *b);

/* Add ", KEY VALUE" for each setting of texts[i] that some other of texts[0..n) does not have. */
void settings_tell_apart(const char *const *texts, size_t n, size_t i, struct buf *dst);

/* The settings without those that make no difference to some runs: the strategy of runs on one GPU
 * or on several nodes, and, with one_gpu, the batch, since there that of each GPU is the global
 * one. NULL for NULL or without memory; the caller frees. */
char *settings_common(const char *text, bool one_gpu);

#endif
