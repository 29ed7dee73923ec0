/* SPDX-License-Identifier: BSD-3-Clause */
/* The source of a cluster specification (src/cluster/cluster_spec.h): the nodes, the tasks on each,
 * and the rank of this task. Options override the variables that Slurm sets for each task. A
 * missing or contradictory value is an error; nothing is guessed.
 *
 * The verb spec, which each rank of a job runs before the trainer, is the caller. It gets texts of
 * options and variables decoded into struct spec_source, and the devices of its slot; encoding is
 * cluster_spec's. All ranks must reach the same answer from their own environment, so values are
 * only taken from there, and an error names the variable or option that it is in.
 *
 * Read spec_source_read in spec_source.c, then below it how GPUs are counted and given out. */
#pragma once

#include "src/base.h"
#include "src/cluster/cluster_spec.h"
#include "src/cluster/nodelist.h"

struct spec_options {
    const char *nodelist; /* NULL: not given; likewise for tasks */
    const char *tasks;    /* "2", "2(x3),1" or "node[1-3]:2,node4:1" */
    long rank;            /* -1: not given */
    bool is_tf;           /* use only the variables of a step, as TensorFlow's resolver does */
    bool has_jobs;        /* --jobs is given; the resolver then needs no SLURM_STEP_NUM_TASKS */
};

struct spec_source {
    /* the variables or options that the values come from, for errors */
    const char *nodes_name, *tasks_name;
    const char *nodes_text, *tasks_text; /* and their values, which must outlive this struct */
    struct nodelist *nodes;
    struct tasklist tasks;
    size_t ntasks, rank;
    int max_tasks;
    int plane;  /* see struct cluster_spec */
    bool apart; /* all values come from options, so the environment does not matter */
};

/* Returns 0, or -1 with ERR_USAGE (an option is wrong) or ERR_PEER (a variable is wrong) and
 * nothing to destroy. */
int spec_source_read(const struct spec_options *options, struct spec_source *dst, struct err *e);
void spec_source_destroy(struct spec_source *s);

/* Reads the variable as a number. Returns 0, or -1 with ERR_PEER if it is missing or not a
 * number. */
int spec_source_number(const char *name, size_t *dst, struct err *e);

/* GPUs of a node are counted and assigned in the same way as by TensorFlow's resolver for Slurm,
 * with one exception. */

/* Returns the number of devices in CUDA_VISIBLE_DEVICES up to the first that is invalid (0 if the
 * variable is empty, where TensorFlow counts 1); without that variable the number that nvidia-smi
 * lists, or -1 if it does not run. */
int spec_source_count_gpus(void);

/* Adds "\nNAME=LIST" for each variable of GPUs that lists more than this task may see, as on a node
 * that its job has as a whole: all GPUs of the run on the node (of_node), or its own. GPUs that no
 * variable lists are those of nvidia-smi; in a job of Slurm, where these may be others', adds
 * "\nUNETCTL_GPUS_SEEN=SEEN GIVEN" if they are more than the run has on the node. */
void spec_source_add_visible(const struct cluster_spec_task *t, int per_task, bool of_node,
                             struct buf *dst);

/* Adds the devices of the task in a slot (its number on the node, from 0), as
 * CUDA_VISIBLE_DEVICES: "2,3" for slot 1 with 2 per task. per_task must be positive. */
void spec_source_add_gpus(int slot, int per_task, struct buf *dst);
