/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/cuda_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/clock.h"
#include "src/log.h"
#include "trainer/backends/cuda/cuda_checked.h"
#include "trainer/backends/cuda/cuda_device.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/cuda/runtime/cuda_queue.h"
#include "trainer/backends/trial/verdicts.h"

#define GPUS 64
/* Tensor-core convolutions have whole and partial tiles at this size (conv/mma_tile.h). */
#define HEIGHT 9
#define WIDTH 35
/* The most channels in trials of cuDNN's kernels, and of ops with so many channels that the
 * reference would take long. */
#define FEW_CHANNELS 16
/* Of all trials: a norm and the convolution that reads it may round to bfloat16 between them. */
#define TOLERANCE (1. / 48)
#define SLOW_S 20.
#define MAX_WARNED 32

static struct verdicts verdicts[GPUS];
static _Thread_local bool is_trying;

/* The arena holds activations, and weights that another op computes (is_weight). Tensors of four
 * dimensions elsewhere are weights or their gradients. */
static bool is_activation(const struct tensor *t)
{
    return t->place == TENSOR_ARENA && t->shape.ndim == 4 && !t->is_weight;
}

static bool is_half(const struct tensor *t)
{
    return t->dtype != DTYPE_F32;
}

/* Returns whether something else can compute the op: a kernel behind this one in the backend's
 * table, or, as ops of 16 bits can become ops of floats with casts around them, one of floats. */
static bool has_other(const struct backend *backend, const struct kernel *kernel,
                      const struct op *op)
{
    bool behind = false;

    for (int i = 0; i < TRIAL_TENSORS; i++)
        if (trial_tensor(op, i) && is_half(trial_tensor(op, i)))
            return true;
    for (const struct kernel *const *k = backend->kernels; *k; k++) {
        if (behind && backend_kernel_fits(*k, op))
            return true;
        behind = behind || *k == kernel;
    }
    return false;
}

struct slow_watch {
    const char *name;
    bool has_warned;
};

static int warn_if_slow(void *arg, double waited_s, struct err *e)
{
    struct slow_watch *w = arg;

    if (waited_s > SLOW_S && !w->has_warned) {
        log_warn("%s on the GPU has not ended within %g s, for very little work; if it does not "
                 "end, stop the run and start it with UNET_CUDA_KERNELS=plain in the environment",
                 w->name, SLOW_S);
        w->has_warned = true;
    }
    return 0;
}

/* Returns true once for each kernel and GPU, so that other sizes of the kernel get no warning; of
 * more than MAX_WARNED kernels of a GPU, only for the first. The caller holds the lock of the GPU's
 * verdicts. */
static bool is_first_fault(int gpu, const struct kernel *kernel)
{
    static const struct kernel *warned[GPUS][MAX_WARNED];

    for (int i = 0; i < MAX_WARNED && warned[gpu][i] != kernel; i++)
        if (!warned[gpu][i]) {
            warned[gpu][i] = kernel;
            return true;
        }
    return false;
}

static void report(const struct kernel *kernel, int gpu, const char *fault, bool is_dead)
{
    if (is_dead || is_first_fault(gpu, kernel))
        log_warn("%s; %s", fault,
                 is_dead ? "and this process can't use that GPU any more: start it again with "
                           "UNET_CUDA_KERNELS=plain in the environment"
                         : "a plainer kernel, which is slower, is used");
}

static bool try_on_gpu(const struct trial_problem *p, const struct kernel *kernel,
                       const struct op *op, char fault[VERDICTS_FAULT])
{
    struct slow_watch watch = {kernel->kind->name, false};
    struct trial_rule rule = {.tolerance = TOLERANCE, .ops = &cuda_device_ops};
    struct err e, why;
    double began = clock_now();
    int index = 0;
    bool tried;

    if (cudaGetDevice(&index) == cudaSuccess)
        rule.device = cuda_device_ops.open(index, &e);
    if (!rule.device) /* the run will report why */
        return false;
    cuda_device_ops.configure(rule.device, &(struct device_config){.deterministic = true});
    cuda_device_ops.watch(rule.device, warn_if_slow, &watch);
    is_trying = true;
    cuda_limit_blocks(true);
    const char *what = trial_find_fault(p, &rule, kernel, op, &tried, &why);
    cuda_limit_blocks(false);
    is_trying = false;
    bool is_dead = what && cuda_device_ops.drain(rule.device, &e);
    cuda_device_ops.close(rule.device);
    if (what) { /* or a later launch would report it */
        (void)cudaGetLastError();
        (void)cuda_launch_error();
    }
    log_debug("%s%s, of %d channels: tried on GPU %d in %.3f s: %s", kernel->kind->name,
              kernel->release ? " by cuDNN" : "", (int)tensor_channels(op->in[0]), index,
              clock_now() - began, what ? what : tried ? "right" : "cannot be tried");
    if (!what)
        return tried;
    snprintf(fault, VERDICTS_FAULT, "%s%s, of %d channels, on GPU %d %s%s%.400s",
             kernel->kind->name, kernel->release ? " by cuDNN" : "",
             (int)tensor_channels(op->in[0]), index, what, *why.text ? ": " : "", why.text);
    report(kernel, index, fault, is_dead);
    return true;
}

static bool is_word(const char *word)
{
    const char *own = getenv("UNET_CUDA_KERNELS");

    return own && strcmp(own, word) == 0;
}

/* A verdicts_try_f: a kernel that an earlier process has found right is not tried. */
static bool try_kernel(const struct trial_problem *p, const struct kernel *kernel,
                       const struct op *op, char fault[VERDICTS_FAULT])
{
    int gpu = 0;

    (void)cudaGetDevice(&gpu);
    if (!is_word("again") && cuda_checked_find(gpu, kernel, p))
        return true;
    bool tried = try_on_gpu(p, kernel, op, fault);
    if (tried && !*fault)
        cuda_checked_add(gpu, kernel, p);
    return tried;
}

bool cuda_check(const struct backend *backend, const struct kernel *kernel, const struct op *op)
{
    int index = 0;

    if (is_trying || is_word("untried") || op->kind->is_loss ||
        !has_other(backend, kernel, op) || cudaGetDevice(&index) != cudaSuccess || index >= GPUS)
        return true;
    /* Only cuDNN's kernels have a release. Their plans do not depend on many channels. */
    bool few = kernel->release || trial_has_many_channels(op, is_activation);
    struct trial_size size = {is_activation, HEIGHT, WIDTH, few ? FEW_CHANNELS : 0};
    struct trial_problem p;
    trial_describe(&p, kernel, op, &size);
    return verdicts_ask(&verdicts[index], &p, try_kernel, kernel, op);
}
