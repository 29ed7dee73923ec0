/* SPDX-License-Identifier: BSD-3-Clause */
/* What connects GPUs: published figures of links, by name. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_LINK_H
#define UNETCTL_LAUNCHER_ANALYSIS_LINK_H

#include "src/err.h"

struct link {
    char name[24];
    double bytes_per_s; /* in each direction, of one GPU (within a node) or one node's adapter */
    double latency_s;   /* of a message, what the software adds included */
    const char *what;
};

/* "nvlink2", or GB/s:us, such as 12.5:5. ERR_USAGE with the names that there are. */
int link_decode(const char *text, struct link *dst, struct err *e);

#endif
