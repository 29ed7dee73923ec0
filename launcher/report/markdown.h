/* SPDX-License-Identifier: BSD-3-Clause */
/* The report as Markdown, with the PNG figures beside it. */
#ifndef UNETCTL_LAUNCHER_REPORT_MARKDOWN_H
#define UNETCTL_LAUNCHER_REPORT_MARKDOWN_H

#include "launcher/report/figures.h"
#include "launcher/report/report.h"

/* Figures are linked as figures/NAME.png. malloc'ed; NULL without memory. */
char *markdown_encode(const struct report *r, const struct figures *f);

#endif
