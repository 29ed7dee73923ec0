/* SPDX-License-Identifier: BSD-3-Clause */
/* The report as Markdown, with the PNG figures beside it. */
#ifndef UNETCTL_LAUNCHER_REPORT_MARKDOWN_H
#define UNETCTL_LAUNCHER_REPORT_MARKDOWN_H

#include "launcher/report/figures.h"
#include "launcher/report/report.h"

/* Write path; figures are linked as figures/NAME.png. 0 or -1. */
int markdown_write(const struct report *r, const struct figures *f, const char *path,
                   struct err *e);

#endif
