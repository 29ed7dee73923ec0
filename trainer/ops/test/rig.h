/* SPDX-License-Identifier: BSD-3-Clause */
/* A rig runs one op and the ops of its gradient on one backend. Every tensor and workspace is in
 * guarded memory of its own. Numbers come from fixed seeds. Errors end the program. */
#pragma once

#include "trainer/core/graph.h"
#include "trainer/passes/passes.h"

#define RIG_MAX_TENSORS 48

enum values {
    VALUES_NORMAL,   /* around 0 */
    VALUES_POSITIVE, /* 0.5 .. 1.5: variances */
    VALUES_UNIT,     /* 0 .. 1: targets */
    VALUES_HOLES,    /* 0 .. 1, and -1: targets, some of them ignored */
    VALUES_CLASS,    /* 0, 1, 2, and -1: classes, some of them ignored */
    VALUES_FAR,      /* around 0, some of them by more than 100 */
    VALUES_APART     /* within 4096 numbers at least 0.02 apart, and 0.01 from 0: for ops that are
                      * not smooth */
};

struct test_case {
    const struct op_kind *kind;
    struct op_attr attr;
    struct shape in[OP_MAX_IN];
    enum values values[OP_MAX_IN];
    unsigned data;   /* bit i: input i is an activation that needs a gradient */
    unsigned params; /* bit i: input i is a parameter that needs a gradient */
    double step; /* step of the central difference; 0: no gradient is appended */
    bool logits; /* the result is the logits, which always have floats */
    unsigned grads; /* bit i: output i is the gradient of a parameter; those that may be missing
                     * are, unless they are here */
};

struct guarded {
    struct mirror block;
    size_t nbytes; /* between the guards */
};

struct rig {
    const struct test_case *test;
    struct graph *graph;
    struct op *op;     /* the graph's first op except for casts; the ops of its gradient follow */
    struct tensor *in[OP_MAX_IN]; /* its inputs before casts */
    struct tensor *dy; /* NULL for a loss */
    const struct device_ops *ops;
    struct device *device; /* NULL: the host */
    struct guarded tensors[RIG_MAX_TENSORS], workspaces[RIG_MAX_TENSORS], kept[RIG_MAX_TENSORS];
    float *numbers[OP_MAX_IN + 1]; /* numbers of each input, then of dy, for rig_fill */
    enum dtype numbers_of;         /* the type to which those of activations are rounded */
    bool whole;                    /* the numbers are whole, and sums of products exact */
    double loss;
};

/* Creates the graph of the op and its gradient, without a backend. */
struct graph *rig_graph(const struct test_case *test);

/* Returns whether the backend has kernels for all ops, including casts. */
bool rig_is_possible(const struct test_case *test, const struct backend *backend, enum dtype t);

/* Prepares a test case for a backend, whose device, if it has one, is open: sets the type of
 * activations to t and fills the inputs. */
void rig_create(struct rig *r, const struct test_case *test, const struct backend *backend,
                struct device *device, enum dtype t);

/* The same on the host with floats only, of the values that the numbers have in type t, for
 * comparison. */
void rig_create_wide(struct rig *r, const struct test_case *test, const struct backend *backend,
                     enum dtype t);

/* Returns whether ops of this kind sum products of inputs and weights. */
bool rig_convolves(const struct op_kind *kind);

/* Rounds the numbers to the type. */
void rig_round(enum dtype t, float *values, size_t n);

/* Makes all inputs small whole numbers. */
void rig_make_whole(struct rig *r);

/* Returns a tensor's values as floats, to be freed by the caller. */
float *rig_read(const struct tensor *t);
void rig_destroy(struct rig *r);

/* Fills the inputs again: an op may have changed running statistics, and a test any input. */
void rig_fill(struct rig *r);

/* Sets the results and workspaces of the first n ops to NaN and runs the ops. */
void rig_run(struct rig *r, size_t n);

/* Copies all numbers to the device, or back, as rig_run does before and after its ops. */
void rig_copy(struct rig *r, bool back);

/* Runs one op `times` times on the values of the last rig_run. */
void rig_repeat(struct rig *r, struct op *op, long times);

/* Returns whether nothing was written outside of tensors and workspaces. */
bool rig_is_intact(const struct rig *r);
