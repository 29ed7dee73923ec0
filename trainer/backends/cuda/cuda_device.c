/* SPDX-License-Identifier: BSD-3-Clause */
/* device_ops on the CUDA runtime: one stream per device. */
#include "config.h"
#include "trainer/backends/cuda/cuda_info.h"
#include "trainer/backends/cuda/cuda_kernel.h"
#include "trainer/backends/cuda/cudnn_choices.h"
#include "trainer/backends/cuda/cudnn_conv.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/clock.h"

struct device_program {
    cudaGraphExec_t graph;
};

static int check(cudaError_t rc, const char *what, struct err *e)
{
    return rc == cudaSuccess
               ? 0
               : err_set(e, ERR_INTERNAL, "CUDA: %s: %s", what, cudaGetErrorString(rc));
}

/* Of a launch. That something was not ready yet is none, but not every release leaves it out. */
static cudaError_t launch_error(void)
{
    cudaError_t rc = cudaGetLastError();

    return rc == cudaErrorNotReady ? cudaSuccess : rc;
}

/* What runs on a GPU tells only that it failed. */
static int check_step(const struct device *d, cudaError_t rc, struct err *e)
{
    return rc == cudaSuccess
               ? 0
               : err_set(e, ERR_INTERNAL,
                         "CUDA: a step failed on GPU %d: %s; if nvidia-smi shows the GPU well, "
                         "go on with UNET_CUDA_KERNELS=plain, or UNET_CUDNN=off, in the "
                         "environment, and tell "
                         "us",
                         d->index, cudaGetErrorString(rc));
}

static void device_close(struct device *d)
{
    if (!d)
        return;
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
    (void)cudaFree(d->scalars);
    (void)cudaFree(d->parts);
    (void)cudaFreeHost(d->slots);
    if (d->side)
        (void)cudaStreamDestroy(d->side);
    if (d->stream)
        (void)cudaStreamDestroy(d->stream);
    free(d);
}

static int identify(struct device *d, struct err *e)
{
    struct cudaDeviceProp p;

    if (check(cudaGetDeviceProperties(&p, d->index), "cudaGetDeviceProperties", e))
        return -1;
    d->id = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < sizeof p.uuid.bytes; i++)
        d->id = (d->id ^ (unsigned char)p.uuid.bytes[i]) * UINT64_C(0x100000001b3);
    return 0;
}

static uint64_t device_id(const struct device *d)
{
    return d->id;
}

static int fill_device(struct device *d, struct err *e)
{
    if (check(cudaSetDevice(d->index), "cudaSetDevice", e) || identify(d, e) ||
        check(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking), "cudaStreamCreate",
              e) ||
        check(cudaMalloc((void **)&d->scalars, sizeof *d->scalars), "cudaMalloc", e) ||
        check(cudaMalloc((void **)&d->parts, CUDA_SQUARE_PARTS * sizeof *d->parts), "cudaMalloc",
              e) ||
        check(cudaHostAlloc((void **)&d->slots, DEVICE_SLOTS * sizeof *d->slots,
                            cudaHostAllocDefault), "cudaHostAlloc", e))
        return -1;
    for (int i = 0; i < DEVICE_SLOTS; i++)
        if (check(cudaEventCreateWithFlags(&d->done[i], cudaEventDisableTiming), "cudaEventCreate",
                  e))
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
    return d;
}

static int device_room(struct device *d, size_t *nbytes, struct err *e)
{
    size_t total;

    (void)d;
    return check(cudaMemGetInfo(nbytes, &total), "cudaMemGetInfo", e);
}

static void *device_alloc(struct device *d, enum device_memory kind, size_t nbytes, struct err *e)
{
    void *p = NULL;
    cudaError_t rc = kind == DEVICE_LOCAL    ? cudaMalloc(&p, nbytes)
                     : kind == DEVICE_SHARED ? cudaMallocManaged(&p, nbytes, cudaMemAttachGlobal)
                                             : cudaHostAlloc(&p, nbytes, cudaHostAllocDefault);

    if (rc == cudaSuccess && kind == DEVICE_SHARED)
        rc = cudaMemsetAsync(p, 0, nbytes, d->stream);
    if (rc == cudaSuccess && kind == DEVICE_SHARED)
        rc = cudaStreamSynchronize(d->stream);
    if (rc == cudaSuccess)
        return p;
    (void)cudaGetLastError(); /* no launch is to blame */
    if (rc != cudaErrorMemoryAllocation) {
        (void)check_step(d, rc, e);
        return NULL;
    }
    err_set(e, ERR_CONFIG, "GPU %d: no %.1f MiB of %s memory (%s); a smaller batch needs less, and "
            "nvidia-smi shows who else is there", d->index, (double)nbytes / (1 << 20),
            kind == DEVICE_HOST ? "pinned host" : "its", cudaGetErrorString(rc));
    return NULL;
}

