/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/cuda_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/clock.h"
#include "src/log.h"
#include "trainer/backends/cuda/cuda_device.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/ref/ref.h"
#include "trainer/backends/trial/trial.h"
#include "trainer/backends/trial/verdicts.h"

#define GPUS 64
#define IMAGES 2
/* Convolutions of few channels have whole and partial tiles at this size (mma_tile.h). */
#define HEIGHT 9
#define WIDTH 35
#define MOST_PAIRS 4096 /* of channels: with more the reference would take long ... */
#define FEW 16          /* ... so they become so many each */
/* Relative to an element plus the mean of all: there is bfloat16 between norm and convolution. */
#define TOLERANCE (1. / 48)
#define SLOW_S 20.
#define MOST_TOLD 32

/* What tells a problem: what is tried. */
struct trial_problem {
    const struct kernel *kernel;
    int side, stride;
    unsigned form;
    enum dtype types[TRIAL_TENSORS];
    struct shape shapes[TRIAL_TENSORS]; /* ndim 0: there is none */
};

static struct verdicts verdicts[GPUS] = {[0 ... GPUS - 1] = VERDICTS_NONE};
static _Thread_local bool is_trying;

/* Activations are what the planner places, with four dimensions; what else has four are weights. */
static bool is_activation(const struct tensor *t)
{
    return t->place == TENSOR_ARENA && t->shape.ndim == 4;
}

static bool is_half(const struct tensor *t)
{
    return t->dtype != DTYPE_F32;
}

/* Would another one do it? Ops of 16 bits can become ones of floats, with casts around them. */
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

/* Of a library's plan, which is there to be released, any number of channels tells as much. */
static bool has_many_channels(const struct kernel *kernel, const struct op *op)
{
    if (kernel->release)
        return true;
    for (int i = 0; i < TRIAL_TENSORS; i++) {
        const struct tensor *t = trial_tensor(op, i);

        if (t && t->shape.ndim == 4 && !is_activation(t) &&
            t->shape.dim[0] * t->shape.dim[1] > MOST_PAIRS)
            return true;
    }
    return false;
}

static int64_t fewer(int64_t channels, bool many)
{
    return many && channels > FEW ? FEW : channels;
}

/* times: of the smallest activation, as high and wide. */
static void shrink(struct shape *dst, const struct tensor *t, int64_t times, bool many)
{
    dst->ndim = t->shape.ndim; /* paddings stay zeros */
    for (int k = 0; k < t->shape.ndim; k++)
        dst->dim[k] = t->shape.dim[k];
    if (is_activation(t)) {
        dst->dim[DIM_N] = IMAGES;
        dst->dim[DIM_H] = HEIGHT * times;
        dst->dim[DIM_W] = WIDTH * times;
        dst->dim[DIM_C] = fewer(dst->dim[DIM_C], many);
    } else if (dst->ndim == 4) {
        dst->dim[0] = fewer(dst->dim[0], many);
        dst->dim[1] = fewer(dst->dim[1], many);
    } else if (dst->ndim > 0) {
        dst->dim[dst->ndim - 1] = fewer(dst->dim[dst->ndim - 1], many);
    }
}

static struct trial_problem problem_to_try(const struct kernel *kernel, const struct op *op)
{
    bool many = has_many_channels(kernel, op);
    int64_t least = trial_least_height(op, is_activation);
    struct trial_problem p;

    memset(&p, 0, sizeof p); /* compared as bytes */
    p.kernel = kernel;
    p.side = op->attr.kernel;
    p.stride = op->attr.stride;
    p.form = op_form(op);
    for (int i = 0; i < TRIAL_TENSORS; i++) {
        const struct tensor *t = trial_tensor(op, i);

        if (!t)
            continue;
        p.types[i] = t->dtype;
        shrink(&p.shapes[i], t,
               is_activation(t) ? (t->shape.dim[DIM_H] + least / 2) / least : 1, many);
    }
    return p;
}

/* device NULL: the reference, of floats with the same numbers. */
static bool create_trial(struct trial *t, const struct op *op, const struct trial_problem *p,
                         struct device *device)
{
    const struct shape *result = &p->shapes[OP_MAX_IN];

    trial_create(t, op);
    t->op.attr.sync = false;
    if (op->attr.height) {
        t->op.attr.height = result->dim[DIM_H];
        t->op.attr.width = result->dim[DIM_W];
    }
    if (device)
        trial_place(t, &cuda_device_ops, device);
    for (int i = 0; i < TRIAL_TENSORS; i++) {
        const struct tensor *theirs = trial_tensor(op, i);

        if (!theirs)
            continue;
        struct tensor mine = *theirs;
        mine.shape = p->shapes[i];
        mine.dtype = device ? mine.dtype : DTYPE_F32;
        if (!trial_add(t, i, mine))
            return false;
    }
    return true;
}

/* Is it still the op, in its size? Not where sizes have to do with each other in other ways. */
static bool trial_fits(const struct trial *t)
{
    struct shape shapes[OP_MAX_OUT] = {0};
    struct err e;

    if (t->op.kind->infer(&t->op.attr, t->op.in, shapes, &e) < 0)
        return false;
    for (int i = -1; op_next_out(&t->op, &i);)
        if (shapes[i].ndim && !shape_equal(&shapes[i], &t->op.out[i]->shape))
            return false;
    return true;
}

