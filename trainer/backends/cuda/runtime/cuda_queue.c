/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, the queue of a device, and what kernels support. */
#include "src/base.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

#include <sched.h>
#include <time.h>

#include "src/clock.h"

bool cuda_supports(const struct op *op)
{
    const struct tensor *t;

    for (int i = -1; (t = op_next(op, &i));)
        if (tensor_count(t) >> 31)
            return false;
    return true;
}

bool cuda_supports_one_type(const struct op *op)
{
    const struct tensor *t;

    for (int i = -1; (t = op_next(op, &i));)
        if (t->place == TENSOR_ARENA && t->shape.ndim == 4 && t->dtype != op->in[0]->dtype)
            return false;
    return cuda_supports(op);
}

/* Memory of a device and its queue: copies, waiting, timing. Errors of the CUDA runtime become
 * struct err here. */

static _Thread_local struct device *current;

struct device *cuda_queue_current(void)
{
    return current;
}

void cuda_queue_use(struct device *d)
{
    current = d;
}

int cuda_status(const struct device *d, cudaError_t rc, const char *what, struct err *e)
{
    if (rc == cudaSuccess)
        return 0;
    if (rc == cudaErrorMemoryAllocation)
        return err_set(e, ERR_CONFIG, "GPU %d: %s: out of memory; a smaller batch needs less, and "
                       "nvidia-smi lists what else uses the GPU", d->index, what);
    if (rc == cudaErrorDevicesUnavailable)
        return err_set(e, ERR_PEER, "GPU %d: another process has it for itself alone, or its mode is "
                       "\"prohibited\" (nvidia-smi -q -d COMPUTE,PIDS shows both); ask for a GPU of "
                       "your own", d->index);
    return err_set(e, ERR_PEER, "GPU %d: %s failed: %s; nvidia-smi and the kernel log (NVRM: Xid) "
                   "show its state", d->index, what, cudaGetErrorString(rc));
}

/* An error of work on the GPU does not say which kernel failed. */
int cuda_run_status(const struct device *d, cudaError_t rc, struct err *e)
{
    return rc == cudaSuccess
               ? 0
               : err_set(e, ERR_PEER,
                         "GPU %d: a step failed: %s; if nvidia-smi and the kernel log (NVRM: Xid) "
                         "show no fault of the GPU, resume with UNET_CAPTURE=off in the "
                         "environment, and report it",
                         d->index, cudaGetErrorString(rc));
}

static _Thread_local cudaError_t failed_launch = cudaSuccess;

/* Some releases of CUDA keep the cudaErrorNotReady of a query as the last error. */
void cuda_queue_note_launch(void)
{
    cudaError_t rc = cudaGetLastError();

    if (rc != cudaSuccess && rc != cudaErrorNotReady)
        failed_launch = rc;
}

cudaError_t cuda_launch_error(void)
{
    cudaError_t rc = failed_launch;

    failed_launch = cudaSuccess;
    return rc;
}

void *cuda_queue_alloc(struct device *d, enum device_memory kind, size_t nbytes, struct err *e)
{
    void *p = NULL;
    cudaError_t rc = kind == DEVICE_LOCAL ? cudaMalloc(&p, nbytes)
                                          : cudaHostAlloc(&p, nbytes, cudaHostAllocDefault);

    if (rc == cudaSuccess)
        return p;
    (void)cudaGetLastError(); /* or the next launch would report it */
    if (rc != cudaErrorMemoryAllocation) {
        (void)cuda_run_status(d, rc, e);
        return NULL;
    }
    err_set(e, ERR_CONFIG, "GPU %d: no %.1f MiB of %s memory (%s); a smaller batch needs less, and "
            "nvidia-smi lists what else uses the GPU", d->index, (double)nbytes / (1 << 20),
            kind == DEVICE_HOST ? "pinned host" : "its", cudaGetErrorString(rc));
    return NULL;
}

void cuda_queue_free(struct device *d, enum device_memory kind, void *p)
{
    (void)(kind == DEVICE_HOST ? cudaFreeHost(p) : cudaFree(p));
}

int cuda_queue_copy(struct device *d, void *dst, const void *src, size_t nbytes, struct err *e)
{
    return cuda_status(d, cudaMemcpyAsync(dst, src, nbytes, cudaMemcpyDefault, d->stream), "a copy",
                       e);
}

int cuda_queue_clear(struct device *d, void *p, size_t nbytes, struct err *e)
{
    return cuda_status(d, cudaMemsetAsync(p, 0, nbytes, d->stream), "clearing memory", e);
}

