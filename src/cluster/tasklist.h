/* SPDX-License-Identifier: BSD-3-Clause */
/* Slurm's short form of tasks per node: "2(x3),1" is 2, 2, 2, 1. */
#ifndef UNETCTL_SRC_CLUSTER_TASKLIST_H
#define UNETCTL_SRC_CLUSTER_TASKLIST_H

#include <stddef.h>

#include "src/err.h"

#define TASKLIST_TASKS_MAX 65536 /* the most on one node */

struct tasklist {
    int *tasks; /* each from 1 to TASKLIST_TASKS_MAX */
    size_t count; /* number of nodes, at least 1 */
};

/* Decodes text. Lists of more than limit nodes are refused before anything is allocated. Returns
 * 0, or -1 with ERR_USAGE: the text (shortened if long), the position from 1, and what is
 * expected there. */
int tasklist_decode(const char *text, size_t limit, struct tasklist *dst, struct err *e);

void tasklist_destroy(struct tasklist *t);

#endif
