/* SPDX-License-Identifier: BSD-3-Clause */
/* The jobs that computing time is requested for, and what they add up to. */
#ifndef UNETCTL_LAUNCHER_REPORT_PROPOSAL_PROPOSAL_REQUEST_H
#define UNETCTL_LAUNCHER_REPORT_PROPOSAL_PROPOSAL_REQUEST_H

#include <limits.h>
#include <stddef.h>

#include "launcher/report/markup/table.h"
#include "launcher/report/report.h"
#include "src/err.h"

#define PROPOSAL_BLANK "____" /* what the applicant fills in */

/* A type of job. */
struct proposal_request {
    char name[96];
    int gpus; /* of one run */
    long runs;
    double hours; /* of one run; NaN: as measured with these GPUs */
};

/* What is known beside the results; 0 or "": unknown. */
struct proposal_facts {
    char study_dir[PATH_MAX]; /* of the only source */
    int gpus_per_node;
    int cpus_per_gpu; /* that the study's jobs ask for */
    double flop;      /* floating-point operations of a unit of work */
    double run_bytes; /* on disk, of a finished run; proposal_write sets it */
    const struct proposal_request *requests;
    size_t nrequests;
};

/* Decodes "NAME: GPUS x RUNS x HOURS" or "NAME: GPUS x RUNS". Returns 0, or -1 with ERR_USAGE. */
int proposal_request_decode(const char *text, struct proposal_request *dst, struct err *e);

/* Returns the largest count that the model may predict, or the largest measured one if the model
 * cannot be used. */
int proposal_request_end(const struct report_series *rs);

/* Fills t with a row per request and their sum. Measurements are those of rs. */
void proposal_request_fill(struct table *t, const struct report_series *rs,
                           const struct proposal_facts *facts);

#endif