static void device_free(struct device *d, enum device_memory kind, void *p)
{
    (void)d;
    (void)(kind == DEVICE_HOST ? cudaFreeHost(p) : cudaFree(p));
}

static int device_copy(struct device *d, void *dst, const void *src, size_t nbytes, struct err *e)
{
    return check(cudaMemcpyAsync(dst, src, nbytes, cudaMemcpyDefault, d->stream), "a copy", e);
}

static int device_clear(struct device *d, void *p, size_t nbytes, struct err *e)
{
    return check(cudaMemsetAsync(p, 0, nbytes, d->stream), "clearing memory", e);
}

static int device_begin(struct device *d, int slot, const struct exec *x, struct err *e)
{
    struct cuda_scalars *s = &d->slots[slot];

    *s = (struct cuda_scalars){.grad_scale = x->grad_scale,
                               .image_scale = x->image_scale,
                               .loss_per_weight = x->loss_per_weight,
                               .loss_per_image = x->loss_per_image,
                               .weight = x->weight,
                               .unscale = 1,
                               .factor = 1,
                               .votes = {x->votes[0], x->votes[1]},
                               .noise = x->noise,
                               .first = x->first,
                               .counts = x->counts};
    if (x->update)
        s->update = *x->update;
    if (device_copy(d, d->scalars, &d->slots[slot], sizeof *d->slots, e))
        return -1;
    if (x->scaling)
        cuda_scale_run(d, x->scaling);
    return 0;
}

static int device_end(struct device *d, int slot, struct err *e)
{
    if (check(launch_error(), "a kernel could not be launched", e) ||
        device_copy(d, &d->slots[slot], d->scalars, offsetof(struct cuda_scalars, update), e) ||
        check(cudaEventRecord(d->done[slot], d->stream), "cudaEventRecord", e))
        return -1;
    d->pending[slot] = true;
    if (d->has_chosen)
        cudnn_choices_save();
    d->has_chosen = false;
    return 0;
}

static void device_watch(struct device *d, device_watch_f watch, void *arg)
{
    d->watch = watch;
    d->watch_arg = arg;
}

/* For the event, or the stream if it is NULL. With somebody who watches, as other devices may keep
 * this one waiting for ever. */
static int await(struct device *d, cudaEvent_t event, struct err *e)
{
    double began = clock_now();
    cudaError_t rc;

    if (!d->watch)
        return check_step(d, event ? cudaEventSynchronize(event) : cudaStreamSynchronize(d->stream),
                          e);
    while ((rc = event ? cudaEventQuery(event) : cudaStreamQuery(d->stream)) == cudaErrorNotReady) {
        double waited = clock_now() - began;
        if (d->watch(d->watch_arg, waited, e))
            return -1;
        if (waited < 0.0002)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
    return check_step(d, rc, e);
}

static int device_wait(struct device *d, int slot, struct device_sums *sums, struct err *e)
{
    const struct cuda_scalars *s = &d->slots[slot];

    *sums = (struct device_sums){0};
    if (!d->pending[slot])
        return 0;
    d->pending[slot] = false;
    if (await(d, d->done[slot], e))
        return -1;
    *sums = (struct device_sums){s->loss_sum, s->own_square, s->square,
                                 {s->votes[0], s->votes[1]}};
    return 0;
}

static int device_drain(struct device *d, struct err *e)
{
    return await(d, NULL, e);
}

static int device_idle(struct device *d, bool *idle, struct err *e)
{
    cudaError_t rc = cudaStreamQuery(d->stream);

    *idle = rc == cudaSuccess;
    return rc == cudaErrorNotReady ? 0 : check_step(d, rc, e);
}

static void *device_stream(const struct device *d)
{
    return d->stream;
}

static int make_side(struct device *d, struct err *e)
{
    return check(cudaStreamCreateWithFlags(&d->side, cudaStreamNonBlocking), "cudaStreamCreate",
                 e) ||
                   check(cudaEventCreateWithFlags(&d->forked, cudaEventDisableTiming),
                         "cudaEventCreate", e) ||
                   check(cudaEventCreateWithFlags(&d->joined, cudaEventDisableTiming),
                         "cudaEventCreate", e)
               ? -1
               : 0;
}

static void *device_branch(struct device *d, struct err *e)
{
    if ((!d->side && make_side(d, e)) ||
        check(cudaEventRecord(d->forked, d->stream), "cudaEventRecord", e) ||
        check(cudaStreamWaitEvent(d->side, d->forked, 0), "cudaStreamWaitEvent", e))
        return NULL;
    return d->side;
}

static int device_merge(struct device *d, struct err *e)
{
    return check(cudaEventRecord(d->joined, d->side), "cudaEventRecord", e) ||
                   check(cudaStreamWaitEvent(d->stream, d->joined, 0), "cudaStreamWaitEvent", e)
               ? -1
               : 0;
}

static double *device_weight(struct device *d)
{
    return &d->scalars->weight;
}

static float *device_votes(struct device *d)
{
    return d->scalars->votes;
}

static int device_record(struct device *d, struct err *e)
{
    return check(cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal),
                 "cudaStreamBeginCapture", e);
}

