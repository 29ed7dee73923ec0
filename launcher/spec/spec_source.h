/* SPDX-License-Identifier: BSD-3-Clause */
/* The source of a cluster specification: the nodes, the tasks of each, and the number of this task.
 * Options override the variables that Slurm sets for each task. A missing or contradictory value
 * is an error, never a guess. */
#ifndef UNETCTL_LAUNCHER_SPEC_SPEC_SOURCE_H
#define UNETCTL_LAUNCHER_SPEC_SPEC_SOURCE_H

#include <stdbool.h>

#include "src/cluster/cluster_spec.h"
#include "src/cluster/tasklist.h"

struct spec_options {
    const char *nodelist; /* NULL: not given, as below */
    const char *tasks;    /* "2", "2(x3),1" or "node[1-3]:2,node4:1" */
    long rank;            /* -1: not given */
    bool is_tf;           /* only the variables of a step count, as for TensorFlow's resolver */
    bool has_jobs;        /* then the resolver needs no SLURM_STEP_NUM_TASKS */
};

struct spec_source {
    const char *nodes_name, *tasks_name; /* the variables or options, for errors */
    const char *nodes_text, *tasks_text; /* and their values, which outlive this */
    struct nodelist *nodes;
    struct tasklist tasks;
    size_t ntasks, rank;
    int max_tasks;
    int plane;  /* see struct cluster_spec */
    bool apart; /* all of it from options: the environment does not matter */
};

/* 0, or -1 with ERR_USAGE (an option) or ERR_PEER (a variable) and nothing to destroy. */
int spec_source_read(const struct spec_options *options, struct spec_source *dst, struct err *e);
void spec_source_destroy(struct spec_source *s);

/* The variable as a number. ERR_PEER when it is missing or none. */
int spec_source_number(const char *name, size_t *dst, struct err *e);

#endif
