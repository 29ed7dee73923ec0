/* SPDX-License-Identifier: BSD-3-Clause */
/* NVIDIA GPUs as devices, and the table of their kernels. */
#include "src/base.h"
#include "trainer/backends/cuda/cuda_backend.h"

#include "trainer/backends/cuda/cudnn/cudnn_conv.h"
#include "trainer/backends/cuda/runtime/cuda_info.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

/* device_ops (core/kernel.h) on the CUDA runtime: one stream per device, and others for
 * branches. The device owns both, its events, and the scalars of its runs. cuda_queue.c has
 * memory and waiting, kernels/update.cu what is queued behind the gradients. */

struct device_graph {
    cudaGraphExec_t exec;
};

static void device_close(struct device *d)
{
    if (!d)
        return;
    if (cuda_queue_current() == d)
        cuda_queue_use(NULL);
    (void)cudaSetDevice(d->index);
    if (d->stream)
        (void)cudaStreamSynchronize(d->stream);
    cudnn_conv_close(d->cudnn);
    for (int i = 0; i < DEVICE_SLOTS; i++)
        if (d->done[i])
            (void)cudaEventDestroy(d->done[i]);
    if (d->forked)
        (void)cudaEventDestroy(d->forked);
    if (d->joined)
        (void)cudaEventDestroy(d->joined);
    if (d->sent)
        (void)cudaEventDestroy(d->sent);
    if (d->copies)
        (void)cudaStreamDestroy(d->copies);
    (void)cudaFree(d->scalars);
    (void)cudaFree(d->partials);
    (void)cudaFree(d->counter);
    (void)cudaFreeHost(d->slots);
    for (int i = 0; i < DEVICE_BRANCHES; i++)
        if (d->sides[i])
            (void)cudaStreamDestroy(d->sides[i]);
    if (d->stream)
        (void)cudaStreamDestroy(d->stream);
    free(d);
}

static int identify(struct device *d, struct err *e)
{
    struct cudaDeviceProp p;

    if (cuda_status(d, cudaGetDeviceProperties(&p, d->index), "cudaGetDeviceProperties", e))
        return -1;
    d->id = hash_bytes(HASH_BEGIN, p.uuid.bytes, sizeof p.uuid.bytes);
    return 0;
}

static uint64_t device_id(const struct device *d)
{
    return d->id;
}

static int fill_device(struct device *d, struct err *e)
{
    if (cuda_status(d, cudaSetDevice(d->index), "cudaSetDevice", e) || identify(d, e) ||
        cuda_status(d, cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking),
                    "cudaStreamCreate", e) ||
        cuda_status(d, cudaMalloc((void **)&d->scalars, sizeof *d->scalars), "cudaMalloc", e) ||
        cuda_status(d, cudaMalloc((void **)&d->partials, CUDA_SQUARE_PARTS * sizeof *d->partials),
                    "cudaMalloc", e) ||
        cuda_status(d, cudaMalloc((void **)&d->counter, sizeof *d->counter), "cudaMalloc", e) ||
        cuda_queue_clear(d, d->counter, sizeof *d->counter, e) ||
        cuda_status(d, cudaHostAlloc((void **)&d->slots, DEVICE_SLOTS * sizeof *d->slots,
                                  cudaHostAllocDefault), "cudaHostAlloc", e))
        return -1;
    for (int i = 0; i < DEVICE_SLOTS; i++)
        if (cuda_status(d, cudaEventCreateWithFlags(&d->done[i], cudaEventDisableTiming),
                        "cudaEventCreate", e))
            return -1;
    return 0;
}

static struct device *device_open(int index, struct err *e)
{
    struct cuda_info info;

