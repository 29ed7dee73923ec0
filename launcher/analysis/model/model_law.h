/* SPDX-License-Identifier: BSD-3-Clause */
/* The terms that a law of time is a sum of: computation and losses with N GPUs (model.h). */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_MODEL_MODEL_LAW_H
#define UNETCTL_LAUNCHER_ANALYSIS_MODEL_MODEL_LAW_H

#include <stddef.h>

#include "src/buf.h"

#define MODEL_LAW_MOST 4   /* the most terms of a law: computation and three losses */
#define MODEL_LAW_TERMS 64 /* the most terms to choose from */

/* What is known of the times before any is measured. */
struct model_law_known {
    int gpus_per_node; /* 0: unknown */
    double batch;      /* images of a step that the GPUs share; 0: unknown, or each has its own */
    /* Returns seconds at a count in one of ncases equally probable cases; NULL: links cost
     * nothing. */
    double (*links)(const void *arg, double gpus, int which);
    const void *arg;
    int ncases;
};

enum model_law_kind {
    MODEL_LAW_COMPUTE,     /* D; in every set */
    MODEL_LAW_SERIAL,      /* 1 */
    MODEL_LAW_LOG,         /* log2 N: a tree of messages */
    MODEL_LAW_LINEAR,      /* N - 1: coherency, a ring of messages */
    MODEL_LAW_FIRST,       /* 1 from 2 GPUs on */
    MODEL_LAW_FIRST_SHARE, /* D from 2 GPUs on: the computation itself becomes slower */
    MODEL_LAW_RING_SHARE,  /* D (N - 1) / N: a ring of messages in steps that add up to an epoch */
    MODEL_LAW_JITTER,      /* D sqrt(2 ln N): the slowest of N computations */
    MODEL_LAW_LOG_SHARE,   /* D log2 N */
    MODEL_LAW_NODES,       /* 1 from 2 nodes on */
    MODEL_LAW_NODES_SHARE, /* D from 2 nodes on */
    MODEL_LAW_NODES_RING,  /* (P - 1) / P on P nodes */
    MODEL_LAW_NODES_LOG,   /* log2 P */
    MODEL_LAW_NODES_LINEAR, /* P - 1 */
    MODEL_LAW_LIMIT,       /* max(0, 1 / at - D): a limit of the throughput */
    MODEL_LAW_STEP,        /* 1 above `at` GPUs */
    MODEL_LAW_NKINDS
};

struct model_law_term {
    enum model_law_kind kind;
    double at;
};

/* A set of terms; of those with the same kinds, the one with most evidence. */
struct model_law {
    struct model_law_term terms[MODEL_LAW_MOST];
    double coefficient[MODEL_LAW_MOST];
    int nterms;
    double evidence; /* probability of all sets with these kinds */
};

/* Fills dst with the terms that measurements with these ascending counts may show, computation
 * first. Returns their number. */
int model_law_list(struct model_law_term dst[MODEL_LAW_TERMS], const struct model_law_known *known,
                   const double *counts, size_t n);
/* Returns the value of a term. */
double model_law_value(const struct model_law_term *t, const struct model_law_known *known,
                       double gpus);
/* Returns the upper bound of the term's coefficient, as a multiple of that of computation; INFINITY
 * if there is none. */
double model_law_most(const struct model_law_term *t);
/* Returns the natural logarithm of the prior of the set of n of these terms; set[0] is
 * computation. */
double model_law_prior(const struct model_law_term *terms, int nterms, const unsigned char *set,
                       int n);
/* "Amdahl's law", or a list of the losses. */
void model_law_name(const struct model_law *law, struct buf *b);
/* Adds the formula: "12.1 / N + 0.31 + 0.002 (N - 1)". */
void model_law_describe(const struct model_law *law, struct buf *b);

#endif
