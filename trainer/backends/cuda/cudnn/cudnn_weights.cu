/* SPDX-License-Identifier: BSD-3-Clause */
/* Weights from our order and type to those of cuDNN's convolutions, and their gradients back: all
 * that were collected in one launch, each block a part of one entry of the table, which travels
 * with the launch. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

#define PACK_BLOCK (4 * GPU_BLOCK) /* numbers of a block */

/* ours: floats [out][in][taps]; cuDNN's: numbers of a type [out][taps][in]. */
DEVICE void pack_number(const struct pack_args *p, unsigned i)
{
    unsigned tap = i % p->taps, in = i / p->taps % p->in, out = i / p->taps / p->in;
    unsigned j = (out * p->taps + tap) * p->in + in;

    if (p->is_grad)
        p->ours[i] = gpu_load(p->cudnns, j, p->type);
    else
        gpu_store(p->cudnns, j, p->type, p->ours[i]);
}

KERNEL(pack_weights, pack_table)
{
    unsigned e = 0;

    while (e + 1 < k.n && k.entries[e + 1].first <= blockIdx.x)
        e++;
    struct pack_args p = k.entries[e];
    for (unsigned i = (blockIdx.x - p.first) * PACK_BLOCK + threadIdx.x, j = 0;
         j < PACK_BLOCK / GPU_BLOCK && i < p.count; i += GPU_BLOCK, j++)
        pack_number(&p, i);
}

C_BEGIN

void cuda_pack(struct device *d, const struct tensor *w, void *cudnns, enum dtype type,
               bool is_grad)
{
    struct pack_table *t = &d->packs;

    if (t->n == PACK_MOST)
        cuda_pack_flush(d);
    struct pack_args p = {w->data, cudnns, (unsigned)w->shape.dim[1],
                          (unsigned)(w->shape.dim[2] * w->shape.dim[3]),
                          (unsigned)tensor_count(w), (unsigned)type, t->nblocks, is_grad};
    t->nblocks += (p.count + PACK_BLOCK - 1) / PACK_BLOCK;
    t->entries[t->n++] = p;
}

void cuda_pack_flush(struct device *d)
{
    if (d->packs.n)
        LAUNCH(pack_weights, d->packs.nblocks, d->stream, d->packs);
    d->packs.n = d->packs.nblocks = 0;
}

C_END
