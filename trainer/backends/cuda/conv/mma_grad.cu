/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients of convolutions on tensor cores (mma_tile.h). dw[tap][out][in] is the sum over pixels p
 * of act[p][in] d[p - tap][out]; of a transposed convolution, whose d is the larger side, of
 * act[p][in] d[2 p + tap][out]. Of 3x3 a tile of d includes the pixels around it, as both gradients
 * need them; a tile of act does not.
 *
 * As a product of matrices: the rows are pairs of a tap and a channel of d, the columns are
 * channels of act, and the inner dimension is pixels. The warps of a block form groups: a group
 * computes every groups-th tile of 16 rows, and the warps of a group share the pixels. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/cuda/conv/mma_grad.h"

#include "trainer/backends/cuda/conv/mma_reduce.h"
#include "trainer/backends/cuda/conv/mma_prologue.h"
#include "trainer/backends/cuda/conv/mma_row.h"

/* Tile buffers: 2 (double buffering) where both fit beside the weights. */
#define GRAD_STAGES(co) ((co) < 32 ? 2 : 1)
#define D_BYTES(co, taps)                                                                          \
    ((taps) == MMA_TAPS_3X3 ? 2 * MMA_HALO_BYTES(co) : MMA_LARGE_BYTES(co))
#define GRAD_TILE_BYTES(ci, co, taps) (D_BYTES(co, taps) + MMA_INNER_BYTES(ci))
#define ROW_PARTS(co, taps) (((taps) * (co) / 8 + 1) / 2)         /* tiles of 16 rows */
#define WEIGHTS(ci, co, taps) (ROW_PARTS(co, taps) * 16 * (ci)) /* padded to whole tiles of rows */
#define GRAD_BYTES(ci, co, taps)                                                             \
    (MMA_WEIGHT_BYTES(co, ci, taps) + GRAD_STAGES(co) * GRAD_TILE_BYTES(ci, co, taps) +   \
     TILE_WARPS * MMA_STAGING_BYTES(ci))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

/* A tile in shared memory. */
struct grad_tile {
    unsigned char *x, *g, *act;
};

INLINE_DEVICE struct grad_tile grad_tile(unsigned char *tiles, unsigned stage, const unsigned ci,
                                         const unsigned co, const unsigned taps)
{
    struct grad_tile t;

    t.x = tiles + stage * GRAD_TILE_BYTES(ci, co, taps);
    t.g = t.x + MMA_HALO_BYTES(co); /* only of 3x3 */
    t.act = t.x + D_BYTES(co, taps);
    return t;
}

INLINE_DEVICE void grad_fetch(const struct mma_grad_args *k, unsigned tile, struct grad_tile t,
                              const unsigned ci, const unsigned co, const unsigned taps)
{
    struct mma_position p = mma_position(&k->input.field, tile);

    if (taps == MMA_TAPS_3X3)
        mma_prologue_fetch(&k->input.src, &k->input.field, p, t.x, t.g, co / 8, MMA_PITCH,
                           MMA_ROWS + 2, 1, MMA_PLANE(MMA_HALO, co / 8));
    else
        mma_prologue_fetch_large(&k->input.src.first, &k->input.field, p, t.x, co / 8);
    mma_prologue_fetch(&k->act, &k->input.field, p, t.act, NULL, ci / 8, MMA_COLUMNS, MMA_ROWS, 0,
                       MMA_PLANE(MMA_PIXELS, ci / 8));
}

INLINE_DEVICE void grad_apply_prologue(const struct mma_grad_args *k, struct mma_position p,
                                       struct grad_tile t, const unsigned ci, const unsigned co,
                                       const unsigned taps)
{
    if (taps == MMA_TAPS_3X3)
        mma_prologue_apply(&k->input.src, &k->input.field, p, t.x, t.g, co / 8, MMA_PITCH,
                           MMA_ROWS + 2, 1, MMA_PLANE(MMA_HALO, co / 8));
    mma_prologue_apply(&k->act, &k->input.field, p, t.act, NULL, ci / 8, MMA_COLUMNS, MMA_ROWS, 0,
                       MMA_PLANE(MMA_PIXELS, ci / 8));
}

/* Sets at[i] to the address in d of this lane's row of the group's i-th tile of rows, for the first
 * pixels of a tile. */
INLINE_DEVICE void grad_offsets(unsigned *at, const unsigned co, const unsigned groups,
                               const unsigned taps)
{
    const unsigned out = co / 8, last = taps * out - 1;
    unsigned lane = threadIdx.x % WARP, group = threadIdx.x / WARP % groups;

    UNROLL
    for (unsigned i = 0; i < MMA_MAX_ROW_TILES; i++) {
        unsigned q = (group + i * groups) * 2 + lane / 8 % 2, tap;

        q = q < last ? q : last;
        tap = q / out;
        at[i] = (q % out * mma_plane(out, taps) + lane % 8 + lane / 16 * 8 +
                 (taps == MMA_TAPS_3X3 ? (2 - tap / 3) * MMA_PITCH + 2 - tap % 3
                                      : tap * MMA_COLUMNS)) * 16;
    }
}

