/* SPDX-License-Identifier: BSD-3-Clause */
/* Results as input of Extra-P (4.x), which models how times grow, in its JSON format. There is one
 * parameter, gpus, and one value per run. Only good runs and only metrics known at every count are
 * included. */
#ifndef UNETCTL_LAUNCHER_REPORT_EXTRA_P_H
#define UNETCTL_LAUNCHER_REPORT_EXTRA_P_H

#include <jansson.h>

#include "launcher/report/report.h"

/* Returns the JSON document of all series, which the caller releases, or NULL if memory ran out. */
json_t *extra_p_encode(const struct report *r);

#endif
