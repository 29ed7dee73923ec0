/* SPDX-License-Identifier: BSD-3-Clause */
/* report --predict: numbers of GPUs that were not measured, as text and as JSON. */
#ifndef UNETCTL_LAUNCHER_REPORT_FORETELL_H
#define UNETCTL_LAUNCHER_REPORT_FORETELL_H

#include <jansson.h>

#include "launcher/analysis/prediction.h"
#include "launcher/report/text.h"
#include "src/buf.h"

/* A table, and what it assumes. label: of the series. */
void foretell_encode_text(const struct prediction *p, const struct prediction_network *network,
                          const char *label, const struct text_form *form, struct buf *b);

/* NULL without memory. */
json_t *foretell_encode_json(const struct prediction *p, const struct prediction_network *network,
                             const char *label);

#endif