/* Adds the products of a tile to sum[tile of rows][chunk of act]. */
INLINE_DEVICE void grad_multiply(float sum[MMA_MAX_ROW_TILES][MMA_MAX_CHUNKS][4],
                                 struct grad_tile t, const unsigned *at, const unsigned ci,
                                 const unsigned co, const unsigned groups, const unsigned taps)
{
    const unsigned in = ci / 8, plane = MMA_PLANE(MMA_PIXELS, in);
    unsigned lane = threadIdx.x % WARP, group = threadIdx.x / WARP % groups;

    NO_UNROLL
    for (unsigned i = threadIdx.x / WARP / groups; i < MMA_ROWS * 2; i += TILE_WARPS / groups) {
        unsigned row = i / 2, column = i % 2 * 16, b[2 * MMA_MAX_CHUNKS + 2];
        const unsigned char *d = t.x + (row * mma_pitch(taps) + column) * 16;

        UNROLL
        for (unsigned n = 0; n < in; n += 2) {
            unsigned chunk = n + (in > 1 ? lane / 16 : 0);

            warp_load_transposed(b + 2 * n, t.act + (chunk * plane + row * MMA_COLUMNS + column +
                                                lane % 16) * 16);
        }
        UNROLL
        for (unsigned m = 0; m < (ROW_PARTS(co, taps) + groups - 1) / groups; m++) {
            unsigned a[4];

            if (group + m * groups >= ROW_PARTS(co, taps))
                continue;
            warp_load_transposed(a, d + at[m]);
            UNROLL
            for (unsigned n = 0; n < in; n++)
                warp_multiply(sum[m][n], a, b + 2 * n);
        }
    }
}

/* Adds the pixels of a tile of d, without those around it, to the bias' gradient. */
INLINE_DEVICE void grad_add_bias(float *bias, const unsigned char *d, const unsigned co,
                                 const unsigned taps)
{
    const unsigned out = co / 8, npixels = taps == MMA_TAPS_3X3 ? MMA_PIXELS : 4 * MMA_PIXELS;

    NO_UNROLL
    for (unsigned i = threadIdx.x / out; i < npixels; i += TILE_BLOCK / out) {
        unsigned at = taps == MMA_TAPS_3X3
                          ? (i / MMA_COLUMNS + 1) * MMA_PITCH + i % MMA_COLUMNS + 1 : i;
        struct gpu16 v =
            gpu16_load(d + (threadIdx.x % out * mma_plane(out, taps) + at) * 16);

        UNROLL
        for (unsigned j = 0; j < 4; j++) {
            bias[2 * j] += bf16_low(v.word[j]);
            bias[2 * j + 1] += bf16_high(v.word[j]);
        }
    }
}

/* Two numbers of dw. */
struct __attribute__((aligned(8))) grad_pair {
    float v[2];
};

/* Returns the index of a number of dw in shared memory: the chunks of a row are exchanged so that
 * neighbouring rows, which a warp writes together, are in different banks. */
INLINE_DEVICE unsigned grad_index(unsigned row, unsigned column, const unsigned ci)
{
    const unsigned rows = ci < 32 ? 32 / ci : 1, chunks = ci < 32 ? ci / 8 : 4;

    return row * ci + (column ^ row / rows % chunks * 8);
}

/* Writes the block's partial gradient. The warps with the same rows add theirs one after the other,
 * which fixes the order. */
INLINE_DEVICE void grad_finish_weights(const struct mma_grad_args *k,
                                       float sum[MMA_MAX_ROW_TILES][MMA_MAX_CHUNKS][4],
                                       unsigned char *scratch, const unsigned ci, const unsigned co,
                                       const unsigned groups, const unsigned taps)
{
    unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    float *all = (float *)scratch, *dst = k->partials + (size_t)blockIdx.x * taps * ci * co;

    for (unsigned turn = 0; turn < TILE_WARPS / groups; turn++) {
        BARRIER();
        if (warp / groups != turn)
            continue;
        UNROLL
        for (unsigned m = 0; m < (ROW_PARTS(co, taps) + groups - 1) / groups; m++) {
            unsigned part = warp % groups + m * groups;

            if (part >= ROW_PARTS(co, taps))
                continue;
            UNROLL
            for (unsigned n = 0; n < ci / 8; n++)
                UNROLL
                for (unsigned j = 0; j < 2; j++) {
                    unsigned row = part * 16 + j * 8 + lane / 4, column = n * 8 + lane % 4 * 2;
                    struct grad_pair *p =
                        (struct grad_pair *)(all + grad_index(row, column, ci));
                    struct grad_pair v = {{sum[m][n][2 * j], sum[m][n][2 * j + 1]}};

                    if (turn) {
                        struct grad_pair before = *p;

                        v.v[0] += before.v[0];
                        v.v[1] += before.v[1];
                    }
                    *p = v;
                }
        }
    }
    BARRIER();
    for (unsigned i = threadIdx.x; i < taps * ci * co; i += TILE_BLOCK)
        dst[i] = all[grad_index(i / ci, i % ci, ci)];
}

