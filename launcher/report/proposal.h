/* SPDX-License-Identifier: BSD-3-Clause */
/* The scaling section of an application for computing time: what was measured, with intervals;
 * what the model expects beyond that; how it was measured; what is requested; the job script. What
 * computing centres ask for is in doc/PROPOSAL.md. What is not known is a blank. */
#pragma once

#include "src/base.h"

#include "launcher/report/report.h"

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
    struct source_site site; /* of the only source */
    const char *centre;      /* whose items are answered (centre_check), or NULL */
    double flop;             /* floating-point operations of a unit of work */
    const struct proposal_request *requests;
    size_t nrequests;
    /* Of proposal_write: left_out of the report; bytes on disk of a finished run; a run whose job
     * scripts stand for all, or NULL; where the threads of the first run of each count ran, as
     * OpenMP says. */
    const char *left_out;
    double run_bytes;
    const struct result *run;
    struct buf affinity;
};

/* Decodes "NAME: GPUS x RUNS x HOURS" or "NAME: GPUS x RUNS". Returns 0, or -1 with ERR_USAGE. */
int proposal_request_decode(const char *text, struct proposal_request *dst, struct err *e);

/* Returns 0 if centres.def has this centre, or -1 with ERR_USAGE and the list of centres. */
int centre_check(const char *name, struct err *e);

/* Fill t with a row per request and their sum, and add a sentence per request; with a row per item
 * of the centre. Measurements are those of rs. */
void proposal_request_fill(struct table *t, struct buf *sentences, const struct report_series *rs,
                           const struct proposal_facts *facts);
void centre_fill(struct table *t, const struct report_series *rs,
                 const struct proposal_facts *facts);

/* Writes proposal.tex, proposal.md, the figure scaling, results.csv and the job scripts into dir,
 * which does not exist or is empty. Returns 0, or -1: with ERR_CONFIG if
 * dir has files, with ERR_INTERNAL if one cannot be written. */
int proposal_write(const struct report *r, struct proposal_facts *facts, const char *dir,
                   struct err *e);
