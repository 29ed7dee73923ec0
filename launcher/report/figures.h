/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures of a report, drawn by gnuplot: for each a script NAME.gp, data beside it (*.dat), and
 * what comes out, NAME.svg and NAME.png. The scripts run by hand, too. */
#ifndef UNETCTL_LAUNCHER_REPORT_FIGURES_H
#define UNETCTL_LAUNCHER_REPORT_FIGURES_H

#include <stdbool.h>

#include "launcher/report/report.h"

#define FIGURES_MAX 16

struct figure {
    char name[32];     /* of its files */
    char title[128];   /* what it shows, for a heading and an alternative text */
    char caption[640]; /* how to read it */
};

struct figures {
    struct figure list[FIGURES_MAX];
    size_t count;
    bool drawn;        /* SVG and PNG are there */
    char why_not[256]; /* when they are not */
};

/* Write everything into dir, which exists. 0 also when gnuplot is missing or fails: scripts and
 * data are there then, and why_not tells. -1 when a file can't be written. */
int figures_write(struct figures *f, const struct report *r, const char *dir, struct err *e);

#endif
