/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of an accelerator: memory, and an in-order queue of copies, kernels and updates
 * that runs asynchronously to the host. A backend with an accelerator defines struct device. A
 * device is used by one thread only. Functions that return int return 0, or -1 with *e set. */
#ifndef UNETCTL_TRAINER_CORE_DEVICE_H
#define UNETCTL_TRAINER_CORE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/err.h"
#include "trainer/core/record.h"

struct device;
struct device_graph;
struct exec;
struct op;

/* Streams beside a device's queue. The driver prefers work of the later one. */
enum device_branch {
    DEVICE_BESIDE, /* what the queue waits for at the end of backward */
    DEVICE_URGENT, /* what it waits for at once */
    DEVICE_BRANCHES
};

#define DEVICE_SLOTS 2 /* runs that may be in flight */

enum device_memory {
    DEVICE_LOCAL, /* the device's own; the host cannot access it */
    DEVICE_HOST   /* pinned host memory */
};

/* A parameter tensor, for updates that treat tensors separately. */
struct device_tensor {
    size_t offset, count;
    float penalty;       /* grad += penalty value */
    float decay;         /* weight decay of LARS and LAMB */
    bool adapts;         /* LARS and LAMB scale its step by the ratio of norms */
    unsigned first, npieces; /* its pieces in device_layout.pieces */
    double squares[2];   /* sums of squares: of value, and of grad or the step; device only */
};

/* The part of a tensor that one thread block processes. */
struct device_piece {
    unsigned tensor, count;
    size_t offset;
    double squares[2]; /* device only */
};

/* The layout of the parameters, in DEVICE_LOCAL memory. */
struct device_layout {
    struct device_tensor *tensors;
    struct device_piece *pieces;
    unsigned ntensors, npieces;
};

/* Adam and AdamW: m += add1 (g - m), v = keep2 v + add2 g^2, value = keep value - rate m / (sqrt(v)
 * / root + eps), with g = grad + decay value. Slots: m, v. */
struct device_adam {
    float add1, keep2, add2, eps, decay, keep, rate, root;
};

/* With g = grad + decay value: v = momentum v + g, value -= rate v, or value -= rate (g + look v)
 * if nesterov. Slot: v. */
struct device_sgd {
    float momentum, look, decay, rate;
    bool nesterov;
    /* momentum is already multiplied by (last step's rate / this step's rate). With a scaled loss,
     * the device computes it again from look, since only it knows which steps were left out. */
    bool corrects;
};

/* The formulas are in optim/optim.h, per tensor. Slots: v for LARS; m, v for LAMB. */
struct device_lars {
    float momentum, rate;
    double trust;
};
struct device_lamb {
    double beta1, beta2, debias1, debias2, eps, rate;
};

/* Dynamic loss scaling for fp16, in DEVICE_LOCAL memory. A step whose gradients are not finite is
 * skipped and the factor halved, down to 1; after DEVICE_SCALING_STEPS steps without a skip the
 * factor is doubled, up to 2^24. Replicas whose gradients are summed decide alike. Bias corrections
 * count only the steps taken. */
struct device_scaling {
    float factor;
    int good;      /* steps since the last skip or doubling */
    int left_out;  /* steps skipped so far */
    int64_t taken; /* steps taken so far */
    double rate;   /* learning rate of the last step taken */
};
#define DEVICE_SCALING_BEGIN 65536.F
#define DEVICE_SCALING_STEPS 2000

enum device_update_kind { DEVICE_ADAM, DEVICE_SGD, DEVICE_LARS, DEVICE_LAMB };

/* The end of a step: adds penalties to the gradients, clips their norm, and applies the
 * optimizer. */
struct device_update {
    enum device_update_kind kind;
    float *value, *grad, *slots[2]; /* n each; grad may be changed */
    size_t n;
    struct device_layout layout;
    bool penalizes;
    double clip; /* largest global norm; 0: no clipping */
    double beta1, beta2; /* of Adam, AdamW and LAMB */
    double rate;
    struct device_scaling *scaling; /* checked first; NULL: the loss is not scaled */
    struct device_adam adam;
    struct device_sgd sgd;
    struct device_lars lars;
    struct device_lamb lamb;
};

/* The results of a run. */
struct device_sums {
    double loss;
    double own_square, square; /* of gradients, by device_ops.square; else 0 */
    float votes[2];            /* exec.votes, summed where the replicas are connected */
};

/* Counters that the losses of a run add to, in memory that the device can access, or NULL. */
struct device_counts {
    int64_t *score; /* counts of pixels, as in metric/score.h */
    double *losses; /* [4] of a graph without gradients: weighted cross entropies, their weights,
                     * Dice losses, images */
};

/* A batch on its way: records go as they are to local, DEVICE_LOCAL memory of a slot with room for
 * count * nbytes, and from there as floats to where a graph reads them. In DEVICE_HOST memory they
 * stay until the slot's run has been waited for. */
struct device_batch {
    struct record_batch records;
    void *local;
    float *image, *target;
    size_t images, targets; /* numbers of a record that are read; targets: may be 0 */
};

