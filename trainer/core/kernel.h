/* SPDX-License-Identifier: BSD-3-Clause */
/* The core: what a network is made of, without knowing any op, backend or model.
 *
 * It is for everything that computes. Its data are tensors and ops (tensor.h), which a graph owns;
 * the weights, which outlive their graphs; and the records in which samples reach a network. A
 * backend is a table of kernels, each of which computes one kind of op, and an accelerator is a
 * struct device_ops. ops/, models/ and passes/ build graphs, backends/ has kernels and devices,
 * network/ compiles graphs and runs them, and data/ writes records.
 *
 * The core promises that a compiled graph allocates nothing when it runs, that its tensors overlap
 * in the arena only where their lifetimes do not, and that a failure is an error with a text.
 *
 * To read: tensor.h; below, the kernels and the interface of a device; graph.h and graph.c; plan.c
 * for the memory; ops.def for the kinds of ops. host.h is about the machine. */
#pragma once

#include "trainer/core/tensor.h"

/* A decoded sample, as it is cached, loaded and sent to a device: this header, then the numbers of
 * the image and of the target, each padded to 16 bytes. Values of 8 bits, a quarter of the size of
 * floats, become floats only where the network reads them. */

enum record_kind {
    RECORD_BYTES,   /* of an image n / 255, of a target n / target_divisor */
    RECORD_NUMBERS, /* floats */
    RECORD_LABELS   /* bytes: whole numbers; RECORD_IGNORE is -1 */
};
struct record {
    uint32_t image_kind, target_kind; /* enum record_kind */
    float target_divisor;
    uint32_t nclasses; /* of the index behind the numbers, which data/set/ keeps; elsewhere 0 */
};

#define RECORD_IGNORE 255 /* pixels that loss and metrics leave out */
#define RECORD_DIVISOR 255.0f /* of RECORD_BYTES of an image */

/* Bytes of n numbers. */
#define RECORD_PLANE(kind, n) \
    (((size_t)(n) * ((kind) == RECORD_NUMBERS ? sizeof(float) : 1) + 15) / 16 * 16)

/* Bytes of a record with so many numbers of the image and the target. */
static inline size_t record_size(enum record_kind image_kind, size_t images,
                                 enum record_kind target_kind, size_t targets)
{
    return sizeof(struct record) + RECORD_PLANE(image_kind, images) +
           RECORD_PLANE(target_kind, targets);
}

static inline size_t record_nbytes(const struct record *r, size_t images, size_t targets)
{
    return record_size((enum record_kind)r->image_kind, images, (enum record_kind)r->target_kind,
                       targets);
}

static inline void *record_image(const struct record *r)
{
    return (char *)(uintptr_t)r + sizeof *r;
}

static inline void *record_target(const struct record *r, size_t images)
{
    return (char *)record_image(r) + RECORD_PLANE(r->image_kind, images);
}

/* Writes n numbers of that kind to dst as floats. */
void record_decode(enum record_kind kind, const void *src, float divisor, size_t n, float *dst);

/* Writes a record's image and target as floats. */
void record_unpack(const struct record *r, size_t images, size_t targets, float *image,
                   float *target);

/* Records at equal distances, a multiple of 16 bytes: the batch of a run. The samples of a batch of
 * floats may also be the numbers of a single record. */
struct record_batch {
    const void *records; /* borrowed */
    size_t pitch;        /* bytes from one record to the next */
    size_t nbytes;       /* of the largest record */
    size_t count;
};

static inline const struct record *record_at(const struct record_batch *b, size_t i)
{
    return (const struct record *)((const char *)b->records + i * b->pitch);
}

