/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that all ranks of a job see the same cluster. Every other rank sends rank 0, at rank 0's
 * address in the specification, a report of what it sees. Rank 0 compares the reports and prints
 * the differences.
 *
 * A rank sends one line of JSON and waits for the verdict, also one line. Rank 0 waits for all
 * ranks until its deadline. A process that takes itself for rank 0 by mistake (it runs on
 * another host, or the address is in use) sends its report to the process at the address, which
 * then finds rank 0 twice. */
#ifndef UNETCTL_LAUNCHER_SPEC_SPEC_CHECK_H
#define UNETCTL_LAUNCHER_SPEC_SPEC_CHECK_H

#include "launcher/spec/spec_view.h"

/* Returns 0 if all ranks agree, which rank 0 prints on stdout, or -1 with ERR_PEER if they differ,
 * or if a rank is missing or finds its own environment wrong. Rank 0 then prints every finding
 * (but of missing ranks only the first 20, and how many more there are) with the rank, its node and
 * a remedy, on stderr. If json is set, it prints the result as one object on stdout in either case.
 * timeout_s is how long rank 0 waits for the others, and how long they try to connect to it. */
int spec_check_run(struct spec_view *v, double timeout_s, bool json, struct err *e);

#endif
