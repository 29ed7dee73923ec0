/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings of a run as one text: "data.height=96; model.base=16". In values, ';' and '\' are
 * preceded by a backslash. */
#ifndef UNETCTL_LAUNCHER_COLLECT_RESULTS_SETTINGS_H
#define UNETCTL_LAUNCHER_COLLECT_RESULTS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/buf.h"

#define SETTINGS_GLOBAL_BATCH "train.global_batch"
#define SETTINGS_BATCH_PER_GPU "train.batch_per_gpu"
#define SETTINGS_STRATEGY "strategy"

/* One setting in the text. Its value still has its backslashes. */
struct setting_text {
    const char *key, *value;
    size_t nkey, nvalue;
};

void settings_add(struct buf *dst, const char *key, const char *value);

/* Reads the setting at *text and advances *text past it. Returns false at the end, or if the
 * text is malformed. */
bool settings_next(const char **text, struct setting_text *dst);

/* Adds the value without its backslashes. */
void settings_add_value(struct buf *dst, const struct setting_text *s);

/* Returns whether two texts are equal. NULL stands for unknown settings and equals only NULL. */
bool settings_equal(const char *a, const char *b);

/* Adds ", KEY VALUE" for each setting of texts[i] that at least one other of texts[0..n) does not
 * have with the same value, or ", settings not known" if only others are known. */
void settings_tell_apart(const char *const *texts, size_t n, size_t i, struct buf *dst);

/* Returns a copy of text by which runs are compared to which the strategy makes no difference:
 * those on one GPU and those on several nodes. The copy has no strategy. With one_gpu, it has
 * train.batch_per_gpu under the name train.global_batch, since both are the same on one GPU. The
 * caller frees the copy. NULL for NULL, or if memory ran out. */
char *settings_common(const char *text, bool one_gpu);

#endif