static double trial_number(const struct tensor *t, size_t i)
{
    float v;

    if (t->dtype == DTYPE_F32)
        return (double)t->data[i];
    dtype_decode(t->dtype, t->half + i, &v, 1);
    return (double)v;
}

static bool is_close_to(const struct tensor *got, const struct tensor *want)
{
    size_t n = tensor_count(want);
    double mean = 0;

    for (size_t i = 0; i < n; i++)
        mean += fabs(trial_number(want, i)) / (double)n;
    for (size_t i = 0; i < n; i++)
        if (!(fabs(trial_number(got, i) - trial_number(want, i)) <=
              TOLERANCE * (fabs(trial_number(want, i)) + mean)))
            return false;
    return true;
}

/* Running statistics are inputs that change. */
static bool is_same_trial(const struct trial *got, const struct trial *want)
{
    for (int i = 0; i < TRIAL_TENSORS; i++)
        if (trial_tensor(&want->op, i) && !is_close_to(&got->tensors[i], &want->tensors[i]))
            return false;
    return true;
}

/* NULL: it works, or nobody can tell. why: more words, or none. */
static const char *fault_of(const struct trial_problem *p, const struct op *op,
                            struct device *device, struct err *why)
{
    struct trial mine = {.blocks = {0}}, reference = {.blocks = {0}};
    const char *fault = NULL;
    bool ready = create_trial(&mine, op, p, device) && create_trial(&reference, op, p, NULL) &&
                 trial_fits(&mine);
    const struct kernel *plain = ready ? backend_kernel(&ref_backend, &reference.op) : NULL;

    why->text[0] = 0;
    if (plain && trial_run(&reference, plain)) {
        if (!trial_run(&mine, p->kernel)) {
            fault = "fails";
            *why = mine.why;
        } else if (!trial_is_clean(&mine)) {
            fault = "writes beside its results";
        } else if (!is_same_trial(&mine, &reference)) {
            fault = "gives wrong results";
        }
    }
    trial_destroy(&mine);
    trial_destroy(&reference);
    return fault;
}

struct patience {
    const char *name;
    bool told;
};

static int lose_patience(void *arg, double waited_s, struct err *e)
{
    struct patience *p = arg;

    (void)e;
    if (waited_s > SLOW_S && !p->told)
        log_warn("%s on the GPU has not ended within %g s, for very little work; if this goes on, "
                 "stop, and "
                 "start with UNET_CUDA_KERNELS=plain in the environment",
                 p->name, SLOW_S);
    p->told = p->told || waited_s > SLOW_S;
    return 0;
}

/* A kernel's sizes are told once, as one; held: the GPU's verdicts. */
static bool is_news(int gpu, const struct kernel *kernel)
{
    static const struct kernel *told[GPUS][MOST_TOLD];

    for (int i = 0; i < MOST_TOLD && told[gpu][i] != kernel; i++)
        if (!told[gpu][i]) {
            told[gpu][i] = kernel;
            return true;
        }
    return false;
}

static bool try_kernel(const struct kernel *kernel, const struct op *op, const void *problem)
{
    const struct trial_problem *p = problem;
    struct patience patience = {kernel->kind->name, false};
    struct err e, why;
    double began = clock_now();
    int index = 0;
    struct device *device =
        cudaGetDevice(&index) == cudaSuccess ? cuda_device_ops.open(index, &e) : NULL;

    if (!device) /* what needs one will say so */
        return true;
    cuda_device_ops.configure(device, &(struct device_config){.deterministic = true});
    cuda_device_ops.watch(device, lose_patience, &patience);
    is_trying = true;
    cuda_limit_blocks(true);
    const char *fault = fault_of(p, op, device, &why);
    cuda_limit_blocks(false);
    is_trying = false;
    bool dead = fault && cuda_device_ops.drain(device, &e);
    cuda_device_ops.close(device);
    if (fault)
        (void)cudaGetLastError();
    log_debug("%s%s, of %d channels: tried on GPU %d in %.3f s: %s", kernel->kind->name,
              kernel->release ? " by cuDNN" : "", (int)tensor_channels(op->in[0]), index,
              clock_now() - began, fault ? fault : "right");
    if (fault && (dead || is_news(index, kernel)))
        log_warn("%s%s, of %d channels, on GPU %d %s%s%s; %s", kernel->kind->name,
                 kernel->release ? " by cuDNN" : "", (int)tensor_channels(op->in[0]), index, fault,
                 *why.text ? ": " : "", why.text,
                 dead ? "and this process can't use that GPU any more: start it again with "
                        "UNET_CUDA_KERNELS=plain in the environment"
                      : "a plainer kernel, which is slower, is used");
    return !fault;
}

bool cuda_check(const struct backend *backend, const struct kernel *kernel, const struct op *op)
{
    const char *word = getenv("UNET_CUDA_KERNELS");
    int index = 0;

    if (is_trying || (word && strcmp(word, "untried") == 0) || op->kind->is_loss ||
        !has_other(backend, kernel, op) || cudaGetDevice(&index) != cudaSuccess || index >= GPUS)
        return true;
    struct trial_problem p = problem_to_try(kernel, op);
    return verdicts_ask(&verdicts[index], &p, sizeof p, try_kernel, kernel, op);
}

void cuda_check_count(unsigned *nright, unsigned *nwrong)
{
    *nright = *nwrong = 0;
    for (int i = 0; i < GPUS; i++)
        verdicts_count(&verdicts[i], nright, nwrong);
}