/* The interface of an accelerator: memory, and an in-order queue of copies, kernels and updates
 * that runs asynchronously to the host. A backend with an accelerator defines struct device. A
 * device is used by one thread only. Functions that return int return 0, or -1 with *e set. */

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
    float momentum;
    double trust;
};
struct device_lamb {
    double debias1, debias2, eps;
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
    int64_t *score; /* counts of pixels, as in metric/metric.h */
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
    /* A kernel with several algorithms times them in its first run and keeps the fastest. choose
     * makes it do so now; the tensors may hold anything. choices returns what all kernels have
     * chosen so far as a text, which the caller frees, or NULL if out of memory. learn makes this
     * process choose the same without timing; -1 if the text is malformed. The text is valid for
     * devices of the same model. */
    void (*choose)(struct op *op, struct exec *x);
    char *(*choices)(void);
    int (*learn)(const char *choices);
    /* Some work is collected op by op, so that one kernel does it for many ops: the order of
     * weights that op.begin prepares, and the gradients of weights that ops have computed in their
     * own order. flush queues what is collected; branch(DEVICE_BESIDE) does so too. */
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

/* How a backend computes an op: prepared once when a graph is compiled, then run many
 * times. */

/* The arguments of one run of a graph, besides its tensors. */
struct exec {
    struct device *device; /* where the tensors are; NULL: in the host's memory */
    const struct device_ops *device_ops; /* the device's; NULL on the host */
    /* The gradients are those of the mean loss of the global batch. With W the sum of the class
     * weights of its pixels and N its images, the gradient of a pixel's loss is multiplied by
     * grad_scale = 1 / W, that of an image's loss (Dice) by image_scale = 1 / N. loss_sum adds up
     * the pixels' weighted losses times loss_per_weight and the images' losses times
     * loss_per_image.
     *
     * With divides_loss, W is known only on the devices: each replica passes its own part of W as
     * loss_divisor, and the device sums these parts over the replicas and divides grad_scale and
     * loss_per_weight by W before the ops of the loss. */
    double grad_scale, image_scale;
    bool divides_loss;
    double loss_divisor;
    double loss_per_weight, loss_per_image;
    uint64_t noise, first; /* dropout: seed; index of the batch's first image in the epoch */
    const struct device_update *update; /* applied by the device after the gradients, or NULL */
    struct device_counts counts;    /* on a device */
    struct device_scaling *scaling; /* of the loss on a device, or NULL */
    float votes[2];     /* this replica's part of device_sums.votes */
    double loss_sum;    /* out: on the host the loss ops add to it */
    bool empty; /* this replica has no image in this step: it adds zeros to sums over replicas */
    /* Sums over replicas, see network_sum_f; for ops with attr.sync. On a device it queues a sum of
     * values in the device's memory. NULL: there is one replica. */
    int (*sum)(void *arg, double *values, size_t n, struct err *e);
    void *sum_arg;
    bool kept; /* graph_run does not call the ops' begin, as what they keep is valid */
};

/* Types of an op's tensors: floats only, some of 16 bits, or either. */
enum kernel_types { KERNEL_FLOATS, KERNEL_HALVES, KERNEL_ANY };

struct kernel {
    const struct op_kind *kind;
    /* (optional) Returns whether the kernel supports the shapes and attributes of an op whose kind
     * and types are right. */
    bool (*supports)(const struct op *op);
    /* (optional) May allocate op->priv and set op->workspace_size, op->inplace, op->begin and
     * op->kept_size. On failure nothing stays allocated. */
    int (*prepare)(struct op *op, struct err *e);
    /* Reads op->in[]->data and writes op->out[]->data. The addresses may change between runs. On
     * the host it allocates nothing. Uses as many OpenMP threads as the calling thread has, or as
     * the thread had that prepared the op. */
    int (*run)(struct op *op, struct exec *x, struct err *e);
    void (*release)(struct op *op); /* (optional) frees what prepare has allocated */
    enum kernel_types types;
};

/* A backend: a table of kernels, and the look-up of the kernel that does an op. */

struct backend {
    const char *name;
    const struct kernel *const *kernels; /* NULL-terminated, in order of preference */
    bool fuses;                          /* graphs for it are passed to fuse_graph */
    const struct device_ops *device;     /* where its kernels run; NULL: on the host */
    const struct backend *fallback;      /* (optional) computes ops for which it has no kernel */
};

/* Returns whether the backend itself, without its fallback, has a kernel for the op. */
bool backend_has_kernel(const struct backend *backend, const struct op *op);

/* Returns the backend's first kernel for the op, or else its fallback's, or NULL. */
const struct kernel *backend_kernel(const struct backend *backend, const struct op *op);
