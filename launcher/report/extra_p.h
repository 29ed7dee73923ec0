/* SPDX-License-Identifier: BSD-3-Clause */
/* Results as input of Extra-P (4.x), which models how times grow: its text and its JSON format. One
 * parameter, gpus; one value per run. Only good runs, and only metrics known at every count. */
#ifndef UNETCTL_LAUNCHER_REPORT_EXTRA_P_H
#define UNETCTL_LAUNCHER_REPORT_EXTRA_P_H

#include <jansson.h>

#include "launcher/report/report.h"
#include "src/buf.h"

/* The label of a series is its region. */
void extra_p_encode_text(const struct report_series *s, struct buf *b);

/* The JSON document of all series, which the caller releases; NULL without memory. */
json_t *extra_p_encode_json(const struct report *r);

#endif
