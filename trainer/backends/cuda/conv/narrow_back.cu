/* SPDX-License-Identifier: BSD-3-Clause */
/* dw[tap][in][out] is the sum over pixels p of act[p][in] d[p - tap][out]: d has the pixels around
 * its tile anyway, for the input's gradient, and act needs none. With 2x2 transposed d is the
 * larger side, and it is d[2 p + tap][out]. As matrices: rows are chunks of d of one tap each,
 * columns are channels of act, and what is added up are pixels. The warps share the rows (`groups`
 * of them), and the rows of pixels. */
#include "config.h"
#include "trainer/backends/cuda/runtime/cuda_kernel.h"
#include "trainer/backends/cuda/conv/narrow_back.h"

#include "trainer/backends/cuda/conv/narrow_gather.h"
#include "trainer/backends/cuda/conv/narrow_in.h"
#include "trainer/backends/cuda/conv/narrow_row.h"

/* Two tiles at a time, where they fit beside the weights. */
#define BACK_STAGES(co) ((co) < 32 ? 2 : 1)
#define D_BYTES(co, taps)                                                                          \
    ((taps) == NARROW_TAPS ? 2 * NARROW_HALO_BYTES(co) : NARROW_LARGE_BYTES(co))
#define BACK_TILE_BYTES(ci, co, taps) (D_BYTES(co, taps) + NARROW_INNER_BYTES(ci))
#define ROW_PARTS(co, taps) (((taps) * (co) / 8 + 1) / 2)         /* 16 rows each */
#define WEIGHTS(ci, co, taps) (ROW_PARTS(co, taps) * 16 * (ci)) /* padded: sums of one group */
#define BACK_BYTES(ci, co, taps)                                                             \
    (NARROW_WEIGHT_BYTES(co, ci, taps) + BACK_STAGES(co) * BACK_TILE_BYTES(ci, co, taps) +   \
     TILE_WARPS * NARROW_STAGE_BYTES(ci))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

/* What a kernel is made for. */
enum { RESULT_INPUT = 1, RESULT_WEIGHTS = 2, RESULT_BOTH = 3 };

/* A tile as it lies in shared memory. */
struct back_tile {
    unsigned char *x, *g, *act;
};

INLINE_DEVICE struct back_tile back_tile(unsigned char *tiles, unsigned stage, const unsigned ci,
                                         const unsigned co, const unsigned taps)
{
    struct back_tile t;

    t.x = tiles + stage * BACK_TILE_BYTES(ci, co, taps);
    t.g = t.x + NARROW_HALO_BYTES(co); /* with 3x3 */
    t.act = t.x + D_BYTES(co, taps);
    return t;
}

INLINE_DEVICE void back_fetch(const struct narrow_back_args *k, unsigned tile, struct back_tile t,
                              const unsigned ci, const unsigned co, const unsigned results,
                              const unsigned taps)
{
    struct narrow_place p = narrow_place(&k->input.field, tile);

    if (taps == NARROW_TAPS)
        narrow_in_fetch(&k->input.src, &k->input.field, p, t.x, t.g, co / 8, NARROW_PITCH,
                        NARROW_ROWS + 2, 1, NARROW_PLANE(NARROW_HALO, co / 8));
    else
        narrow_in_fetch_large(&k->input.src.first, &k->input.field, p, t.x, co / 8);
    if (results & RESULT_WEIGHTS)
        narrow_in_fetch(&k->act, &k->input.field, p, t.act, NULL, ci / 8, NARROW_COLUMNS,
                        NARROW_ROWS, 0, NARROW_PLANE(NARROW_PIXELS, ci / 8));
}

INLINE_DEVICE void back_form(const struct narrow_back_args *k, struct narrow_place p,
                             struct back_tile t, const unsigned ci, const unsigned co,
                             const unsigned results, const unsigned taps)
{
    if (taps == NARROW_TAPS)
        narrow_in_form(&k->input.src, &k->input.field, p, t.x, t.g, co / 8, NARROW_PITCH,
                       NARROW_ROWS + 2, 1, NARROW_PLANE(NARROW_HALO, co / 8));
    if (results & RESULT_WEIGHTS)
        narrow_in_form(&k->act, &k->input.field, p, t.act, NULL, ci / 8, NARROW_COLUMNS,
                       NARROW_ROWS, 0, NARROW_PLANE(NARROW_PIXELS, ci / 8));
}

