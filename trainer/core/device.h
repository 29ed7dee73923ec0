/* SPDX-License-Identifier: BSD-3-Clause */
/* An accelerator as the rest of the trainer sees it: memory, and a queue in which copies, kernels
 * and updates run one after the other while the host goes on. A backend that has one defines struct
 * device. One thread per device. */
#ifndef UNETCTL_TRAINER_CORE_DEVICE_H
#define UNETCTL_TRAINER_CORE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"

struct device;
struct device_program;
struct exec;
struct op;

#define DEVICE_SLOTS 2 /* runs that may be under way at a time */

enum device_memory {
    DEVICE_LOCAL,  /* the device's own; the host can't touch it */
    DEVICE_SHARED, /* both reach it; the host only after device_ops.wait of all slots */
    DEVICE_HOST    /* the host's, pinned: what copies go to and come from */
};

/* A tensor of the parameters, for what is done with each by itself. */
struct device_tensor {
    size_t offset, count;
    float penalty;       /* what is added to grad, divided by value */
    float decay;         /* weight decay of LARS and LAMB */
    bool adapts;         /* in LARS and LAMB: to the norms */
    unsigned first, npieces;
    double squares[2];   /* sums over value, and over grad or the step: the device's own */
};

/* A part of a tensor, the share of a block of threads. */
struct device_piece {
    unsigned tensor, count;
    size_t offset;
    double squares[2]; /* the device's own */
};

/* Where the tensors are, in DEVICE_SHARED memory. */
struct device_layout {
    struct device_tensor *tensors;
    struct device_piece *pieces;
    unsigned ntensors, npieces;
};

/* Adam and AdamW: v = keep2 v + add2 g^2, value = keep value - rate m / (sqrt(v) / root + eps), with
 * g = grad + decay value. Slots: m, v. */
struct device_adam {
    float add1, keep2, add2, eps, decay, keep, rate, root;
};

/* v = momentum v + grad + decay value, value -= rate v, or rate (g + look v) if nesterov. Slot: v. */
struct device_sgd {
    float momentum, look, decay, rate;
    bool nesterov;
    bool corrects; /* momentum has the factor of the last step's rate to this one's */
};

/* As optim/optim.h has them, for each tensor. Slots: v; m, v. */
struct device_lars {
    float momentum, rate;
    double trust;
};
struct device_lamb {
    double beta1, beta2, debias1, debias2, eps, rate;
};

/* Of the loss, so that small gradients are numbers of 16 bits: in DEVICE_SHARED memory. A step whose
 * gradients are not finite is left out and the factor halved; after DEVICE_SCALING_STEPS others it is
 * doubled. Replicas whose gradients are summed do the same. What an update makes of the number of steps
 * is made of those that were taken. */
struct device_scaling {
    float factor;
    int good;      /* steps since it was changed */
    int left_out;  /* steps, so far */
    int64_t taken; /* likewise */
    double rate;   /* of the last one taken */
};
#define DEVICE_SCALING_BEGIN 65536.F
#define DEVICE_SCALING_STEPS 2000

enum device_update_kind { DEVICE_ADAM, DEVICE_SGD, DEVICE_LARS, DEVICE_LAMB };

/* What becomes of the gradients at the end of a step: penalties are added, they are scaled where
 * their norm is too large, and the optimizer moves the values. */
struct device_update {
    enum device_update_kind kind;
    float *value, *grad, *slots[2]; /* n each; grad may be changed */
    size_t n;
    struct device_layout layout;
    bool penalizes;
    double clip; /* the largest norm; 0: any */
    double beta1, beta2, rate; /* of Adam, AdamW and LAMB; of all */
    struct device_scaling *scaling; /* that the gradients have, judged first; NULL: none */
    struct device_adam adam;
    struct device_sgd sgd;
    struct device_lars lars;
    struct device_lamb lamb;
};

/* What a run leaves. */
struct device_sums {
    double loss;
    double own_square, square; /* of gradients, as far as device_ops.square was asked for them */
    float votes[2];            /* exec.votes, or what became of them */
};

/* What the losses of a run add to, in memory that the device reaches; NULL: to nothing. */
struct device_counts {
    int64_t *score; /* as metric/score.h has it: pixels by what they are and what the logits say */
    double *losses; /* of a graph that only measures: cross entropies by class weight, those weights,
                     * Dice losses, images */
};

