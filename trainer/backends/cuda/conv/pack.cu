/* SPDX-License-Identifier: BSD-3-Clause */
/* Packs the weights of all convolutions of a graph in one launch: each block has a part of one
 * entry of the table, which travels with the launch. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"

#include "trainer/backends/cuda/conv/mma_tile.h"

#define PACK_BLOCK (4 * GPU_BLOCK) /* numbers, or words, of a block */

DEVICE float pack_weight(const struct pack_args *p, unsigned out, unsigned in, unsigned tap)
{
    return p->w[out * p->w_out + in * p->w_in + (p->flip ? p->taps - 1 - tap : tap)];
}

/* Words [step][chunk of the result][lane][2]: pairs of channels of the input, as the threads of a
 * warp hold them (warp.h). A step is two pairs of a tap and a chunk of the input; an odd number of
 * pairs is padded with zeros. */
DEVICE unsigned pack_mma(const struct pack_args *p, unsigned i)
{
    unsigned in = (p->in + 7) / 8, out = p->out / 8, lane = i / 2 % WARP;
    unsigned q = i / 2 / WARP / out * 2 + i % 2, tap = q / in, c = q % in * 8 + lane % 4 * 2;
    unsigned d = i / 2 / WARP % out * 8 + lane / 4, n = q < p->taps * in ? p->in : 0;

    return bf16_pair(c < n ? pack_weight(p, d, c, tap) : 0,
                     c + 1 < n ? pack_weight(p, d, c + 1, tap) : 0);
}

DEVICE void pack_number(const struct pack_args *p, unsigned i)
{
    unsigned lanes = (p->out + LANES - 1) / LANES * LANES, d = i % lanes, c = i % p->in;

    if (p->order == PACK_MMA)
        ((unsigned *)p->packed)[i] = pack_mma(p, i);
    else if (p->order == PACK_CUDNN)
        gpu_store(p->packed, i, p->type,
                  pack_weight(p, i / p->in / p->taps, c, i / p->in % p->taps));
    else
        ((float *)p->packed)[i] =
            d < p->out ? pack_weight(p, d, i / lanes % p->in, i / lanes / p->in) : 0;
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

void cuda_pack(struct device *d, struct pack_args p)
{
    struct pack_table *t = &d->packs;

    if (t->n == PACK_MOST)
        cuda_pack_flush(d);
    p.first = t->nblocks;
    t->nblocks += (p.count + PACK_BLOCK - 1) / PACK_BLOCK;
    t->entries[t->n++] = p;
}

void cuda_pack_flush(struct device *d)
{
    if (d->packs.n)
        LAUNCH(pack_weights, d->packs.nblocks, d->stream, d->packs);
    d->packs.n = d->packs.nblocks = 0;
}

/* The weights are [O][I][K][K], or of a transposed convolution [I][O][2][2]; the gradient of the
 * input is a convolution from O to I, that of conv2d with the taps reversed. */
static struct pack_args pack_of(const struct op *op, enum pack_order order)
{
    const int64_t *dim = op->in[1]->shape.dim;
    bool is_grad = op->kind == &conv2d_grad_kind || op->kind == &conv_transpose2d_grad_kind;
    bool is_conv2d = op->kind == &conv2d_kind || op->kind == &conv2d_grad_kind;
    /* is_first: the channels that this op writes are the first dimension of its weights. */
    bool is_first = is_grad != is_conv2d;
    unsigned taps = (unsigned)(dim[2] * dim[3]), in = (unsigned)dim[is_first];
    unsigned out = (unsigned)dim[!is_first];
    struct pack_args p = {op->in[1]->data, op->kept, in, out, taps,
                          is_first ? taps * in : taps,
                          is_first ? taps : taps * (unsigned)dim[1], is_grad && is_conv2d,
                          (unsigned)order, 0, 0, 0};

    p.count = order == PACK_MMA ? MMA_WEIGHT_BYTES((in + 7) / 8 * 8, out, taps) / 4
                                : taps * in * ((out + LANES - 1) / LANES * LANES);
    return p;
}

static int begin_lanes(struct op *op, struct exec *x, struct err *e)
{
    cuda_pack(x->device, pack_of(op, PACK_LANES));
    return 0;
}

static int begin_mma(struct op *op, struct exec *x, struct err *e)
{
    cuda_pack(x->device, pack_of(op, PACK_MMA));
    return 0;
}

void cuda_keep_packed(struct op *op, enum pack_order order)
{
    op->begin = order == PACK_MMA ? begin_mma : begin_lanes;
    op->kept_size = pack_of(op, order).count * sizeof(float);
}

C_END
