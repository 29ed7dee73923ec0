/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of the section, the same in LaTeX and in Markdown. */
#ifndef UNETCTL_LAUNCHER_REPORT_PROPOSAL_PROPOSAL_TEXT_H
#define UNETCTL_LAUNCHER_REPORT_PROPOSAL_PROPOSAL_TEXT_H

#include <stdbool.h>

#include "launcher/report/chart/chart.h"
#include "launcher/report/proposal/proposal_request.h"
#include "launcher/report/report.h"

enum { PROPOSAL_NSCRIPTS = 2 };

struct proposal_text {
    const struct report *report;
    const struct proposal_facts *facts;
    const struct chart *figure;
    bool drawn; /* there is a PDF of the figure */
    const struct result *run; /* whose scripts stand for all; NULL: there are none */
    char *scripts[PROPOSAL_NSCRIPTS];
};

/* Returns the text, which the caller frees, or NULL if memory ran out. LaTeX is to be \input into a
 * document. */
char *proposal_text_encode(const struct proposal_text *text, bool latex);

#endif
