/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that all ranks of a job see the same cluster. Every rank reports to rank 0, at its
 * address in the specification, what it sees; rank 0 compares and reports the differences.
 *
 * A rank sends one line of JSON and waits for the verdict, also one line. Rank 0 waits for all
 * ranks until its deadline. A rank that has number 0 by mistake (it runs elsewhere, or the
 * address is in use) reports to the owner of the address, which then finds rank 0 twice. */
#ifndef UNETCTL_LAUNCHER_SPEC_SPEC_CHECK_H
#define UNETCTL_LAUNCHER_SPEC_SPEC_CHECK_H

#include "launcher/spec/spec_view.h"

/* 0: all ranks agree, and rank 0 printed that on stdout. -1 with ERR_PEER: they differ; rank 0
 * reported every finding with the rank, its node and a remedy, on stderr, or with json as one
 * object on stdout. timeout_s: how long rank 0 waits for others. */
int spec_check_run(struct spec_view *v, double timeout_s, bool json, struct err *e);

#endif
