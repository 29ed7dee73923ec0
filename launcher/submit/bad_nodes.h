/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes that have ended runs. Such a run has a note of the node in attempt-K/bad-nodes, lines
 * "SECONDS NODE WHY" (seconds since 1970), by submit_file.sh (Slurm reported a node failure), by
 * unet-train (a rank was lost), or by unetctl (Slurm's state NODE_FAIL, without a note);
 * .unetctl/bad-nodes has notes of slow nodes. A run that is done clears the older notes of its
 * nodes. */
#ifndef UNETCTL_LAUNCHER_SUBMIT_BAD_NODES_H
#define UNETCTL_LAUNCHER_SUBMIT_BAD_NODES_H

#include "launcher/status/status.h"
#include "launcher/study/workspace.h"

struct bad_node {
    char name[64];
    int notes;      /* at most one of each attempt */
    time_t time;    /* of the newest note */
    char last[160]; /* "RUN: WHY" of that, or "WHY" */
};

struct bad_nodes {
    struct bad_node *nodes; /* those with notes that no run has cleared, by name */
    size_t count, capacity;
};

/* Reads the notes of a study. Returns 0, or -1. */
int bad_nodes_read(const char *study_dir, struct bad_nodes *dst, struct err *e);
void bad_nodes_destroy(struct bad_nodes *b);

/* Notes a node in study_dir/.unetctl/bad-nodes, of which only the newest note counts. */
int bad_nodes_note(const char *study_dir, const char *node, const char *why, struct err *e);

/* Returns whether the node is left out of jobs of this study (slurm.exclude_after). */
bool bad_nodes_is_out(const struct plan *p, const struct bad_node *node);

/* Notes the nodes of runs in list that ended by NODE_FAIL, then adds the nodes that are left out to
 * the options of the plan and reports them, at most once. Not for other schedulers than Slurm, nor
 * where the user chooses nodes (--nodelist). */
int bad_nodes_leave_out(struct workspace *w, const struct status_list *list, struct err *e);

#endif
