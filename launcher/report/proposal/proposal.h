/* SPDX-License-Identifier: BSD-3-Clause */
/* The scaling section of an application for computing time: what was measured, with intervals; what
 * the model expects beyond that; how it was measured; what is requested; the job script. What
 * computing centres ask for is in doc/PROPOSAL.md. What is not known is a blank, "____". */
#ifndef UNETCTL_LAUNCHER_REPORT_PROPOSAL_PROPOSAL_H
#define UNETCTL_LAUNCHER_REPORT_PROPOSAL_PROPOSAL_H

#include "launcher/report/proposal/proposal_request.h"
#include "launcher/report/report.h"
#include "src/err.h"

/* Writes proposal.tex, proposal.md, the figure scaling, results.csv and the job scripts into dir,
 * which does not exist or is empty; sets facts->run_bytes. Returns 0, or -1: with ERR_CONFIG if dir
 * has files, with ERR_INTERNAL if one cannot be written. */
int proposal_write(const struct report *r, struct proposal_facts *facts, const char *dir,
                   struct err *e);

#endif
