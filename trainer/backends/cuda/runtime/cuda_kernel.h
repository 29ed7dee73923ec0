/* SPDX-License-Identifier: BSD-3-Clause */
/* What the rooms of the CUDA backend share: struct device, the kernels of the backend's table,
 * functions that queue work in a device's stream, and what kernels support.
 *
 * Kernels (those of kernels/, and cudnn_weights.cu) and the host's side of the backend include it.
 * A struct device belongs to the thread that has opened it. Launches do not fail at once: their
 * error is kept until the end of the step (cuda_launch_error). To read: gpu.h, this file,
 * cuda_queue.c; cuda_info.h and cudnn_library.h can be read alone. */
#pragma once

#include "trainer/backends/cuda/runtime/gpu.h"

#ifdef __CUDACC__
extern "C" {
#endif

/* The numbers of a run (struct exec) as kernels see them. They lie in device memory, so that a
 * captured run can be launched with other numbers. device_ops.end copies the part before update
 * back to the host. */
struct cuda_scalars {
    double grad_scale, image_scale, loss_per_weight, loss_per_image, loss_divisor;
    double loss_sum, own_square, square;
    double clip_square; /* sum of squares of the gradients: for clipping, and to see whether they
                         * are finite */
    double unscale;     /* factor of the sums of squares: 1 / the square of the loss' factor; 1: the
                         * gradients are not scaled, or no longer */
    float factor;       /* factor of the gradients in the update */
    int leaves_out;     /* the update is skipped, as gradients are not finite */
    float votes[2];
    uint64_t noise, first; /* as in struct exec */
    struct device_counts counts;
    struct device_update update;
};

/* Weights to cuDNN's order and type, or with is_grad a gradient from there (cudnn_weights.cu). */
struct pack_args {
    float *ours;
    void *cudnns;
    unsigned in, taps, count, type; /* enum dtype */
    unsigned first; /* the first block; set by cuda_pack */
    bool is_grad;
};

#define PACK_MOST 100 /* the arguments of a kernel are at most 4 KiB */
struct pack_table {
    struct pack_args entries[PACK_MOST];
    unsigned n, nblocks;
};

/* The struct device of core/kernel.h. */
struct device {
    int index;
    uint64_t id;
    cudaStream_t stream, sides[DEVICE_BRANCHES]; /* sides are created by the first branch */
    cudaEvent_t forked, joined;
    cudaStream_t copies; /* of batches; it and the event are created by the first */
    cudaEvent_t sent;
    struct cuda_scalars *scalars; /* device memory */
    double *partials;             /* device memory: partial sums of squares */
    unsigned *counter;            /* device memory: gpu_is_last */
    struct cuda_scalars *slots;   /* pinned host memory, one per slot: copied to scalars before a
                                   * run; the part before update is copied back after it */
    cudaEvent_t done[DEVICE_SLOTS];
    bool pending[DEVICE_SLOTS];
    bool is_warm; /* cuda_queue_time has kept it busy */
    device_watch_f watch;
    void *watch_arg;
    struct device_config config;
    struct cudnn_device *cudnn; /* created by the first convolution */
    struct pack_table packs;    /* collected by cuda_pack */
};

/* cuda_pack collects, and cuda_pack_flush (device_ops.flush) queues. w: weights or their
 * gradient. */
void cuda_pack(struct device *d, const struct tensor *w, void *cudnns, enum dtype type,
               bool is_grad);
void cuda_pack_flush(struct device *d);

/* Queue (backends/cuda/kernels/elementwise.cu): y += bias, unless that is NULL, then with relu
 * negative numbers become 0; db = the sums of dy over all pixels, for each channel, for which
 * cuda_sum_bias needs cuda_sum_bias_size bytes of workspace. */
void cuda_add_bias(struct device *d, const struct tensor *y, const struct tensor *bias, bool relu);
size_t cuda_sum_bias_size(const struct tensor *dy);
void cuda_sum_bias(struct device *d, const struct tensor *dy, const struct tensor *db,
                   void *workspace);

#define OP(name) extern const struct kernel cuda_##name; /* those of convolutions: cudnn_conv.c */
#include "trainer/core/ops.def"
#undef OP

/* Defines cuda_NAME, the kernel of NAME; prepare may be NULL. */
#define CUDA_KERNEL(name, supports, prepare, run, types) \
    const struct kernel cuda_##name = {&name##_kind, supports, prepare, run, NULL, types}

/* Return whether each of the op's tensors has fewer than 2^31 elements, and besides that
 * cuda_supports_one_type whether all its activations have the type of in[0]. */
bool cuda_supports(const struct op *op);
bool cuda_supports_one_type(const struct op *op);

/* device_ops.update */
void cuda_update(struct device *d, const struct device_update *u);

/* device_ops.divide_loss */
void cuda_divide_loss(struct device *d);

/* Queues the multiplication of the beginning run's grad_scale and image_scale by scaling->factor,
 * so that the run computes the gradients of the scaled loss, and the setting of its unscale. */
void cuda_scale_run(struct device *d, const struct device_scaling *scaling);

/* Queues: the numbers of the records in b->local, b->records.nbytes each, to b->image and
 * b->target. */
void cuda_unpack(struct device *d, const struct device_batch *b);

/* device_ops.square and .add */
#define CUDA_SQUARE_PARTS 256
void cuda_square(struct device *d, const float *values, size_t n, bool own);
void cuda_accumulate(struct device *d, float *dst, const float *src, size_t n);

/* Memory of a device and its queue: what kernels and device_ops both need of the CUDA runtime. */

/* The device for which this thread compiles graphs, or NULL: the one it opened last, or that
 * device_ops.use, which is cuda_queue_use, has named. */
struct device *cuda_queue_current(void);
void cuda_queue_use(struct device *d);

/* Return 0 for cudaSuccess, otherwise -1 with *e. cuda_status says that `what` failed on d:
 * ERR_CONFIG where memory is short, otherwise ERR_PEER. cuda_run_status says that a run on d
 * failed: always ERR_PEER. */
int cuda_status(const struct device *d, cudaError_t rc, const char *what, struct err *e);
int cuda_run_status(const struct device *d, cudaError_t rc, struct err *e);

/* Returns the last error of this thread's launches since the last call, or cudaSuccess, and clears
 * it. Launches within cuda_queue_time and cuda_queue_capture do not count. */
cudaError_t cuda_launch_error(void);

/* device_ops.alloc, free, copy and clear. */
void *cuda_queue_alloc(struct device *d, enum device_memory kind, size_t nbytes, struct err *e);
void cuda_queue_free(struct device *d, enum device_memory kind, void *p);
int cuda_queue_copy(struct device *d, void *dst, const void *src, size_t nbytes, struct err *e);
int cuda_queue_clear(struct device *d, void *p, size_t nbytes, struct err *e);

/* Waits for the event, or with NULL for all that is queued in d's first stream. Returns -1 with *e
 * if work failed, or if the function of device_ops.watch stopped the waiting. */
int cuda_queue_await(struct device *d, cudaEvent_t event, struct err *e);

/* Sets *seconds to the least time of a few runs of the work after a first one, and waits for
 * them. The first work of a device is repeated for 50 ms before. One run is enough if it takes more
 * than `most` seconds, unless that is 0. */
int cuda_queue_time(struct device *d, device_work_f work, void *arg, double most, double *seconds,
                    struct err *e);

/* Sets *graph to what work queues, which the caller destroys, without running it. */
int cuda_queue_capture(struct device *d, device_work_f work, void *arg, cudaGraph_t *graph,
                       struct err *e);

/* Returns whether a CUDA graph can contain the work, which has run before. */
bool cuda_queue_can_capture(struct device *d, device_work_f work, void *arg);

/* Queues the sum of n numbers in device memory over the replicas by exec.sum, with zeros from this
 * replica if exec.empty. */
int cuda_queue_sum(struct exec *x, double *values, size_t n, struct err *e);

#ifdef __CUDACC__
}
#endif
