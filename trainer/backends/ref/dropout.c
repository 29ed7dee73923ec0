/* SPDX-License-Identifier: BSD-3-Clause */
/* Dropout, whose random numbers depend only on exec.noise, attr.stream, the image's index in the
 * epoch and the value's index in the image (src/rng.h). */
#include "config.h"
#include "trainer/backends/ref/ref.h"

#include "src/rng.h"

/* One block of random numbers serves four values; a value is kept if its number is at least
 * `limit`. */
static int ref_dropout_run(struct op *op, struct exec *x, struct err *e)
{
    const float *src = op->in[0]->data;
    float *dst = op->out[0]->data, scale = (float)(1 / (1 - op->attr.rate));
    size_t images = (size_t)op->in[0]->shape.dim[DIM_N], n = tensor_count(op->out[0]) / images;
    size_t nblocks = (n + 3) / 4;
    uint64_t limit = (uint64_t)(op->attr.rate * 0x1p32);

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < images * nblocks; i++) {
        size_t image = i / nblocks, block = i % nblocks, at = image * n + 4 * block;
        uint32_t words[4];

        rng_block(x->noise, op->attr.stream, (x->first + image) * nblocks + block, words);
        for (size_t k = 0; k < 4 && 4 * block + k < n; k++)
            dst[at + k] = words[k] >= limit ? src[at + k] * scale : 0;
    }
    return 0;
}

const struct kernel ref_dropout = {.kind = &dropout_kind, .run = ref_dropout_run};
