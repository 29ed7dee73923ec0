/* SPDX-License-Identifier: BSD-3-Clause */
/* dw[tap][in][out] is the sum over pixels p of act[p][in] d[p - tap][out]: d has the pixels around its
 * tile anyway, for the input's gradient, and act needs none. As matrices: rows are chunks of d of one
 * tap each, columns are channels of act, and what is added up are pixels. The warps share the rows
 * (`groups` of them), and the rows of pixels. */
#include "config.h"
#include "trainer/backends/cuda/narrow_back.h"

/* Two tiles at a time, where they fit beside the weights. */
#define BACK_STAGES(co) ((co) < 32 ? 2 : 1)
#define BACK_TILE_BYTES(ci, co) (2 * NARROW_HALO_BYTES(co) + NARROW_INNER_BYTES(ci))
#define ROW_PARTS(co) ((NARROW_TAPS * (co) / 8 + 1) / 2) /* 16 rows each */
#define WEIGHTS(ci, co) (ROW_PARTS(co) * 16 * (ci))      /* padded: sums that one group has */
#define BACK_BYTES(ci, co)                                                            \
    (NARROW_WEIGHT_BYTES(co, ci) + BACK_STAGES(co) * BACK_TILE_BYTES(ci, co) +        \
     TILE_WARPS * NARROW_STAGE_BYTES(ci))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

/* A tile as it lies in shared memory. */
struct back_tile {
    unsigned char *x, *g, *act;
};

INLINE_DEVICE struct back_tile back_tile(unsigned char *tiles, unsigned stage, const unsigned ci,
                                         const unsigned co)
{
    struct back_tile t;

    t.x = tiles + stage * BACK_TILE_BYTES(ci, co);
    t.g = t.x + NARROW_HALO_BYTES(co);
    t.act = t.g + NARROW_HALO_BYTES(co);
    return t;
}

INLINE_DEVICE void back_fetch(const struct narrow_back_args *k, unsigned tile, struct back_tile t,
                              const unsigned ci, const unsigned co)
{
    struct narrow_place p = narrow_place(&k->input.field, tile);

    narrow_fetch(&k->input.src, &k->input.field, p, t.x, t.g, co / 8, NARROW_PITCH, NARROW_ROWS + 2, 1,
                 NARROW_PLANE(NARROW_HALO, co / 8));
    narrow_fetch(&k->act, &k->input.field, p, t.act, NULL, ci / 8, NARROW_COLUMNS, NARROW_ROWS, 0,
                 NARROW_PLANE(NARROW_PIXELS, ci / 8));
}

INLINE_DEVICE void back_form(const struct narrow_back_args *k, struct narrow_place p,
                             struct back_tile t, const unsigned ci, const unsigned co)
{
    narrow_form(&k->input.src, &k->input.field, p, t.x, t.g, co / 8, NARROW_PITCH, NARROW_ROWS + 2, 1,
                NARROW_PLANE(NARROW_HALO, co / 8));
    narrow_form(&k->act, &k->input.field, p, t.act, NULL, ci / 8, NARROW_COLUMNS, NARROW_ROWS, 0,
                NARROW_PLANE(NARROW_PIXELS, ci / 8));
}

/* Where this lane's rows of the matrix parts lie in d, for the tile's first pixels. */
INLINE_DEVICE void back_places(unsigned *at, const unsigned co, const unsigned groups)
{
    const unsigned out = co / 8, last = NARROW_TAPS * out - 1;
    unsigned lane = threadIdx.x % WARP, group = threadIdx.x / WARP % groups;

    UNROLL
    for (unsigned i = 0; i < NARROW_MAX_M; i++) {
        unsigned q = (group + i * groups) * 2 + lane / 8 % 2, tap;

        q = q < last ? q : last;
        tap = q / out;
        at[i] = (q % out * NARROW_PLANE(NARROW_HALO, out) + (2 - tap / 3) * NARROW_PITCH + 2 - tap % 3 +
                 lane % 8 + lane / 16 * 8) * 16;
    }
}

/* Add a tile's products to sum[matrix part][chunk of act]. */
INLINE_DEVICE void back_weigh(float sum[NARROW_MAX_M][NARROW_MAX_CHUNKS][4], struct back_tile t,
                              const unsigned *at, const unsigned ci, const unsigned co,
                              const unsigned groups)
{
    const unsigned in = ci / 8, plane = NARROW_PLANE(NARROW_PIXELS, in);
    unsigned lane = threadIdx.x % WARP, group = threadIdx.x / WARP % groups;

    NO_UNROLL
    for (unsigned i = threadIdx.x / WARP / groups; i < NARROW_ROWS * 2; i += TILE_WARPS / groups) {
        unsigned row = i / 2, column = i % 2 * 16, b[2 * NARROW_MAX_CHUNKS + 2];
        const unsigned char *d = t.x + (row * NARROW_PITCH + column) * 16;

        UNROLL
        for (unsigned n = 0; n < in; n += 2) {
            unsigned chunk = n + (in > 1 ? lane / 16 : 0);

            warp_load_transposed(b + 2 * n, t.act + (chunk * plane + row * NARROW_COLUMNS + column +
                                                lane % 16) * 16);
        }
        UNROLL
        for (unsigned m = 0; m < (ROW_PARTS(co) + groups - 1) / groups; m++) {
            unsigned a[4];

            if (group + m * groups >= ROW_PARTS(co))
                continue;
            warp_load_transposed(a, d + at[m]);
            UNROLL
            for (unsigned n = 0; n < in; n++)
                warp_multiply(sum[m][n], a, b + 2 * n);
        }
    }
}

