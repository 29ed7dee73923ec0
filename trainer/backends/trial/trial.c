/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/trial/trial.h"

#include <string.h>
#include <sys/mman.h>

#define ALIGN 64
#define GUARD 256 /* bytes before and behind each block; whole lines, for alignment */
#define MARK 0xff /* of each byte; as a float it is not a number */
#define WORKSPACE TRIAL_TENSORS

const struct tensor *trial_tensor(const struct op *op, int i)
{
    if (i < OP_MAX_IN)
        return op->in[i];
    return op->out[i - OP_MAX_IN];
}

int64_t trial_least_height(const struct op *op, bool (*is_activation)(const struct tensor *t))
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < TRIAL_TENSORS; i++) {
        const struct tensor *t = trial_tensor(op, i);

        if (t && is_activation(t) && t->shape.dim[DIM_H] < least)
            least = t->shape.dim[DIM_H];
    }
    return least;
}

void trial_create(struct trial *t, const struct op *op)
{
    memset(t, 0, sizeof *t);
    t->op.kind = op->kind;
    t->op.attr = op->attr;
}

void trial_place(struct trial *t, const struct device_ops *ops, struct device *device)
{
    t->ops = ops;
    t->device = device;
}

/* With the guards. */
static size_t size_of(const struct trial *t, int i)
{
    return (t->nbytes[i] + 2 * GUARD + ALIGN - 1) / ALIGN * ALIGN;
}

/* Mapped, so that it goes back at once: what malloc keeps would be the process's to its end. */
static char *map(size_t nbytes)
{
    void *p = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

/* Block i, all of it marked; NULL: no memory. */
static char *reserve(struct trial *t, int i, size_t nbytes)
{
    size_t all;

    t->nbytes[i] = nbytes;
    all = size_of(t, i);
    t->blocks[i] = t->device ? t->ops->alloc(t->device, DEVICE_SHARED, all, &t->why) : map(all);
    if (!t->blocks[i])
        return NULL;
    memset(t->blocks[i], MARK, all);
    return t->blocks[i] + GUARD;
}

static void fill(struct tensor *t, uint64_t seed)
{
    for (size_t i = 0; i < tensor_count(t); i++) {
        float v;

        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        v = t->shape.ndim < 3 ? (float)(5 + 2 * ((seed >> 33) % 4)) / 8
                              : (float)((int)((seed >> 33) % 5) - 2);
        if (t->dtype == DTYPE_F32)
            t->data[i] = v;
        else
            dtype_encode(t->dtype, &v, t->half + i, 1);
    }
}

bool trial_add(struct trial *t, int i, struct tensor like)
{
    struct tensor *mine = &t->tensors[i];

    *mine = like;
    mine->bytes = reserve(t, i, tensor_nbytes(mine));
    if (!mine->bytes)
        return false;
    if (i < OP_MAX_IN)
        fill(mine, (uint64_t)i);
    *(i < OP_MAX_IN ? &t->op.in[i] : &t->op.out[i - OP_MAX_IN]) = mine;
    return true;
}

static bool run(struct trial *t)
{
    struct exec x = {.device = t->device, .device_ops = t->ops};
    struct device_sums sums;

    if (!t->device)
        return t->op.kernel->run(&t->op, &x, &t->why) == 0;
    return t->ops->begin(t->device, 0, &x, &t->why) == 0 &&
           t->op.kernel->run(&t->op, &x, &t->why) == 0 &&
           t->ops->end(t->device, 0, &t->why) == 0 &&
           t->ops->wait(t->device, 0, &sums, &t->why) == 0;
}

bool trial_run(struct trial *t, const struct kernel *kernel)
{
    bool done;

    t->op.kernel = kernel;
    if (kernel->prepare && kernel->prepare(&t->op, &t->why) < 0)
        return false;
    t->op.workspace = reserve(t, WORKSPACE, t->op.workspace_size);
    done = t->op.workspace && run(t);
    if (kernel->release)
        kernel->release(&t->op);
    return done;
}

static bool is_marked(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)bytes[i] != MARK)
            return false;
    return true;
}

bool trial_is_clean(const struct trial *t)
{
    for (int i = 0; i <= WORKSPACE; i++)
        if (t->blocks[i] && !(is_marked(t->blocks[i], GUARD) &&
                              is_marked(t->blocks[i] + GUARD + t->nbytes[i], GUARD)))
            return false;
    return true;
}

bool trial_is_complete(const struct trial *t)
{
    for (int i = -1; op_next_out(&t->op, &i);)
        for (size_t k = 0; k < tensor_count(t->op.out[i]); k++)
            if (is_marked(t->op.out[i]->bytes + k * sizeof(float), sizeof(float)))
                return false;
    return true;
}

void trial_destroy(struct trial *t)
{
    for (int i = 0; i <= WORKSPACE; i++)
        if (t->device)
            t->ops->free(t->device, DEVICE_SHARED, t->blocks[i]);
        else if (t->blocks[i])
            munmap(t->blocks[i], size_of(t, i));
}
