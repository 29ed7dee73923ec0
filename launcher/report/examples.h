/* SPDX-License-Identifier: BSD-3-Clause */
/* The example pictures that a trainer wrote (logs/SCHEMA.md, "examples/"), within the page. */
#ifndef UNETCTL_LAUNCHER_REPORT_EXAMPLES_H
#define UNETCTL_LAUNCHER_REPORT_EXAMPLES_H

#include "launcher/report/report.h"
#include "src/buf.h"

/* Adds the pictures of one run of each series: of its first one with the advised number of GPUs or,
 * if that has none, with another. A picture that cannot be read, or is larger than 1 MiB, is
 * omitted. */
void examples_add(struct buf *b, const struct report *r);

#endif