/* The bias' gradient: the pixels of the tile itself. */
INLINE_DEVICE void back_add_bias(float *bias, const unsigned char *d, const unsigned co)
{
    const unsigned out = co / 8;

    NO_UNROLL
    for (unsigned i = threadIdx.x / out; i < NARROW_PIXELS; i += TILE_BLOCK / out) {
        struct gpu16 v = gpu16_load(
            d + (threadIdx.x % out * NARROW_PLANE(NARROW_HALO, out) +
                 (i / NARROW_COLUMNS + 1) * NARROW_PITCH + i % NARROW_COLUMNS + 1) * 16);

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
                                       const unsigned groups)
{
    unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    float *all = (float *)scratch, *dst = k->partials + (size_t)blockIdx.x * NARROW_TAPS * ci * co;

    for (unsigned turn = 0; turn < TILE_WARPS / groups; turn++) {
        BARRIER();
        if (warp / groups != turn)
            continue;
        UNROLL
        for (unsigned m = 0; m < (ROW_PARTS(co) + groups - 1) / groups; m++) {
            unsigned part = warp % groups + m * groups;

            if (part >= ROW_PARTS(co))
                continue;
            UNROLL
            for (unsigned n = 0; n < ci / 8; n++)
                UNROLL
                for (unsigned j = 0; j < 4; j++) {
                    float *p = all + (part * 16 + j / 2 * 8 + lane / 4) * ci + n * 8 + lane % 4 * 2 +
                               j % 2;

                    *p = sum[m][n][j] + (turn ? *p : 0);
                }
        }
    }
    BARRIER();
    for (unsigned i = threadIdx.x; i < NARROW_TAPS * ci * co; i += TILE_BLOCK)
        dst[i] = all[i];
}

INLINE_DEVICE void back_finish_bias(const struct narrow_back_args *k, const float *bias,
                                    unsigned char *scratch, const unsigned ci, const unsigned co)
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
        k->partials[(size_t)gridDim.x * NARROW_TAPS * ci * co + blockIdx.x * co + threadIdx.x] = sum;
    }
}

INLINE_DEVICE void narrow_back(const struct narrow_back_args *k, const unsigned ci, const unsigned co,
                               const unsigned groups, const bool whole)
{
    TILE_SHARED(shared);
    const struct narrow_args *input = &k->input;
    unsigned char *tiles = shared + (whole ? NARROW_WEIGHT_BYTES(co, ci) : 0);
    unsigned char *stage = tiles + BACK_STAGES(co) * BACK_TILE_BYTES(ci, co) +
                           threadIdx.x / WARP * NARROW_STAGE_BYTES(ci);
    struct narrow_totals totals = {{0}, {0}};
    float weights[NARROW_MAX_M][NARROW_MAX_CHUNKS][4] = {{{0}}}, bias[8] = {0};
    unsigned at[NARROW_MAX_M], turn = 0;

    back_places(at, co, groups);
    if (whole && input->first.y)
        narrow_pack(input->w, input->w_out, input->w_in, input->flip, shared, co, ci);
    if (blockIdx.x < input->field.ntiles)
        back_fetch(k, blockIdx.x, back_tile(tiles, 0, ci, co), ci, co);
    for (unsigned tile = blockIdx.x; tile < input->field.ntiles; tile += gridDim.x) {
        struct narrow_place p = narrow_place(&input->field, tile);
        struct back_tile t = back_tile(tiles, turn, ci, co);

        turn = BACK_STAGES(co) > 1 ? !turn : 0;
        async_wait();
        back_form(k, p, t, ci, co);
        BARRIER();
        if (BACK_STAGES(co) > 1 && tile + gridDim.x < input->field.ntiles)
            back_fetch(k, tile + gridDim.x, back_tile(tiles, turn, ci, co), ci, co);
        back_weigh(weights, t, at, ci, co, groups);
        if (k->with_bias)
            back_add_bias(bias, t.x, co);
        for (unsigned row = threadIdx.x / WARP; whole && input->first.y && row < NARROW_ROWS;
             row += TILE_WARPS) {
            float sum[2][NARROW_MAX_CHUNKS][4];

            narrow_multiply(sum, t.x, shared, row, co, ci);
            narrow_write(input, p, row, sum, stage, &totals, ci);
        }
        if (BACK_STAGES(co) == 1) {
            BARRIER();
            if (tile + gridDim.x < input->field.ntiles)
                back_fetch(k, tile + gridDim.x, t, ci, co);
        }
    }
    back_finish_weights(k, weights, shared, ci, co, groups);
    if (k->with_bias)
        back_finish_bias(k, bias, shared, ci, co);
    if (whole && input->first.y)
        narrow_finish_sums(input, &totals, shared, ci);
}

