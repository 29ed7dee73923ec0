/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of a study that runs (watch --html): states, time left, curves so far, and speed-up. */
#pragma once

#include "launcher/analysis/analysis.h"
#include "launcher/status/status.h"
#include "launcher/status/watch.h"

struct live_page {
    const char *file;
    double again_s;     /* the page loads itself again so often; 0: this is the last one */
    double left_s;      /* run_summary_total_left */
    const char *rounds; /* what is said of the rounds, or "" */
    struct analysis_options analysis;
};

/* Writes the page, self-contained as the report's, from the states in list and the
 * results and curves so far, which are read from the study's folder. A record that cannot be read
 * is one curve less. Returns 0, or -1: with ERR_CONFIG if file exists and is not such a page. */
int live_page_write(const struct live_page *page, const struct study *study,
                    const struct status_list *list, const struct run_summary *summary,
                    struct err *e);
