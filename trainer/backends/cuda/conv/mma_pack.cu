/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/conv/mma_pack.h"

/* Words [step][chunk of the result][lane][2]: pairs of channels of the input, as the threads of a
 * warp hold them (warp.h). A step is two pairs of a tap and a chunk of the input; an odd number of
 * pairs is padded with zeros. */
KERNEL(pack_weights, mma_pack_args)
{
    unsigned in = k.in / 8, out = k.out / 8, n = MMA_WEIGHT_BYTES(k.in, k.out, k.taps) / 4;

    for (unsigned i = gpu_index(); i < n; i += gpu_stride()) {
        unsigned lane = i / 2 % WARP, chunk = i / 2 / WARP % out;
        unsigned q = i / 2 / WARP / out * 2 + i % 2, tap = q / in;
        unsigned c = q % in * 8 + lane % 4 * 2;
        const float *p = k.w + (chunk * 8 + lane / 4) * k.w_out + c * k.w_in +
                         (k.flip ? k.taps - 1 - tap : tap);
        bool real = q < k.taps * in;

        k.packed[i] = bf16_pair(real && c < k.nw ? p[0] : 0,
                                real && c + 1 < k.nw ? p[k.w_in] : 0);
    }
}

C_BEGIN

void mma_pack(const struct mma_pack_args *k, cudaStream_t stream)
{
    LAUNCH(pack_weights, gpu_blocks(MMA_WEIGHT_BYTES(k->in, k->out, k->taps) / 4), stream, *k);
}

C_END
