/* SPDX-License-Identifier: BSD-3-Clause */
/* One op and the ops of its gradient on one backend, by themselves. Every tensor and workspace lies
 * in guarded memory of its own. Numbers are made from fixed seeds. What goes wrong here ends the
 * program. */
#ifndef UNETCTL_TRAINER_OPS_TEST_RIG_H
#define UNETCTL_TRAINER_OPS_TEST_RIG_H

#include "trainer/core/graph.h"
#include "trainer/passes/precision.h"

#define RIG_MAX_TENSORS 48

enum values {
    VALUES_NORMAL,   /* around 0 */
    VALUES_POSITIVE, /* 0.5 .. 1.5: variances */
    VALUES_UNIT,     /* 0 .. 1: targets */
    VALUES_HOLES,    /* 0 .. 1, and -1: targets of which some do not count */
    VALUES_CLASS,    /* 0, 1, 2, and -1: classes, of which some do not count */
    VALUES_APART     /* all at least 0.02 apart and from 0: for ops with kinks */
};

struct test_case {
    const struct op_kind *kind;
    struct op_attr attr;
    struct shape in[OP_MAX_IN];
    enum values values[OP_MAX_IN];
    unsigned data;   /* bit i: input i is an activation with a gradient */
    unsigned params; /* or a parameter; the rest has no gradient */
    double step; /* of the central difference; 0: the kind has no gradient */
    bool logits; /* the result is the network's: always of floats */
    int more;       /* the place of an output beside the kind's own (op.h); 0: none */
    unsigned grads; /* bit i: output i is the gradient of a parameter */
};

struct guarded {
    char *block;
    size_t nbytes; /* between the guards */
};

struct rig {
    const struct test_case *test;
    struct graph *graph;
    struct op *op;     /* the first of the graph but for casts; the gradient's come behind */
    struct tensor *in[OP_MAX_IN]; /* its inputs before any casts */
    struct tensor *dy; /* NULL for a loss */
    const struct device_ops *ops;
    struct device *device; /* NULL: the host */
    struct guarded tensors[RIG_MAX_TENSORS], workspaces[RIG_MAX_TENSORS];
    float *numbers[OP_MAX_IN + 1]; /* of each input, then dy, as rig_fill puts them there */
    enum dtype numbers_of;         /* the type that those of activations are rounded to */
    double loss;
};

/* The op with its gradient, not yet on any backend. */
struct graph *rig_graph(const struct test_case *test);

/* Does the backend have kernels for all of it, casts among them? */
bool rig_is_possible(const struct test_case *test, const struct backend *backend, enum dtype t);

/* On a backend, whose device was opened if it has one; activations of that type, inputs filled. */
void rig_create(struct rig *r, const struct test_case *test, const struct backend *backend,
                struct device *device, enum dtype t);

/* With the same numbers, but all tensors of floats: what the others are compared with. */
void rig_create_wide(struct rig *r, const struct test_case *test, const struct backend *backend,
                     enum dtype t);

/* A tensor's values as floats, to be freed. */
float *rig_read(const struct tensor *t);
void rig_destroy(struct rig *r);

/* The inputs' numbers anew: an op changes running statistics, a test anything. */
void rig_fill(struct rig *r);

/* Runs the first n ops; their results and workspaces are NaN before. */
void rig_run(struct rig *r, size_t n);

/* Runs one op `times` times, on what the last rig_run left. */
void rig_repeat(struct rig *r, struct op *op, long times);

/* Nothing was written beside tensors and workspaces. */
bool rig_is_intact(const struct rig *r);

#endif