/* How ops are computed. */
struct device_config {
    bool tf32;          /* floats of convolutions may be multiplied with 10 bits behind the point */
    bool deterministic; /* the same bits every time */
};

/* Whoever waits for the device since so many seconds: must it not any longer? Then -1. */
typedef int (*device_watch_f)(void *arg, double waited_s, struct err *e);

struct device_ops {
    /* index: among the devices that this process sees, modulo their number: a process that was
     * given one of its own sees only that. ERR_PEER if there is none. */
    struct device *(*open)(int index, struct err *e);
    /* Of this one device in the world; not 0. */
    uint64_t (*id)(const struct device *d);
    /* Before anything is run; all false else. */
    void (*configure)(struct device *d, const struct device_config *c);
    void (*close)(struct device *d); /* NULL is fine; waits */
    /* Bytes of its own memory that are free. */
    int (*room)(struct device *d, size_t *nbytes, struct err *e);
    /* 64-byte aligned, not zeroed but for DEVICE_SHARED. */
    void *(*alloc)(struct device *d, enum device_memory kind, size_t nbytes, struct err *e);
    void (*free)(struct device *d, enum device_memory kind, void *p); /* NULL is fine */
    /* Where an op's kernel would choose between ways of doing it in its first run, it does so now, on tensors
     * that hold anything. */
    void (*choose)(struct op *op, struct exec *x);
    /* What kernels of this process have chosen so far, as text for others with the same device. NULL: out of
     * memory; to be freed. learn: choices of another; -1 where that is none. */
    char *(*choices)(void);
    int (*learn)(const char *choices);
    /* Between DEVICE_LOCAL and DEVICE_HOST, queued. */
    int (*copy)(struct device *d, void *dst, const void *src, size_t nbytes, struct err *e);
    /* Zeros, queued. */
    int (*clear)(struct device *d, void *p, size_t nbytes, struct err *e);
    /* A run of ops in a slot whose last run was waited for: x's numbers go along, sums come back.
     * Between begin and end the ops are queued, or a program. */
    int (*begin)(struct device *d, int slot, const struct exec *x, struct err *e);
    int (*end)(struct device *d, int slot, struct err *e);
    /* Until the slot's run is done; *sums: what it left. Zeros at once if none is under way. */
    int (*wait)(struct device *d, int slot, struct device_sums *sums, struct err *e);
    /* Until the queue is empty. */
    int (*drain)(struct device *d, struct err *e);
    /* Is the queue empty? */
    int (*idle)(struct device *d, bool *idle, struct err *e);
    /* The stream of the driver's that is the queue: for libraries that queue work of their own. */
    void *(*stream)(const struct device *d);
    /* A second stream beside it: it goes on from what is queued so far, and what is queued after
     * merge goes on from both. Once branched it may be branched again. */
    void *(*branch)(struct device *d, struct err *e);
    int (*merge)(struct device *d, struct err *e);
    /* In that stream: add up the squares of n numbers, as own_square or square of the run. */
    void (*square)(struct device *d, const float *values, size_t n, bool own);
    /* In that stream: dst += src, n numbers. */
    void (*add)(struct device *d, float *dst, const float *src, size_t n);
    /* exec.update of the run, queued: its numbers are those of each run that replays it. */
    void (*update)(struct device *d, const struct device_update *u);
    /* exec.weight of the run while it is under way; then grad_scale and loss_per_weight divided by what
     * became of it, queued. */
    double *(*weight)(struct device *d);
    void (*weigh)(struct device *d);
    /* Where the run's votes are while it is under way. */
    float *(*votes)(struct device *d);
    /* Called again and again by wait and drain while they wait; NULL: nobody. */
    void (*watch)(struct device *d, device_watch_f watch, void *arg);
    /* What is queued between record and finish does not run, but becomes a program. */
    int (*record)(struct device *d, struct err *e);
    struct device_program *(*finish)(struct device *d, struct err *e);
    int (*replay)(struct device *d, struct device_program *p, struct err *e); /* queued */
    void (*discard)(struct device_program *p); /* NULL is fine; not while it runs */
};

#endif
