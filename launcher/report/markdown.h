/* SPDX-License-Identifier: BSD-3-Clause */
/* The report as Markdown, with PNG figures beside it. */
#ifndef UNETCTL_LAUNCHER_REPORT_MARKDOWN_H
#define UNETCTL_LAUNCHER_REPORT_MARKDOWN_H

#include "launcher/report/figures.h"
#include "launcher/report/report.h"

/* Returns the text, which the caller frees, or NULL if memory ran out. Figures, if they were drawn,
 * are linked as figures/NAME.png. */
char *markdown_encode(const struct report *r, const struct figures *f);

#endif
