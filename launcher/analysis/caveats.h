/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts that weaken a verdict (decision.h), as sentences, the most severe first. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_CAVEATS_H
#define UNETCTL_LAUNCHER_ANALYSIS_CAVEATS_H

#include "launcher/analysis/decision.h"

/* Fills d->caveats from the other members of d, from s, and from table, which has all rows of the
 * source, also those without a result. */
void caveats_compute(struct decision *d, const struct series *s, const struct results *table);

#endif
