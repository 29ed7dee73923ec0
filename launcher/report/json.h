/* SPDX-License-Identifier: BSD-3-Clause */
/* Results and reports as JSON documents (schema 1). */
#ifndef UNETCTL_LAUNCHER_REPORT_JSON_H
#define UNETCTL_LAUNCHER_REPORT_JSON_H

#include <jansson.h>

#include "launcher/report/report.h"

/* {"schema":1,"study":...,"created":...,"engines":[{"engine":...,"label":...,"points":[...],
 * "verdict":{...},"models":[...],"advice":{...}}],"pairs":[...],"rules":[...],"runs":[...]}.
 * "engines" has one entry per series. Times are seconds; what is not known is null. malloc'ed,
 * with a newline at the end; NULL without memory. */
char *json_encode_report(const struct report *r);
#define JSON_REPORT_MARK "\"schema\"" /* identifies our files (atomicfile_check_own) */

/* {"schema":1,"study":...,"complete":bool,"runs":[...]}: what collect found. The same otherwise. */
char *json_encode_results(const char *study, const struct results *results);

/* Returns the text of o with a newline, malloc'ed, and releases o; NULL for NULL and without
 * memory. */
char *json_dump(json_t *o);

#endif
