/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank tells about the cluster that it sees, and in what two of them differ. `spec --check`
 * sends reports to rank 0, doctor lays them into the study's folder. */
#ifndef UNETCTL_LAUNCHER_SPEC_SPEC_REPORT_H
#define UNETCTL_LAUNCHER_SPEC_SPEC_REPORT_H

#include <jansson.h>
#include <stddef.h>

struct spec_report {
    const char *node;   /* where the rank runs */
    int port;           /* where it listens */
    const char *text;   /* its specification, as `unetctl spec` prints it */
    const char *nodes_name, *nodes_text; /* what that was made from: variable or option, value */
    const char *tasks_name, *tasks_text;
};

/* {"node":N,"port":P,"hash":H,"nodes":"NAME=TEXT","per_node":"NAME=TEXT"}; NULL: no memory. */
json_t *spec_report_encode(const struct spec_report *r);

/* SHA-256 of the cluster in a specification, without the task, which differs by rank. */
void spec_report_hash(const char *text, char hex[65]);

/* Calls found for each thing in which the report differs from that of rank 0. */
typedef void spec_report_f(void *arg, const char *problem, const char *remedy);
void spec_report_compare(const json_t *report, const json_t *first, spec_report_f *found,
                         void *arg);

#endif
