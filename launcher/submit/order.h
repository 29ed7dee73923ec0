/* SPDX-License-Identifier: BSD-3-Clause */
/* The order in which the runs of a plan are submitted. Were it that of the plan, all runs of a
 * count would start together, and what changes on the machine meanwhile would look like an effect
 * of the number of GPUs. So runs are submitted in blocks, one for each seed, with the counts of a
 * block in random order (a randomized complete block design: Fisher, The Design of Experiments,
 * 1935). */
#ifndef UNETCTL_LAUNCHER_SUBMIT_ORDER_H
#define UNETCTL_LAUNCHER_SUBMIT_ORDER_H

#include "launcher/study/workspace.h"

/* Fills dst, which the caller destroys, with the runs of plan in that order. It is a function of
 * the study's id, so that a submission that is repeated continues it; the ledger must have one.
 * With --one-allocation, where the largest run that fits is next, only runs of equal size change
 * their order. A study begun by a version that kept the plan's order keeps it: its ledger does not
 * say who submitted. Returns 0, or -1 if memory ran out. */
int order_runs(const struct workspace *w, const struct plan *plan, struct plan *dst,
               struct err *e);

#endif