INLINE_DEVICE void grad_finish_bias(const struct mma_grad_args *k, const float *bias,
                                    unsigned char *scratch, const unsigned ci, const unsigned co,
                                    const unsigned taps)
{
    const unsigned out = co / 8, pitch = gpu_rows_pitch(TILE_BLOCK, out);
    unsigned i = threadIdx.x;
    float *values = (float *)scratch;

    BARRIER();
    UNROLL
    for (unsigned j = 0; j < 8; j++)
        values[j * pitch + i] = bias[j];
    BARRIER();
    if (i < co)
        k->partials[(size_t)gridDim.x * taps * ci * co + blockIdx.x * co + i % out * 8 + i / out] =
            (float)gpu_rows_sum(values, pitch, i, out, TILE_BLOCK / out);
}

INLINE_DEVICE void mma_grad(const struct mma_grad_args *k, const unsigned ci, const unsigned co,
                            const unsigned groups, const unsigned taps)
{
    TILE_SHARED(shared);
    const struct mma_args *input = &k->input;
    unsigned char *tiles = shared + MMA_WEIGHT_BYTES(co, ci, taps);
    unsigned char *staging = tiles + GRAD_STAGES(co) * GRAD_TILE_BYTES(ci, co, taps) +
                           threadIdx.x / WARP * MMA_STAGING_BYTES(ci);
    struct mma_row_totals totals = {{0}, {0}};
    float weights[MMA_MAX_ROW_TILES][MMA_MAX_CHUNKS][4] = {{{0}}}, bias[8] = {0};
    unsigned at[MMA_MAX_ROW_TILES], turn = 0;
    bool with_input = input->first.y;

    grad_offsets(at, co, groups, taps);
    if (with_input && blockIdx.x < input->field.ntiles)
        mma_row_fetch_weights(input, shared, MMA_WEIGHT_BYTES(co, ci, taps));
    if (blockIdx.x < input->field.ntiles)
        grad_fetch(k, blockIdx.x, grad_tile(tiles, 0, ci, co, taps), ci, co, taps);
    for (unsigned tile = blockIdx.x; tile < input->field.ntiles; tile += gridDim.x) {
        struct mma_position p = mma_position(&input->field, tile);
        struct grad_tile t = grad_tile(tiles, turn, ci, co, taps);

        turn = GRAD_STAGES(co) > 1 ? !turn : 0;
        async_wait();
        BARRIER();
        grad_apply_prologue(k, p, t, ci, co, taps);
        BARRIER();
        if (GRAD_STAGES(co) > 1 && tile + gridDim.x < input->field.ntiles)
            grad_fetch(k, tile + gridDim.x, grad_tile(tiles, turn, ci, co, taps), ci, co, taps);
        grad_multiply(weights, t, at, ci, co, groups, taps);
        if (k->with_bias)
            grad_add_bias(bias, t.x, co, taps);
        for (unsigned row = threadIdx.x / WARP; with_input && row < MMA_ROWS;
             row += TILE_WARPS) {
            float sum[2][MMA_MAX_CHUNKS][4];

            mma_row_multiply(sum, t.x, shared, row, co, ci, taps);
            mma_row_write(input, p, row, sum, staging, &totals, ci);
        }
        if (GRAD_STAGES(co) == 1) {
            BARRIER();
            if (tile + gridDim.x < input->field.ntiles)
                grad_fetch(k, tile + gridDim.x, t, ci, co, taps);
        }
    }
    grad_finish_weights(k, weights, shared, ci, co, groups, taps);
    if (k->with_bias)
        grad_finish_bias(k, bias, shared, ci, co, taps);
    if (with_input)
        mma_row_finish_sums(input, &totals, shared, ci);
}