/* Where this lane's rows of the matrix parts lie in d, for the tile's first pixels. */
INLINE_DEVICE void back_places(unsigned *at, const unsigned co, const unsigned groups,
                               const unsigned taps)
{
    const unsigned out = co / 8, last = taps * out - 1;
    unsigned lane = threadIdx.x % WARP, group = threadIdx.x / WARP % groups;

    UNROLL
    for (unsigned i = 0; i < NARROW_MAX_M; i++) {
        unsigned q = (group + i * groups) * 2 + lane / 8 % 2, tap;

        q = q < last ? q : last;
        tap = q / out;
        at[i] = (q % out * narrow_plane(out, taps) + lane % 8 + lane / 16 * 8 +
                 (taps == NARROW_TAPS ? (2 - tap / 3) * NARROW_PITCH + 2 - tap % 3
                                      : tap * NARROW_COLUMNS)) * 16;
    }
}

/* Add a tile's products to sum[matrix part][chunk of act]. */
INLINE_DEVICE void back_weigh(float sum[NARROW_MAX_M][NARROW_MAX_CHUNKS][4], struct back_tile t,
                              const unsigned *at, const unsigned ci, const unsigned co,
                              const unsigned groups, const unsigned taps)
{
    const unsigned in = ci / 8, plane = NARROW_PLANE(NARROW_PIXELS, in);
    unsigned lane = threadIdx.x % WARP, group = threadIdx.x / WARP % groups;

    NO_UNROLL
    for (unsigned i = threadIdx.x / WARP / groups; i < NARROW_ROWS * 2; i += TILE_WARPS / groups) {
        unsigned row = i / 2, column = i % 2 * 16, b[2 * NARROW_MAX_CHUNKS + 2];
        const unsigned char *d = t.x + (row * narrow_pitch(taps) + column) * 16;

        UNROLL
        for (unsigned n = 0; n < in; n += 2) {
            unsigned chunk = n + (in > 1 ? lane / 16 : 0);

            warp_load_transposed(b + 2 * n, t.act + (chunk * plane + row * NARROW_COLUMNS + column +
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

/* The bias' gradient: the pixels of the tile itself. */
INLINE_DEVICE void back_add_bias(float *bias, const unsigned char *d, const unsigned co,
                                 const unsigned taps)
{
    const unsigned out = co / 8, npixels = taps == NARROW_TAPS ? NARROW_PIXELS : 4 * NARROW_PIXELS;

    NO_UNROLL
    for (unsigned i = threadIdx.x / out; i < npixels; i += TILE_BLOCK / out) {
        unsigned at = taps == NARROW_TAPS
                          ? (i / NARROW_COLUMNS + 1) * NARROW_PITCH + i % NARROW_COLUMNS + 1 : i;
        struct gpu16 v =
            gpu16_load(d + (threadIdx.x % out * narrow_plane(out, taps) + at) * 16);

        UNROLL
        for (unsigned j = 0; j < 4; j++) {
            bias[2 * j] += bf16_low(v.word[j]);
            bias[2 * j + 1] += bf16_high(v.word[j]);
        }
    }
}

/* The block's part: of the warps with the same rows one after the other. */
INLINE_DEVICE void back_finish_weights(const struct narrow_back_args *k,
                                       float sum[NARROW_MAX_M][NARROW_MAX_CHUNKS][4],
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
                for (unsigned j = 0; j < 4; j++) {
                    float *p = all + (part * 16 + j / 2 * 8 + lane / 4) * ci + n * 8 +
                               lane % 4 * 2 + j % 2;

                    *p = sum[m][n][j] + (turn ? *p : 0);
                }
        }
    }
    BARRIER();
    for (unsigned i = threadIdx.x; i < taps * ci * co; i += TILE_BLOCK)
        dst[i] = all[i];
}

INLINE_DEVICE void back_finish_bias(const struct narrow_back_args *k, const float *bias,
                                    unsigned char *scratch, const unsigned ci, const unsigned co,
                                    const unsigned taps)
{
    float *values = (float *)scratch;

    BARRIER();
    UNROLL
    for (unsigned j = 0; j < 8; j++)
        values[j * TILE_BLOCK + threadIdx.x] = bias[j];
    BARRIER();
    if (threadIdx.x < co) {
        float sum = 0;

        for (unsigned t = threadIdx.x / 8; t < TILE_BLOCK; t += co / 8)
            sum += values[threadIdx.x % 8 * TILE_BLOCK + t];
        k->partials[(size_t)gridDim.x * taps * ci * co + blockIdx.x * co + threadIdx.x] = sum;
    }
}

INLINE_DEVICE void narrow_back(const struct narrow_back_args *k, const unsigned ci,
                               const unsigned co, const unsigned groups, const unsigned results,
                               const unsigned taps)
{
    TILE_SHARED(shared);
    const struct narrow_args *input = &k->input;
    unsigned char *tiles = shared +
                           (results & RESULT_INPUT ? NARROW_WEIGHT_BYTES(co, ci, taps) : 0);
    unsigned char *stage = tiles + BACK_STAGES(co) * BACK_TILE_BYTES(ci, co, taps) +
                           threadIdx.x / WARP * NARROW_STAGE_BYTES(ci);
    struct narrow_row_totals totals = {{0}, {0}};
    float weights[NARROW_MAX_M][NARROW_MAX_CHUNKS][4] = {{{0}}}, bias[8] = {0};
    unsigned at[NARROW_MAX_M], turn = 0;
    bool with_input = results & RESULT_INPUT && input->first.y;

    back_places(at, co, groups, taps);
    if (with_input)
        narrow_row_pack(input, shared, co, ci, taps);
    if (blockIdx.x < input->field.ntiles)
        back_fetch(k, blockIdx.x, back_tile(tiles, 0, ci, co, taps), ci, co, results, taps);
    for (unsigned tile = blockIdx.x; tile < input->field.ntiles; tile += gridDim.x) {
        struct narrow_place p = narrow_place(&input->field, tile);
        struct back_tile t = back_tile(tiles, turn, ci, co, taps);

        turn = BACK_STAGES(co) > 1 ? !turn : 0;
        async_wait();
        back_form(k, p, t, ci, co, results, taps);
        BARRIER();
        if (BACK_STAGES(co) > 1 && tile + gridDim.x < input->field.ntiles)
            back_fetch(k, tile + gridDim.x, back_tile(tiles, turn, ci, co, taps), ci, co, results,
                       taps);
        if (results & RESULT_WEIGHTS)
            back_weigh(weights, t, at, ci, co, groups, taps);
        if (results & RESULT_WEIGHTS && k->with_bias)
            back_add_bias(bias, t.x, co, taps);
        for (unsigned row = threadIdx.x / WARP; with_input && row < NARROW_ROWS;
             row += TILE_WARPS) {
            float sum[2][NARROW_MAX_CHUNKS][4];

            narrow_row_multiply(sum, t.x, shared, row, co, ci, taps);
            narrow_row_write(input, p, row, sum, stage, &totals, ci);
        }
        if (BACK_STAGES(co) == 1) {
            BARRIER();
            if (tile + gridDim.x < input->field.ntiles)
                back_fetch(k, tile + gridDim.x, t, ci, co, results, taps);
        }
    }
    if (results & RESULT_WEIGHTS)
        back_finish_weights(k, weights, shared, ci, co, groups, taps);
    if (results & RESULT_WEIGHTS && k->with_bias)
        back_finish_bias(k, bias, shared, ci, co, taps);
    if (with_input)
        narrow_row_finish_sums(input, &totals, shared, ci);
}

#define BACK(ci, co, groups, nblocks)                               \
    KERNEL_TILE(narrow_back_##ci##_##co, narrow_back_args, nblocks) \
    {                                                               \
        narrow_back(&k, ci, co, groups, RESULT_BOTH, NARROW_TAPS);  \
    }

/* Blocks as narrow_back_resident has them. */
BACK(8, 8, 1, 2)
BACK(8, 16, 2, 2)
BACK(8, 32, 4, 1)
BACK(8, 64, 8, 1)
BACK(16, 8, 1, 2)
BACK(16, 16, 2, 2)
BACK(16, 32, 4, 1)
BACK(32, 16, 4, 1)
BACK(32, 32, 4, 1)
BACK(32, 64, 8, 1)
BACK(64, 32, 8, 1)

KERNEL_TILE(narrow_weights_64_64, narrow_back_args, 1)
{
    narrow_back(&k, 64, 64, 8, RESULT_WEIGHTS, NARROW_TAPS);
}

#define BACK_UP(ci, co, groups, nblocks)                               \
    KERNEL_TILE(narrow_back_up_##ci##_##co, narrow_back_args, nblocks) \
    {                                                                  \
        narrow_back(&k, ci, co, groups, RESULT_BOTH, NARROW_UP_TAPS);  \
    }

/* Blocks as narrow_back_up_resident has them. */
BACK_UP(16, 8, 1, 2)
BACK_UP(32, 16, 2, 1)
BACK_UP(64, 32, 4, 1)

/* The input's gradient alone. */
#define BACK_UP_INPUT(ci, co, nblocks)                                  \
    KERNEL_TILE(narrow_down_##ci##_##co, narrow_back_args, nblocks)     \
    {                                                                   \
        narrow_back(&k, ci, co, 1, RESULT_INPUT, NARROW_UP_TAPS);       \
    }

BACK_UP_INPUT(16, 8, 2)
BACK_UP_INPUT(32, 16, 1)
BACK_UP_INPUT(64, 32, 1)

C_BEGIN

#define BACK_SHARED(ci, co, taps) \
    LARGER(BACK_BYTES(ci, co, taps), LARGER(NARROW_SUM_BYTES, WEIGHTS(ci, co, taps) * 4))
#define WEIGHTS_SHARED(ci, co)                                                                     \
    LARGER(BACK_TILE_BYTES(ci, co, NARROW_TAPS),                                                   \
           WEIGHTS(ci, co, NARROW_TAPS) * 4) /* of weights only */

unsigned narrow_back_resident(unsigned in, unsigned out, bool with_input)
{
    bool is_power = in == 8 || in == 16 || in == 32 || in == 64;
    bool is_first = in == 8 && (out == 32 || out == 64); /* of an image */

    if (!is_power || (out != in && out != 2 * in && 2 * out != in && !is_first) || out > 64 ||
        (in * out > 2048 && with_input))
        return 0;
    return cuda_fit(out < 8                        ? 0
                    : in * out <= 256 && !is_first ? 2
                                                   : 1,
                    in * out > 2048 ? WEIGHTS_SHARED(in, out) : BACK_SHARED(in, out, NARROW_TAPS));
}

size_t narrow_back_bytes(unsigned in, unsigned out, unsigned nblocks, bool with_bias, unsigned taps)
{
    return (size_t)nblocks * (taps * in + with_bias) * out * sizeof(float);
}

#define RUN_BACK(ci, co)                                                              \
    if (in == (ci) && out == (co))                                                    \
    LAUNCH_TILE(narrow_back_##ci##_##co, nblocks, BACK_SHARED(ci, co, NARROW_TAPS), stream, *k)

void narrow_back_run(const struct narrow_back_args *k, unsigned nblocks, float *dw, float *db,
                     cudaStream_t stream)
{
    unsigned in = narrow_channels(&k->act), out = k->input.src.first.channels;
    unsigned nw = k->act.first.form == NARROW_IMAGE ? k->act.first.channels : in;
    struct narrow_gather_args g = {k->partials, dw, k->with_bias ? db : NULL, in, out, nblocks, nw,
                                   NARROW_TAPS, nw * NARROW_TAPS, NARROW_TAPS};

    RUN_BACK(8, 8);
    RUN_BACK(8, 16);
    RUN_BACK(8, 32);
    RUN_BACK(8, 64);
    RUN_BACK(16, 8);
    RUN_BACK(16, 16);
    RUN_BACK(16, 32);
    RUN_BACK(32, 16);
    RUN_BACK(32, 32);
    RUN_BACK(32, 64);
    RUN_BACK(64, 32);
    if (in == 64 && out == 64)
        LAUNCH_TILE(narrow_weights_64_64, nblocks, WEIGHTS_SHARED(64, 64), stream, *k);
    narrow_gather(&g, stream);
}

unsigned narrow_back_up_resident(unsigned in, unsigned out)
{
    return cuda_fit(in != 2 * out || (in != 16 && in != 32 && in != 64) ? 0 : in == 16 ? 2 : 1,
                      BACK_SHARED(in, out, NARROW_UP_TAPS));
}

#define RUN_BACK_UP(ci, co)                                                                        \
    if (in == (ci) && out == (co))                                                                 \
    LAUNCH_TILE(narrow_back_up_##ci##_##co, nblocks, BACK_SHARED(ci, co, NARROW_UP_TAPS), stream,  \
                *k)

#define RUN_DOWN(ci, co)           \
    if (in == (ci) && out == (co)) \
    LAUNCH_TILE(narrow_down_##ci##_##co, nblocks, BACK_SHARED(ci, co, NARROW_UP_TAPS), stream, *k)

void narrow_back_up_run(const struct narrow_back_args *k, unsigned nblocks, float *dw, float *db,
                        cudaStream_t stream)
{
    unsigned in = narrow_channels(&k->act), out = k->input.src.first.channels;
    struct narrow_gather_args g = {k->partials, dw, k->with_bias ? db : NULL, in, out, nblocks, in,
                                   NARROW_UP_TAPS, NARROW_UP_TAPS, out * NARROW_UP_TAPS};

    if (!dw) {
        RUN_DOWN(16, 8);
        RUN_DOWN(32, 16);
        RUN_DOWN(64, 32);
        return;
    }
    RUN_BACK_UP(16, 8);
    RUN_BACK_UP(32, 16);
    RUN_BACK_UP(64, 32);
    narrow_gather(&g, stream);
}

C_END
