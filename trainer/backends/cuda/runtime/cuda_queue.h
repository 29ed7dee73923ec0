/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a device and its queue: what kernels and device_ops both need of the CUDA runtime. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_RUNTIME_CUDA_QUEUE_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_RUNTIME_CUDA_QUEUE_H

#include "trainer/backends/cuda/runtime/cuda_kernel.h"

#ifdef __CUDACC__
extern "C" {
#endif

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

#endif