/* Polls where a watch is set, as a peer that is gone may keep this device waiting for ever. */
int cuda_queue_await(struct device *d, cudaEvent_t event, struct err *e)
{
    double began = clock_now();
    cudaError_t rc;

    if (!d->watch) {
        rc = event ? cudaEventSynchronize(event) : cudaStreamSynchronize(d->stream);
        return cuda_run_status(d, rc, e);
    }
    while ((rc = event ? cudaEventQuery(event) : cudaStreamQuery(d->stream)) == cudaErrorNotReady) {
        double waited = clock_now() - began;
        if (d->watch(d->watch_arg, waited, e))
            return -1;
        if (waited < 0.0002)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
    return cuda_run_status(d, rc, e);
}

#define TIMES 3
#define WARM_S 0.05

/* Repeats the work, the first of a device until the GPU has left the low clocks of an idle one. */
static int warm_up(struct device *d, device_work_f work, void *arg, struct err *e)
{
    double began = clock_now();

    do {
        if (work(arg, e) || cuda_queue_await(d, NULL, e))
            return -1;
    } while (!d->is_warm && clock_now() - began < WARM_S);
    d->is_warm = true;
    return 0;
}

static int time_once(struct device *d, device_work_f work, void *arg, cudaEvent_t events[2],
                     double *seconds, struct err *e)
{
    float ms;

    if (cuda_status(d, cudaEventRecord(events[0], d->stream), "cudaEventRecord", e) ||
        work(arg, e) ||
        cuda_status(d, cudaEventRecord(events[1], d->stream), "cudaEventRecord", e) ||
        cuda_queue_await(d, events[1], e) ||
        cuda_status(d, cudaEventElapsedTime(&ms, events[0], events[1]), "cudaEventElapsedTime", e))
        return -1;
    if (1e-3 * (double)ms < *seconds)
        *seconds = 1e-3 * (double)ms;
    return 0;
}

int cuda_queue_time(struct device *d, device_work_f work, void *arg, double most, double *seconds,
                    struct err *e)
{
    cudaEvent_t events[2] = {NULL, NULL};
    cudaError_t earlier = cuda_launch_error(); /* of the step that this is a part of */
    int rc = 0;

    *seconds = 1e9;
    for (int i = 0; i < 2 && rc == 0; i++)
        rc = cuda_status(d, cudaEventCreateWithFlags(&events[i], cudaEventDefault),
                         "cudaEventCreate", e);
    rc = rc || warm_up(d, work, arg, e) || cuda_status(d, cuda_launch_error(), "a kernel", e) ? -1
                                                                                             : 0;
    for (int i = 0; i < TIMES && rc == 0 && (i == 0 || most == 0 || *seconds <= most); i++)
        rc = time_once(d, work, arg, events, seconds, e);
    for (int i = 0; i < 2; i++)
        if (events[i])
            (void)cudaEventDestroy(events[i]);
    failed_launch = earlier;
    return rc;
}

int cuda_queue_capture(struct device *d, device_work_f work, void *arg, cudaGraph_t *graph,
                       struct err *e)
{
    cudaError_t earlier = cuda_launch_error(); /* of the step that this is a part of */
    int rc = cuda_status(d, cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal),
                         "cudaStreamBeginCapture", e);

    *graph = NULL;
    if (rc == 0) {
        rc = work(arg, e);
        cudaError_t ended = cudaStreamEndCapture(d->stream, graph);
        if (rc == 0)
            rc = cuda_status(d, ended, "cudaStreamEndCapture", e) ||
                 cuda_status(d, cuda_launch_error(), "a kernel", e);
    }
    if (rc && *graph)
        (void)cudaGraphDestroy(*graph);
    if (rc)
        (void)cudaGetLastError(); /* or the next launch would report it */
    failed_launch = earlier;
    return rc ? -1 : 0;
}

bool cuda_queue_can_capture(struct device *d, device_work_f work, void *arg)
{
    cudaGraph_t graph;
    struct err ignored;

    if (cuda_queue_capture(d, work, arg, &graph, &ignored))
        return false;
    (void)cudaGraphDestroy(graph);
    return true;
}

int cuda_queue_sum(struct exec *x, double *values, size_t n, struct err *e)
{
    return (x->empty && cuda_queue_clear(x->device, values, n * sizeof *values, e)) ||
                   x->sum(x->sum_arg, values, n, e)
               ? -1
               : 0;
}
