/* SPDX-License-Identifier: BSD-3-Clause */
/* Do all ranks of a job see the same cluster? Every rank tells rank 0, at the address that the
 * specification gives it, what it sees; rank 0 compares and says who differs in what.
 *
 * A rank sends one line of JSON and waits for the verdict, one line too. Rank 0 waits for all ranks
 * until its time is up. A rank that calls itself 0 and can't be (it runs elsewhere, or the address
 * is taken) reports to the one that has the address, which then finds rank 0 twice. */
#ifndef UNETCTL_LAUNCHER_SPEC_SPEC_CHECK_H
#define UNETCTL_LAUNCHER_SPEC_SPEC_CHECK_H

#include "launcher/spec/spec_view.h"

/* 0: all agree, and rank 0 has printed so on stdout. -1 with ERR_PEER: they don't; rank 0 has told
 * every finding with the rank, its node and what to do, on stderr, or with json in one object on
 * stdout. timeout_s: how long ranks are waited for. */
int spec_check_run(struct spec_view *v, double timeout_s, bool json, struct err *e);

#endif
