/* SPDX-License-Identifier: BSD-3-Clause */
/* Results and reports as JSON documents (schema 1). */
#ifndef UNETCTL_LAUNCHER_REPORT_JSON_H
#define UNETCTL_LAUNCHER_REPORT_JSON_H

#include "launcher/report/report.h"

/* Returns {"schema":1,"study":...,"created":...,"engines":[{"engine":...,"label":...,
 * "points":[...],"verdict":{...},"model":{...},"advice":{...}}],"pairs":[...],"rules":[...],
 * "runs":[...]} and further members (doc/SCHEMAS.md), with a newline. "engines" has one entry per
 * series. Times are in seconds; unknown measurements are null. The caller frees it. NULL if memory
 * ran out. */
char *json_encode_report(const struct report *r);
#define JSON_REPORT_MARK "\"schema\"" /* identifies files of unetctl (atomicfile_check_own) */

/* Returns the results of collect, {"schema":1,"study":...,"complete":bool,"runs":[...]},
 * likewise. */
char *json_encode_results(const char *study, const struct results *results);

/* Returns input of Extra-P (4.x), which models how times grow: one parameter, gpus, and a value per
 * good run, of the metrics that are known at every count. Likewise. */
char *json_encode_extra_p(const struct report *r);

#endif
