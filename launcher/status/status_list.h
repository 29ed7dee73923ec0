/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of every run of a study. */
#ifndef UNETCTL_LAUNCHER_STATUS_STATUS_LIST_H
#define UNETCTL_LAUNCHER_STATUS_STATUS_LIST_H

#include "launcher/status/run_status.h"

struct status_list {
    struct run_status *runs; /* in the order of strverscmp */
    size_t count;
    bool unreachable;  /* the scheduler could not be asked about some runs */
    struct err reason; /* why the scheduler is unreachable */
    size_t ndamaged;   /* number of runs whose plan cannot be read */
};

/* Collects all runs in STUDY/runs, and submitted runs whose folder is gone. Queries each scheduler
 * that has jobs of the study at most once and, if none is unreachable, asks for absent jobs
 * (absent.h). An unreachable scheduler (see unreachable) and a run.json that cannot be read are
 * not errors here. Returns 0, or -1 and nothing to destroy. */
int status_list_collect(struct workspace *w, struct status_list *dst, struct err *e);

/* Returns 0, or -1 with ERR_DATA and what to do if there are damaged runs. */
int status_list_check_damage(const struct status_list *list, struct err *e);
const struct run_status *status_list_find(const struct status_list *list, const char *run);
void status_list_destroy(struct status_list *list);

#endif