/* How ops are computed. */
struct device_config {
    bool tf32;          /* convolutions of floats may use TF32, with 10 bits of mantissa */
    bool deterministic; /* repeated work gives the same bits */
};

/* Queues work. */
typedef int (*device_work_f)(void *arg, struct err *e);

/* Called while waiting for the device; returns -1 to stop. */
typedef int (*device_watch_f)(void *arg, double waited_s, struct err *e);

struct device_ops {
    /* Opens device index modulo the number of devices that are visible to this process. ERR_PEER if
     * there is none. */
    struct device *(*open)(int index, struct err *e);
    /* Returns a number that is unique to this device on all hosts, and not 0. */
    uint64_t (*id)(const struct device *d);
    /* Makes d, instead of the device that this thread opened last, the one for which kernels say
     * what they support and are prepared. */
    void (*use)(struct device *d);
    /* Called before any run; the default is all false. */
    void (*configure)(struct device *d, const struct device_config *c);
    void (*close)(struct device *d); /* waits for the queue; d may be NULL */
    /* Sets *nbytes to the free bytes of DEVICE_LOCAL memory. */
    int (*room)(struct device *d, size_t *nbytes, struct err *e);
    /* 64-byte aligned. */
    void *(*alloc)(struct device *d, enum device_memory kind, size_t nbytes, struct err *e);
    void (*free)(struct device *d, enum device_memory kind, void *p); /* p may be NULL */
    /* Makes the op's kernel choose between its algorithms now instead of in its first run; the
     * contents of the tensors do not matter. */
    void (*choose)(struct op *op, struct exec *x);
    /* Returns the algorithms chosen so far as text for processes with the same device, to be freed
     * by the caller; NULL: out of memory. learn takes such a text; -1 if it is malformed. */
    char *(*choices)(void);
    int (*learn)(const char *choices);
    /* Queues what the begin functions of ops have collected (op.h), and gradients of weights that
     * ops have left in another order. branch does so for DEVICE_BESIDE. */
    void (*flush)(struct device *d);
    /* Queues a copy between DEVICE_LOCAL memory and the host's, which must stay until then. */
    int (*copy)(struct device *d, void *dst, const void *src, size_t nbytes, struct err *e);
    /* Queues zeroing. */
    int (*clear)(struct device *d, void *p, size_t nbytes, struct err *e);
    /* Queues the copies to the slot's memory beside the runs that are queued, and the rest behind
     * them. */
    int (*send)(struct device *d, const struct device_batch *b, struct err *e);
    /* begin and end enclose the ops, or the graph, of a run in a slot whose last run was waited
     * for. begin copies the values of x to the device, end copies its sums back. */
    int (*begin)(struct device *d, int slot, const struct exec *x, struct err *e);
    int (*end)(struct device *d, int slot, struct err *e);
    /* Waits for the slot's run and sets *sums; to zeros at once if none is in flight. */
    int (*wait)(struct device *d, int slot, struct device_sums *sums, struct err *e);
    /* Waits until the queue is empty. */
    int (*drain)(struct device *d, struct err *e);
    /* Sets *idle to whether the queue is empty. */
    int (*idle)(struct device *d, bool *idle, struct err *e);
    /* Returns the driver's stream behind the queue, for libraries that queue work themselves. */
    void *(*stream)(const struct device *d);
    /* branch returns another stream; what is queued there waits for all that this device's queue
     * holds so far. It may be called again before merge: the stream is the same, and waits for what
     * was queued since, too. What is queued after merge waits for both streams. */
    void *(*branch)(struct device *d, enum device_branch i, struct err *e);
    int (*merge)(struct device *d, enum device_branch i, struct err *e);
    /* Queues in the stream DEVICE_BESIDE: adds the squares of n values to own_square or square.
     * Here and in add, arrays are aligned to 16 bytes, and n is a multiple of 4. */
    void (*square)(struct device *d, const float *values, size_t n, bool own);
    /* Queues there: dst += src, n values. */
    void (*add)(struct device *d, float *dst, const float *src, size_t n);
    /* Queues exec.update of the run; a launched graph takes the values of its run. */
    void (*update)(struct device *d, const struct device_update *u);
    /* loss_divisor returns the address of exec.loss_divisor on the device during the run;
     * divide_loss queues the division of grad_scale and loss_per_weight by its value at that
     * time. */
    double *(*loss_divisor)(struct device *d);
    void (*divide_loss)(struct device *d);
    /* Returns the address of the run's votes on the device during the run. */
    float *(*votes)(struct device *d);
    /* Sets the function that wait and drain call while they wait, or NULL. */
    void (*watch)(struct device *d, device_watch_f watch, void *arg);
    /* Returns a graph of what work(arg) queues, without running it; NULL if that fails, and the
     * queue is then as before. */
    struct device_graph *(*capture)(struct device *d, device_work_f work, void *arg,
                                    struct err *e);
    int (*launch)(struct device *d, struct device_graph *g, struct err *e); /* queues it */
    /* A graph that runs is freed when it ends. g may be NULL. */
    void (*discard)(struct device_graph *g);
};

#endif
