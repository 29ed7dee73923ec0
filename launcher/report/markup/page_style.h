/* SPDX-License-Identifier: BSD-3-Clause */
/* The style sheet of the report's page, light and dark, for screen and paper, with the colours
 * and marks of chart_svg. */
#ifndef UNETCTL_LAUNCHER_REPORT_MARKUP_PAGE_STYLE_H
#define UNETCTL_LAUNCHER_REPORT_MARKUP_PAGE_STYLE_H

extern const char page_style[];

#endif