#define GRAD(ci, co, groups, nblocks)                         \
    KERNEL_TILE(mma_grad_##ci##_##co, mma_grad_args, nblocks) \
    {                                                         \
        mma_grad(&k, ci, co, groups, MMA_TAPS_3X3);           \
    }

/* The last argument is the most resident blocks that mma_grad_resident returns. */
GRAD(8, 8, 1, 2)
GRAD(8, 16, 2, 2)
GRAD(8, 32, 4, 1)
GRAD(8, 64, 8, 1)
GRAD(16, 8, 1, 2)
GRAD(16, 16, 2, 2)
GRAD(16, 32, 4, 1)
GRAD(32, 16, 4, 1)
GRAD(32, 32, 4, 1)
GRAD(32, 64, 8, 1)
GRAD(64, 32, 8, 1)

#define GRAD_TRANSPOSE(ci, co, groups, nblocks)                         \
    KERNEL_TILE(mma_grad_transpose_##ci##_##co, mma_grad_args, nblocks) \
    {                                                                   \
        mma_grad(&k, ci, co, groups, MMA_TAPS_2X2);                     \
    }

/* The last argument is the most resident blocks that mma_grad_transpose_resident returns. */
GRAD_TRANSPOSE(16, 8, 1, 2)
GRAD_TRANSPOSE(32, 16, 2, 1)
GRAD_TRANSPOSE(64, 32, 4, 1)

C_BEGIN

#define GRAD_SHARED(ci, co, taps) \
    LARGER(GRAD_BYTES(ci, co, taps), LARGER(MMA_SUM_BYTES, WEIGHTS(ci, co, taps) * 4))

unsigned mma_grad_resident(unsigned in, unsigned out)
{
    bool is_power = in == 8 || in == 16 || in == 32 || in == 64;
    bool is_first = in == 8 && (out == 32 || out == 64); /* of an image */

    if (!is_power || (out != in && out != 2 * in && 2 * out != in && !is_first) || out > 64 ||
        in * out > 2048)
        return 0;
    return cuda_fit(out < 8                        ? 0
                    : in * out <= 256 && !is_first ? 2
                                                   : 1,
                    GRAD_SHARED(in, out, MMA_TAPS_3X3));
}

size_t mma_grad_bytes(unsigned in, unsigned out, unsigned nblocks, bool with_bias, unsigned taps)
{
    return (size_t)nblocks * (taps * in + with_bias) * out * sizeof(float);
}

#define RUN_GRAD(ci, co)                                                              \
    if (in == (ci) && out == (co))                                                    \
    LAUNCH_TILE(mma_grad_##ci##_##co, nblocks, GRAD_SHARED(ci, co, MMA_TAPS_3X3), stream, *k)

void mma_grad_run(const struct mma_grad_args *k, unsigned nblocks, float *dw, float *db,
                  cudaStream_t stream)
{
    unsigned in = mma_channels(&k->act), out = k->input.src.first.channels;
    unsigned nw = k->act.first.prologue == MMA_IMAGE ? k->act.first.channels : in;
    struct mma_reduce_args g = {k->partials, dw, k->with_bias ? db : NULL, in, out, nblocks, nw,
                                MMA_TAPS_3X3, nw * MMA_TAPS_3X3, MMA_TAPS_3X3};

    RUN_GRAD(8, 8);
    RUN_GRAD(8, 16);
    RUN_GRAD(8, 32);
    RUN_GRAD(8, 64);
    RUN_GRAD(16, 8);
    RUN_GRAD(16, 16);
    RUN_GRAD(16, 32);
    RUN_GRAD(32, 16);
    RUN_GRAD(32, 32);
    RUN_GRAD(32, 64);
    RUN_GRAD(64, 32);
    mma_reduce(&g, stream);
}

unsigned mma_grad_transpose_resident(unsigned in, unsigned out)
{
    return cuda_fit(in != 2 * out || (in != 16 && in != 32 && in != 64) ? 0 : in == 16 ? 2 : 1,
                      GRAD_SHARED(in, out, MMA_TAPS_2X2));
}

#define RUN_GRAD_TRANSPOSE(ci, co)                                                              \
    if (in == (ci) && out == (co))                                                              \
    LAUNCH_TILE(mma_grad_transpose_##ci##_##co, nblocks, GRAD_SHARED(ci, co, MMA_TAPS_2X2),     \
                stream, *k)

void mma_grad_transpose_run(const struct mma_grad_args *k, unsigned nblocks, float *dw, float *db,
                            cudaStream_t stream)
{
    unsigned in = mma_channels(&k->act), out = k->input.src.first.channels;
    struct mma_reduce_args g = {k->partials, dw, k->with_bias ? db : NULL, in, out, nblocks, in,
                                MMA_TAPS_2X2, MMA_TAPS_2X2, out * MMA_TAPS_2X2};

    RUN_GRAD_TRANSPOSE(16, 8);
    RUN_GRAD_TRANSPOSE(32, 16);
    RUN_GRAD_TRANSPOSE(64, 32);
    mma_reduce(&g, stream);
}

C_END
