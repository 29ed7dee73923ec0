/* SPDX-License-Identifier: BSD-3-Clause */
/* Results as input of Extra-P (4.x), which models how times grow: its text and its JSON format. One
 * parameter, gpus; one value per run. Only good runs, and only metrics known at every count. */
#ifndef UNETCTL_LAUNCHER_REPORT_EXTRA_P_H
#define UNETCTL_LAUNCHER_REPORT_EXTRA_P_H

#include "launcher/analysis/series.h"
#include "src/buf.h"

/* region: what the series is called. */
void extra_p_encode_text(const struct series *s, const char *region, struct buf *b);

struct extra_p_series {
    const struct series *series;
    const char *region; /* unique */
};

/* The JSON document, malloc'ed; NULL without memory. */
char *extra_p_encode_json(const struct extra_p_series *series, size_t nseries);

#endif