static struct device_program *device_finish(struct device *d, struct err *e)
{
    cudaGraph_t graph = NULL;
    struct device_program *p = NULL;

    if (check(cudaStreamEndCapture(d->stream, &graph), "cudaStreamEndCapture", e))
        return NULL;
    p = calloc(1, sizeof *p);
    if (!p)
        err_set(e, ERR_INTERNAL, "out of memory");
    else if (check(cudaGraphInstantiate(&p->graph, graph, 0), "cudaGraphInstantiate", e)) {
        free(p);
        p = NULL;
    }
    (void)cudaGraphDestroy(graph);
    return p;
}

static int device_replay(struct device *d, struct device_program *p, struct err *e)
{
    return check(cudaGraphLaunch(p->graph, d->stream), "cudaGraphLaunch", e);
}

static void device_discard(struct device_program *p)
{
    if (!p)
        return;
    (void)cudaGraphExecDestroy(p->graph);
    free(p);
}

static void device_configure(struct device *d, const struct device_config *c)
{
    d->config = *c;
}

#define TIMES 3

static int time_once(struct device *d, cuda_work_f work, void *arg, cudaEvent_t events[2],
                     double *seconds, struct err *e)
{
    float ms;

    if (check(cudaEventRecord(events[0], d->stream), "cudaEventRecord", e) || work(arg, e) ||
        check(cudaEventRecord(events[1], d->stream), "cudaEventRecord", e) ||
        await(d, events[1], e) ||
        check(cudaEventElapsedTime(&ms, events[0], events[1]), "cudaEventElapsedTime", e))
        return -1;
    if (1e-3 * (double)ms < *seconds)
        *seconds = 1e-3 * (double)ms;
    return 0;
}

int cuda_device_time(struct device *d, cuda_work_f work, void *arg, double *seconds, struct err *e)
{
    cudaEvent_t events[2] = {NULL, NULL};
    int rc = 0;

    *seconds = 1e9;
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = check(cudaEventCreateWithFlags(&events[i], cudaEventDefault), "cudaEventCreate", e);
    rc = rc || work(arg, e) || await(d, NULL, e) || check(launch_error(), "a kernel", e) ? -1 : 0;
    for (int i = 0; i < TIMES && rc == 0; i++)
        rc = time_once(d, work, arg, events, seconds, e);
    for (int i = 0; i < 2; i++)
        if (events[i])
            (void)cudaEventDestroy(events[i]);
    if (rc)
        (void)cudaGetLastError(); /* of work that is given up */
    return rc;
}

bool cuda_device_can_record(struct device *d, cuda_work_f work, void *arg)
{
    struct err ignored;
    cudaGraph_t graph = NULL;

    if (cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess)
        return false;
    bool ok = work(arg, &ignored) == 0;
    ok = cudaStreamEndCapture(d->stream, &graph) == cudaSuccess && graph && ok;
    if (graph)
        (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError(); /* of a capture that was given up */
    return ok;
}

int cuda_device_sum(struct exec *x, double *values, size_t n, struct err *e)
{
    struct device *d = x->device;

    if (x->queues)
        return (x->empty && device_clear(d, values, n * sizeof *values, e)) ||
                       x->sum(x->sum_arg, values, n, e)
                   ? -1
                   : 0;
    double *host = (double *)device_alloc(d, DEVICE_HOST, n * sizeof *host, e);

    if (!host)
        return -1;
    int rc = device_copy(d, host, values, n * sizeof *host, e) || device_drain(d, e) ? -1 : 0;
    if (x->empty)
        memset(host, 0, n * sizeof *host);
    rc = rc || x->sum(x->sum_arg, host, n, e) ||
                 device_copy(d, values, host, n * sizeof *host, e) || device_drain(d, e) ? -1 : 0;
    device_free(d, DEVICE_HOST, host);
    return rc;
}

const struct device_ops cuda_device_ops = {
    .open = device_open,
    .id = device_id,
    .configure = device_configure,
    .close = device_close,
    .room = device_room,
    .choose = cudnn_conv_choose,
    .choices = cudnn_choices_encode,
    .learn = cudnn_choices_decode,
    .alloc = device_alloc,
    .free = device_free,
    .copy = device_copy,
    .clear = device_clear,
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
    .weight = device_weight,
    .weigh = cuda_weigh_run,
    .votes = device_votes,
    .watch = device_watch,
    .record = device_record,
    .finish = device_finish,
    .replay = device_replay,
    .discard = device_discard,
};
