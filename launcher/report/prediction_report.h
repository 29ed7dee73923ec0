/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of report --predict, as text and as JSON. */
#ifndef UNETCTL_LAUNCHER_REPORT_PREDICTION_REPORT_H
#define UNETCTL_LAUNCHER_REPORT_PREDICTION_REPORT_H

#include <jansson.h>

#include "launcher/analysis/analysis.h"
#include "launcher/report/text.h"
#include "src/buf.h"

/* Adds a table and the assumptions that it is based on. label is that of the series. */
void prediction_report_encode_text(const struct prediction *p,
                                   const struct prediction_network *network, const char *label,
                                   const struct text_form *form, struct buf *b);

/* Adds the laws of a model, how far off a count that is left out is predicted, and what is not
 * known beyond the measured counts. interval: "epoch" or "interval" (series_interval).
 * gpus_per_node 0: unknown. */
void prediction_report_explain(const struct model *m, const char *interval, int gpus_per_node,
                               struct buf *b);

/* Returns the prediction as JSON, or NULL if memory ran out. */
json_t *prediction_report_encode_json(const struct prediction *p,
                                      const struct prediction_network *network, const char *label);

#endif
