/* SPDX-License-Identifier: BSD-3-Clause */
/* The figure of the section: speed-up by GPUs, both axes logarithmic, with the ideal and, dashed in
 * a band, what the model expects beyond the largest measured count. */
#ifndef UNETCTL_LAUNCHER_REPORT_PROPOSAL_PROPOSAL_CHART_H
#define UNETCTL_LAUNCHER_REPORT_PROPOSAL_PROPOSAL_CHART_H

#include "launcher/report/chart/chart.h"
#include "launcher/report/report.h"

/* Makes the chart "scaling"; c->failed if memory ran out. */
void proposal_chart_make(struct chart *c, const struct report *r);

/* Returns the largest count that the model may predict, or the largest measured one if the model
 * cannot be used. */
int proposal_chart_end(const struct report_series *rs);

#endif