    cuda_info_read_gpus(&info);
    if (!cuda_info_own(&info, index)) {
        err_set(e, ERR_PEER, "%s", info.why);
        return NULL;
    }
    struct device *d = calloc(1, sizeof *d);
    if (!d) {
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    d->index = index % info.ngpus;
    if (fill_device(d, e)) {
        device_close(d);
        return NULL;
    }
    cuda_queue_use(d);
    return d;
}

static int device_room(struct device *d, size_t *nbytes, struct err *e)
{
    size_t total;

    return cuda_status(d, cudaMemGetInfo(nbytes, &total), "cudaMemGetInfo", e);
}

/* A single record may be larger than the largest pitch of a copy of rows. */
static cudaError_t queue_records(const struct record_batch *b, void *local, cudaStream_t s)
{
    return b->count == 1 ? cudaMemcpyAsync(local, b->records, b->nbytes, cudaMemcpyDefault, s)
                         : cudaMemcpy2DAsync(local, b->nbytes, b->records, b->pitch, b->nbytes,
                                             b->count, cudaMemcpyDefault, s);
}

/* The slot's last run has been waited for, so its memory is free. */
static int device_send(struct device *d, const struct device_batch *b, struct err *e)
{
    if ((!d->copies &&
         (cuda_status(d, cudaStreamCreateWithFlags(&d->copies, cudaStreamNonBlocking),
                      "cudaStreamCreate", e) ||
          cuda_status(d, cudaEventCreateWithFlags(&d->sent, cudaEventDisableTiming),
                      "cudaEventCreate", e))) ||
        cuda_status(d, queue_records(&b->records, b->local, d->copies), "a copy", e) ||
        cuda_status(d, cudaEventRecord(d->sent, d->copies), "cudaEventRecord", e) ||
        cuda_status(d, cudaStreamWaitEvent(d->stream, d->sent, 0), "cudaStreamWaitEvent", e))
        return -1;
    cuda_unpack(d, b);
    return 0;
}

static int device_begin(struct device *d, int slot, const struct exec *x, struct err *e)
{
    struct cuda_scalars *s = &d->slots[slot];

    *s = (struct cuda_scalars){.grad_scale = x->grad_scale,
                               .image_scale = x->image_scale,
                               .loss_per_weight = x->loss_per_weight,
                               .loss_per_image = x->loss_per_image,
                               .loss_divisor = x->loss_divisor,
                               .unscale = 1,
                               .factor = 1,
                               .votes = {x->votes[0], x->votes[1]},
                               .noise = x->noise,
                               .first = x->first,
                               .counts = x->counts};
    if (x->update)
        s->update = *x->update;
    if (cuda_queue_copy(d, d->scalars, &d->slots[slot], sizeof *d->slots, e))
        return -1;
    if (x->scaling)
        cuda_scale_run(d, x->scaling);
    return 0;
}

static int device_end(struct device *d, int slot, struct err *e)
{
    if (cuda_status(d, cuda_launch_error(), "a kernel could not be launched", e) ||
        cuda_queue_copy(d, &d->slots[slot], d->scalars, offsetof(struct cuda_scalars, update), e) ||
        cuda_status(d, cudaEventRecord(d->done[slot], d->stream), "cudaEventRecord", e))
        return -1;
    d->pending[slot] = true;
    return 0;
}

static void device_watch(struct device *d, device_watch_f watch, void *arg)
{
    d->watch = watch;
    d->watch_arg = arg;
}

static int device_wait(struct device *d, int slot, struct device_sums *sums, struct err *e)
{
    const struct cuda_scalars *s = &d->slots[slot];

    *sums = (struct device_sums){0};
    if (!d->pending[slot])
        return 0;
    d->pending[slot] = false;
    if (cuda_queue_await(d, d->done[slot], e))
        return -1;
    *sums = (struct device_sums){s->loss_sum, s->own_square, s->square,
                                 {s->votes[0], s->votes[1]}};
    return 0;
}

static int device_drain(struct device *d, struct err *e)
{
    return cuda_queue_await(d, NULL, e);
}

static int device_idle(struct device *d, bool *idle, struct err *e)
{
    cudaError_t rc = cudaStreamQuery(d->stream);

    *idle = rc == cudaSuccess;
    return rc == cudaErrorNotReady ? 0 : cuda_run_status(d, rc, e);
}

static void *device_stream(const struct device *d)
{
    return d->stream;
}

static int make_sides(struct device *d, struct err *e)
{
    int least = 0, greatest = 0; /* the greatest priority has the least number */

    if (cuda_status(d, cudaDeviceGetStreamPriorityRange(&least, &greatest),
                    "cudaDeviceGetStreamPriorityRange", e) ||
        cuda_status(d, cudaEventCreateWithFlags(&d->forked, cudaEventDisableTiming),
                    "cudaEventCreate", e) ||
        cuda_status(d, cudaEventCreateWithFlags(&d->joined, cudaEventDisableTiming),
                    "cudaEventCreate", e))
        return -1;
    for (int i = 0; i < DEVICE_BRANCHES; i++) {
        int priority = greatest + (DEVICE_BRANCHES - 1 - i);
        if (cuda_status(d, cudaStreamCreateWithPriority(&d->sides[i], cudaStreamNonBlocking,
                                                        priority < least ? priority : least),
                        "cudaStreamCreate", e))
            return -1;
    }
    return 0;
}

/* Work beside the queue reads gradients. */
static void *device_branch(struct device *d, enum device_branch i, struct err *e)
{
    if (i == DEVICE_BESIDE)
        cuda_pack_flush(d);
    if ((!d->sides[i] && make_sides(d, e)) ||
        cuda_status(d, cudaEventRecord(d->forked, d->stream), "cudaEventRecord", e) ||
        cuda_status(d, cudaStreamWaitEvent(d->sides[i], d->forked, 0), "cudaStreamWaitEvent", e))
        return NULL;
    return (void *)d->sides[i];
}

static int device_merge(struct device *d, enum device_branch i, struct err *e)
{
    if (cuda_status(d, cudaEventRecord(d->joined, d->sides[i]), "cudaEventRecord", e) ||
        cuda_status(d, cudaStreamWaitEvent(d->stream, d->joined, 0), "cudaStreamWaitEvent", e))
        return -1;
    return 0;
}

static double *device_loss_divisor(struct device *d)
{
    return &d->scalars->loss_divisor;
}

static float *device_votes(struct device *d)
{
    return d->scalars->votes;
}

static void device_discard(struct device_graph *p)
{
    if (!p)
        return;
    if (p->exec)
        (void)cudaGraphExecDestroy(p->exec);
    free(p);
}

/* Uploads the graph as well, so that a GPU without memory for it fails here, not in a step. */
static struct device_graph *device_capture(struct device *d, device_work_f work, void *arg,
                                           struct err *e)
{
    struct device_graph *p = calloc(1, sizeof *p);
    cudaGraph_t graph;