#define BACK(ci, co, groups, nblocks)                               \
    KERNEL_TILE(narrow_back_##ci##_##co, narrow_back_args, nblocks) \
    {                                                               \
        narrow_back(&k, ci, co, groups, true);                        \
    }

/* Blocks as narrow_back_resident has them. */
BACK(8, 8, 1, 2)
BACK(8, 16, 2, 2)
BACK(16, 8, 1, 2)
BACK(16, 16, 2, 2)
BACK(16, 32, 4, 1)
BACK(32, 16, 4, 1)
BACK(32, 32, 4, 1)
BACK(32, 64, 8, 1)
BACK(64, 32, 8, 1)

KERNEL_TILE(narrow_weights_64_64, narrow_back_args, 1)
{
    narrow_back(&k, 64, 64, 8, false);
}

/* Parts of the blocks to dw[out][in][tap] and db: each block takes neighbouring numbers, of which its
 * threads add up some of the parts each. */
#define GATHER_EACH 16
struct narrow_gather_args {
    const float *partials;
    float *dw, *db; /* db may be NULL */
    unsigned in, out, nparts;
};

KERNEL_BLOCK(narrow_gather, narrow_gather_args)
{
    SHARED double rows[GPU_BLOCK];
    unsigned i = blockIdx.x * GATHER_EACH + threadIdx.x % GATHER_EACH, nweights = NARROW_TAPS * k.in * k.out;
    unsigned n = i < nweights ? nweights : k.out, element = i < nweights ? i : i - nweights;
    const float *from = k.partials + (i < nweights ? 0 : (size_t)k.nparts * nweights) + element;
    double sum = 0;

    for (unsigned part = threadIdx.x / GATHER_EACH; element < n && part < k.nparts;
         part += GPU_BLOCK / GATHER_EACH)
        sum += (double)from[(size_t)part * n];
    rows[threadIdx.x] = sum;
    BARRIER();
    if (threadIdx.x >= GATHER_EACH || element >= n)
        return;
    for (unsigned row = 1; row < GPU_BLOCK / GATHER_EACH; row++)
        sum += rows[row * GATHER_EACH + threadIdx.x];
    if (i < nweights)
        k.dw[(element / k.in % k.out * k.in + element % k.in) * NARROW_TAPS + element / k.in / k.out] =
            (float)sum;
    else if (k.db)
        k.db[element] = (float)sum;
}

C_BEGIN

unsigned narrow_back_resident(unsigned in, unsigned out, bool with_input)
{
    bool is_power = in == 8 || in == 16 || in == 32 || in == 64;

    if (!is_power || (out != in && out != 2 * in && 2 * out != in) || out < 8 || out > 64 ||
        (in * out > 2048 && with_input))
        return 0;
    return in * out <= 256 ? 2 : 1;
}

size_t narrow_back_bytes(unsigned in, unsigned out, unsigned nblocks, bool with_bias)
{
    return (size_t)nblocks * (NARROW_TAPS * in + with_bias) * out * sizeof(float);
}

#define RUN_BACK(ci, co)                                                                            \
    if (in == (ci) && out == (co))                                                             \
    LAUNCH_TILE(narrow_back_##ci##_##co, nblocks,                                              \
                LARGER(BACK_BYTES(ci, co), LARGER(NARROW_SUM_BYTES, WEIGHTS(ci, co) * 4)), stream, *k)

void narrow_back_run(const struct narrow_back_args *k, unsigned nblocks, float *dw, float *db,
                     cudaStream_t stream)
{
    unsigned in = k->act.first.channels + k->act.second.channels;
    unsigned out = k->input.src.first.channels;
    struct narrow_gather_args g = {k->partials, dw, db, in, out, nblocks};

    RUN_BACK(8, 8);
    RUN_BACK(8, 16);
    RUN_BACK(16, 8);
    RUN_BACK(16, 16);
    RUN_BACK(16, 32);
    RUN_BACK(32, 16);
    RUN_BACK(32, 32);
    RUN_BACK(32, 64);
    RUN_BACK(64, 32);
    if (in == 64 && out == 64)
        LAUNCH_TILE(narrow_weights_64_64, nblocks,
                    LARGER(BACK_TILE_BYTES(64, 64), LARGER(NARROW_SUM_BYTES, WEIGHTS(64, 64) * 4)), stream,
                    *k);
    LAUNCH(narrow_gather, (NARROW_TAPS * in * out + (k->with_bias ? out : 0) + GATHER_EACH - 1) / GATHER_EACH,
           stream, g);
}

C_END
