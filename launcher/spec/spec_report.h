/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's report of the cluster that it sees, and the differences between two reports. `doctor`
 * writes them to the study's folder. */
#ifndef UNETCTL_LAUNCHER_SPEC_SPEC_REPORT_H
#define UNETCTL_LAUNCHER_SPEC_SPEC_REPORT_H

#include <jansson.h>

#define SPEC_REPORT_ONE_STEP                                                                       \
    "start all ranks as one step (one srun), and let no start-up file set SLURM_ variables"

struct spec_report {
    const char *node;   /* the node that the rank runs on */
    int port;           /* the port that it listens at */
    const char *text;   /* its specification, as `unetctl spec` prints it */
    /* the variable or option that names the nodes, and its value */
    const char *nodes_name, *nodes_text;
    const char *tasks_name, *tasks_text;
};

/* Returns {"node":N,"port":P,"hash":H,"nodes":"NAME=TEXT","per_node":"NAME=TEXT"}, or NULL if
 * memory ran out. Each TEXT is cut after 300 bytes; the hash is that of spec_report_hash. */
json_t *spec_report_encode(const struct spec_report *r);

/* Returns a text of a report, or "?" if it is missing. */
const char *spec_report_text(const json_t *report, const char *key);

/* Writes the SHA-256 of the cluster in a specification, without the task, which differs between
 * ranks. */
void spec_report_hash(const char *text, char hex[65]);

/* spec_report_compare calls found if report differs from first, the report of rank 0: once, for
 * the difference that explains the others. */
typedef void spec_report_f(void *arg, const char *problem, const char *remedy);
void spec_report_compare(const json_t *report, const json_t *first, spec_report_f *found,
                         void *arg);

#endif