    if (!p)
        err_set(e, ERR_INTERNAL, "out of memory");
    if (!p || cuda_queue_capture(d, work, arg, &graph, e)) {
        free(p);
        return NULL;
    }
    int rc = cuda_status(d, cudaGraphInstantiateWithFlags(&p->exec, graph,
                                                          cudaGraphInstantiateFlagUseNodePriority),
                         "cudaGraphInstantiateWithFlags", e) ||
             cuda_status(d, cudaGraphUpload(p->exec, d->stream), "cudaGraphUpload", e);
    (void)cudaGraphDestroy(graph);
    if (rc == 0)
        return p;
    (void)cudaGetLastError(); /* or the next launch would report it */
    device_discard(p);
    return NULL;
}

static int device_launch(struct device *d, struct device_graph *p, struct err *e)
{
    return cuda_status(d, cudaGraphLaunch(p->exec, d->stream),
                       "cudaGraphLaunch (UNET_CAPTURE=off trains without it)", e);
}

static void device_configure(struct device *d, const struct device_config *c)
{
    d->config = *c;
}

static const struct device_ops cuda_device_ops = {
    .open = device_open,
    .id = device_id,
    .use = cuda_queue_use,
    .configure = device_configure,
    .close = device_close,
    .room = device_room,
    .choose = cudnn_conv_choose,
    .choices = cudnn_choices_encode,
    .learn = cudnn_choices_decode,
    .alloc = cuda_queue_alloc,
    .free = cuda_queue_free,
    .copy = cuda_queue_copy,
    .clear = cuda_queue_clear,
    .send = device_send,
    .flush = cuda_pack_flush,
    .begin = device_begin,
    .end = device_end,
    .wait = device_wait,
    .drain = device_drain,
    .idle = device_idle,
    .stream = device_stream,
    .branch = device_branch,
    .merge = device_merge,
    .square = cuda_square,
    .add = cuda_accumulate,
    .update = cuda_update,
    .loss_divisor = device_loss_divisor,
    .divide_loss = cuda_divide_loss,
    .votes = device_votes,
    .watch = device_watch,
    .capture = device_capture,
    .launch = device_launch,
    .discard = device_discard,
};

/* Kernels of losses take floats: logits are floats (passes/passes.h). */
static const struct kernel *const kernels[] = {
    &cuda_conv2d,
    &cuda_conv2d_relu,
    &cuda_conv2d_grad_input,
    &cuda_conv2d_grad_weights,
    &cuda_conv_transpose2d,
    &cuda_conv_transpose2d_grad_input,
    &cuda_conv_transpose2d_grad_weights,
    &cuda_batch_norm,
    &cuda_batch_norm_grad,
    &cuda_batch_norm_relu,
    &cuda_batch_norm_relu_grad,
    &cuda_batch_norm_infer,
    &cuda_fold_norm,
    &cuda_group_norm,
    &cuda_group_norm_grad,
    &cuda_relu,
    &cuda_relu_grad,
    &cuda_concat,
    &cuda_concat_grad,
    &cuda_add,
    &cuda_max_pool2d,
    &cuda_max_pool2d_grad,
    &cuda_max_pool2d_grad_add,
    &cuda_avg_pool2d,
    &cuda_avg_pool2d_grad,
    &cuda_global_avg_pool,
    &cuda_global_avg_pool_grad,
    &cuda_subsample,
    &cuda_subsample_grad,
    &cuda_upsample2d,
    &cuda_upsample2d_grad,
    &cuda_bias,
    &cuda_bias_grad,
    &cuda_reshape,
    &cuda_dropout,
    &cuda_cast,
    &cuda_bce,
    &cuda_softmax_ce,
    &cuda_dice,
    NULL,
};

const struct backend cuda_backend = {.name = "cuda", .kernels = kernels, .fuses = true,
                                     .device = &cuda_device_ops};
