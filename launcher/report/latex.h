/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of the report for LaTeX, to be \input into a paper. */
#ifndef UNETCTL_LAUNCHER_REPORT_LATEX_H
#define UNETCTL_LAUNCHER_REPORT_LATEX_H

#include "launcher/report/report.h"

/* malloc'ed; NULL without memory. */
char *latex_encode(const struct report *r);

#endif
