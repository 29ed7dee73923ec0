/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolutions of few channels on tensor cores, 3x3, and 2x2 transposed with stride 2: bfloat16, NHWC,
 * sums in float, weights in float and rounded when they are read. Channels come in chunks of 8, which
 * are 16 bytes.
 *
 * A block makes tiles of 32 columns and some rows, one after the other. A tile and the pixels around it
 * lie in shared memory by chunks, chunk q of pixel p at (q * plane + p) * 16, so that eight neighbours
 * are read without bank conflicts. The next tile is fetched while this one is computed. On its way in
 * an input may be normalised (enum narrow_form), so that batch norm and ReLU cost no pass of their own;
 * on its way out a result's sums for the batch norm that follows are added up, in a fixed order. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_NARROW_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_NARROW_H

#include "trainer/backends/cuda/warp.h"

#define NARROW_COLUMNS 32
#define NARROW_ROWS 8
#define NARROW_PIXELS (NARROW_COLUMNS * NARROW_ROWS)
#define NARROW_PITCH (NARROW_COLUMNS + 2)
#define NARROW_HALO (NARROW_PITCH * (NARROW_ROWS + 2)) /* pixels of a tile and those around it */
#define NARROW_RESERVED 1024 /* bytes of shared memory that a block takes besides its own */
#define NARROW_TAPS 9 /* of 3x3 */
#define NARROW_UP_TAPS 4
#define NARROW_MAX_CHUNKS 8
#define NARROW_MAX_M 5 /* of the 16 x 8 parts of dw one above the other, that a warp adds up */
#define NARROW_FORM_ROWS 5

/* Coefficients per channel: coef[i * channels + c], of which each form takes its first ones. */
enum narrow_form {
    NARROW_PLAIN,    /* x */
    NARROW_NORM_RELU, /* max(0, k0 x + k1) */
    NARROW_NORM_GRAD, /* (k0 x + k1 > 0 ? k2 g : 0) + k3 x + k4: gradient of norm and ReLU on g */
    NARROW_IMAGE      /* floats, up to 8 channels of them, which become a chunk with zeros */
};

/* Neighbouring channels of all pixels, which are a tensor by themselves. */
struct narrow_part {
    const uint16_t *x, *g;
    const float *coef, *image; /* image: instead of x */
    unsigned channels;
    enum narrow_form form;
};

/* The first part's channels, then the second's: a concatenation that is never written. With one part
 * second.channels is 0. */
struct narrow_source {
    struct narrow_part first, second;
};

enum narrow_sums {
    NARROW_NO_SUMS,
    NARROW_SQUARES,  /* of y and y y */
    NARROW_NORM_SUMS /* of g and g x, g being y where k0 x + k1 > 0 and else 0 */
};

struct narrow_result {
    uint16_t *y;
    const uint16_t *x; /* NARROW_NORM_SUMS: same place as y */
    const float *coef;
    unsigned channels;
};

struct narrow_field {
    unsigned height, width, down, across, ntiles; /* tiles in a column and a row of an image; of all */
};

struct narrow_args {
    struct narrow_field field;
    struct narrow_source src;
    const float *w, *bias; /* w[out * w_out + in * w_in + tap]; bias may be NULL */
    unsigned w_out, w_in, flip; /* flip: taps from the last one */
    unsigned nw;                /* channels of the input that have weights: all but an image's zeros */
    struct narrow_result first, second; /* as in narrow_source */
    enum narrow_sums form;
    double *sums; /* [blocks][2][channels], of first and second together */
};

/* Bytes of shared memory. Planes differ by an odd number of 16 bytes, or by what keeps several chunks of
 * a pixel apart, modulo the 128 bytes that are read at a time. */
#define NARROW_PAD(chunks) ((chunks) == 1 ? 0 : (chunks) == 2 ? 4 : (chunks) == 4 ? 2 : 1)
#define NARROW_PLANE(n, chunks) ((n) / 8 * 8 + ((n) % 8 ? 8 : 0) + NARROW_PAD(chunks))
#define NARROW_STEPS(chunks, taps) (((taps) * (chunks) + 1) / 2) /* of 16 products */
#define NARROW_WEIGHT_BYTES(ci, co, taps) (NARROW_STEPS((ci) / 8, taps) * ((co) / 8) * WARP * 8)
#define NARROW_HALO_BYTES(c) ((c) / 8 * NARROW_PLANE(NARROW_HALO, (c) / 8) * 16)
#define NARROW_INNER_BYTES(c) ((c) / 8 * NARROW_PLANE(NARROW_PIXELS, (c) / 8) * 16)
#define NARROW_LARGE_BYTES(c) ((c) / 8 * NARROW_PLANE(4 * NARROW_PIXELS, (c) / 8) * 16)
#define NARROW_STAGE_BYTES(c) ((c) / 8 * NARROW_PLANE(NARROW_COLUMNS, (c) / 8) * 16) /* of a warp */
#define NARROW_SUM_BYTES (TILE_BLOCK * 16 * 4)

#if defined(__CUDACC__) || defined(GPU_EMULATE)

/* Pixels from a row of the small side to the next, in a tile: 3x3, or the larger side of 2x2. */
INLINE_DEVICE unsigned narrow_pitch(const unsigned taps)
{
    return taps == NARROW_TAPS ? NARROW_PITCH : 4 * NARROW_COLUMNS;
}

/* Pixels of a tile's plane. */
INLINE_DEVICE unsigned narrow_plane(const unsigned chunks, const unsigned taps)
{
    return taps == NARROW_TAPS ? NARROW_PLANE(NARROW_HALO, chunks) : NARROW_PLANE(4 * NARROW_PIXELS, chunks);
}

struct narrow_place {
    unsigned image, row, column; /* of a tile's first pixel */
};

INLINE_DEVICE struct narrow_place narrow_place(const struct narrow_field *f, unsigned tile)
{
    struct narrow_place p;

    p.column = tile % f->across * NARROW_COLUMNS;
    p.row = tile / f->across % f->down * NARROW_ROWS;
    p.image = tile / f->across / f->down;
    return p;
}

/* Pixel i of a tile with `around` pixels around it, `pitch` in a row. -1 wraps. */
INLINE_DEVICE bool narrow_pixel(const struct narrow_field *f, struct narrow_place p, unsigned i,
                                const unsigned pitch, const unsigned around, unsigned *pixel)
{
    unsigned y = p.row + i / pitch - around, x = p.column + i % pitch - around;

    *pixel = (p.image * f->height + y) * f->width + x;
    return y < f->height && x < f->width;
}

/* Part of the source that has the chunk, which becomes one of the part's. */
INLINE_DEVICE struct narrow_part narrow_part_of(const struct narrow_source *s, unsigned *chunk)
{
    unsigned split = s->first.channels / 8;

    if (*chunk < split)
        return s->first;
    *chunk -= split;
    return s->second;
}

INLINE_DEVICE void narrow_fetch_image(const struct narrow_part *part, const struct narrow_field *f,
                                      struct narrow_place p, unsigned char *x, const unsigned pitch,
                                      const unsigned rows, const unsigned around)
{
    NO_UNROLL
    for (unsigned i = threadIdx.x; i < pitch * rows; i += TILE_BLOCK) {
        unsigned pixel;
        bool real = narrow_pixel(f, p, i, pitch, around, &pixel);
        const float *from = part->image + (real ? (size_t)pixel * part->channels : 0);
        struct gpu16 v;

        UNROLL
        for (unsigned j = 0; j < 4; j++)
            v.word[j] = bf16_pair(real && 2 * j < part->channels ? from[2 * j] : 0,
                                  real && 2 * j + 1 < part->channels ? from[2 * j + 1] : 0);
        gpu16_store(x + i * 16, v);
    }
}

/* Begin to copy a tile: x, and g where the form has it. A thread's chunk is always the same. */
INLINE_DEVICE void narrow_fetch(const struct narrow_source *s, const struct narrow_field *f,
                                struct narrow_place p, unsigned char *x, unsigned char *g,
                                const unsigned chunks, const unsigned pitch, const unsigned rows,
                                const unsigned around, const unsigned plane)
{
    unsigned own = threadIdx.x % chunks, chunk = own;
    struct narrow_part part = narrow_part_of(s, &chunk);

    if (chunks == 1 && s->first.form == NARROW_IMAGE) {
        narrow_fetch_image(&s->first, f, p, x, pitch, rows, around);
        return;
    }
    NO_UNROLL
    for (unsigned i = threadIdx.x / chunks; i < pitch * rows; i += TILE_BLOCK / chunks) {
        unsigned pixel, at = (own * plane + i) * 16;
        bool real = narrow_pixel(f, p, i, pitch, around, &pixel);
        size_t from = real ? (size_t)pixel * part.channels + chunk * 8 : 0;

        async_copy(x + at, part.x + from, real);
        if (g && part.form == NARROW_NORM_GRAD)
            async_copy(g + at, part.g + from, real);
    }
}

/* Begin to copy the larger side of a 2x2 tile, of which f is the smaller one: in each row the even
 * columns first, so that a tap's pixels are neighbours. */
INLINE_DEVICE void narrow_fetch_large(const struct narrow_part *part, const struct narrow_field *f,
                                      struct narrow_place p, unsigned char *x, const unsigned chunks)
{
    unsigned own = threadIdx.x % chunks;

    NO_UNROLL
    for (unsigned i = threadIdx.x / chunks; i < 4 * NARROW_PIXELS; i += TILE_BLOCK / chunks) {
        unsigned row = i / (2 * NARROW_COLUMNS), column = i % (2 * NARROW_COLUMNS);
        unsigned y = 2 * p.row + row, z = 2 * p.column + column;
        bool real = y < 2 * f->height && z < 2 * f->width;
        size_t pixel = ((size_t)p.image * 2 * f->height + y) * 2 * f->width + z;
        unsigned at = own * narrow_plane(chunks, NARROW_UP_TAPS) + row * 2 * NARROW_COLUMNS +
                      column % 2 * NARROW_COLUMNS + column / 2;

        async_copy(x + at * 16, part->x + (real ? pixel * part->channels + own * 8 : 0), real);
    }
}

/* Of four channels. */
INLINE_DEVICE void narrow_coefficients(float k[][4], const float *coef, unsigned channels,
                                       const unsigned nrows)
{
    UNROLL
    for (unsigned r = 0; r < NARROW_FORM_ROWS; r++)
        UNROLL
        for (unsigned j = 0; j < 4; j++)
            k[r][j] = r < nrows ? coef[r * channels + j] : 0;
}

INLINE_DEVICE float narrow_norm_grad(float k[][4], const unsigned j, float x, float g)
{
    float y = fmaf(k[0][j], x, k[1][j]), a = y > 0 ? k[2][j] * g : 0;

    return a + fmaf(k[3][j], x, k[4][j]);
}

INLINE_DEVICE float narrow_norm_relu(float k[][4], const unsigned j, float x)
{
    return fmaxf(fmaf(k[0][j], x, k[1][j]), 0.f);
}

/* g is NULL for NARROW_NORM_RELU. */
INLINE_DEVICE void narrow_apply(float k[][4], unsigned *x, const unsigned *g)
{
    unsigned v[2], u[2];

    gpu8_load(v, x);
    if (g)
        gpu8_load(u, g);
    UNROLL
    for (unsigned j = 0; j < 2; j++) {
        float low = bf16_low(v[j]), high = bf16_high(v[j]);

        v[j] = g ? bf16_pair(narrow_norm_grad(k, 2 * j, low, bf16_low(u[j])),
                             narrow_norm_grad(k, 2 * j + 1, high, bf16_high(u[j])))
                 : bf16_pair(narrow_norm_relu(k, 2 * j, low), narrow_norm_relu(k, 2 * j + 1, high));
    }
    gpu8_store(x, v);
}

/* Once this thread's copies have arrived: give what they brought its form. Around an image stay zeros. */
INLINE_DEVICE void narrow_form(const struct narrow_source *s, const struct narrow_field *f,
                               struct narrow_place p, unsigned char *x, const unsigned char *g,
                               const unsigned chunks, const unsigned pitch, const unsigned rows,
                               const unsigned around, const unsigned plane)
{
    unsigned own = threadIdx.x % chunks, chunk = own, pixel;
    struct narrow_part part = narrow_part_of(s, &chunk);
    bool is_grad = g && part.form == NARROW_NORM_GRAD;
    bool has_coefficients = is_grad || part.form == NARROW_NORM_RELU;

    NO_UNROLL
    for (unsigned half = 0; half < 16 && has_coefficients; half += 8) {
        float k[NARROW_FORM_ROWS][4];

        narrow_coefficients(k, part.coef + chunk * 8 + half / 2, part.channels,
                            g && is_grad ? NARROW_FORM_ROWS : 2);
        NO_UNROLL
        for (unsigned i = threadIdx.x / chunks; i < pitch * rows; i += TILE_BLOCK / chunks) {
            unsigned at = (own * plane + i) * 16 + half;

            if (narrow_pixel(f, p, i, pitch, around, &pixel))
                narrow_apply(k, (unsigned *)(x + at), is_grad ? (const unsigned *)(g + at) : NULL);
        }
    }
}

/* Weights as the threads of a warp take them: words [step][chunk of the result][lane][2]. A step is two
 * chunks of the input, of a tap each; behind the last one are zeros. */
INLINE_DEVICE void narrow_pack(const struct narrow_args *k, unsigned char *packed, const unsigned ci,
                               const unsigned co, const unsigned taps)
{
    const unsigned in = ci / 8, out = co / 8;

    for (unsigned i = threadIdx.x; i < NARROW_STEPS(in, taps) * out * WARP * 2; i += TILE_BLOCK) {
        unsigned lane = i / 2 % WARP, chunk = i / 2 / WARP % out;
        unsigned q = i / 2 / WARP / out * 2 + i % 2, tap = q / in;
        unsigned c = q % in * 8 + lane % 4 * 2;
        const float *p = k->w + (chunk * 8 + lane / 4) * k->w_out + c * k->w_in +
                         (k->flip ? taps - 1 - tap : tap);
        bool real = q < taps * in;

        ((unsigned *)packed)[i] =
            bf16_pair(real && c < k->nw ? p[0] : 0, real && c + 1 < k->nw ? p[k->w_in] : 0);
    }
}

/* Where tap and chunk of step q's input lie from a pixel's first one. */
INLINE_DEVICE unsigned narrow_offset(const unsigned q, const unsigned chunks, const unsigned taps)
{
    const unsigned last = taps * chunks - 1, at = q < last ? q : last, tap = at / chunks;

    return at % chunks * narrow_plane(chunks, taps) +
           (taps == NARROW_TAPS ? tap / 3 * NARROW_PITCH + tap % 3 : tap * NARROW_COLUMNS);
}

/* A row of 32 pixels: sum[half of the row][chunk of the result], as warp_multiply has D. */
INLINE_DEVICE void narrow_multiply(float sum[2][NARROW_MAX_CHUNKS][4], const unsigned char *tile,
                                   const unsigned char *packed, unsigned row, const unsigned ci,
                                   const unsigned co, const unsigned taps)
{
    const unsigned in = ci / 8, out = co / 8;
    unsigned lane = threadIdx.x % WARP;
    const unsigned char *own = tile + (row * narrow_pitch(taps) + lane % 16) * 16;

    UNROLL
    for (unsigned half = 0; half < 2; half++)
        UNROLL
        for (unsigned n = 0; n < out; n++)
            UNROLL
            for (unsigned j = 0; j < 4; j++)
                sum[half][n][j] = 0;
    UNROLL
    for (unsigned step = 0; step < NARROW_STEPS(in, taps); step++) {
        const unsigned even = narrow_offset(2 * step, in, taps);
        const unsigned odd = narrow_offset(2 * step + 1, in, taps);
        const unsigned char *at = own + (lane < 16 ? even : odd) * 16;
        unsigned a[2][4];

        warp_load(a[0], at);
        warp_load(a[1], at + 16 * 16);
        UNROLL
        for (unsigned n = 0; n < out; n++) {
            const unsigned *b = (const unsigned *)packed + ((step * out + n) * WARP + lane) * 2;
            unsigned pair[2];

            pair[0] = b[0];
            pair[1] = b[1];
            warp_multiply(sum[0][n], a[0], pair);
            warp_multiply(sum[1][n], a[1], pair);
        }
    }
}

/* What a thread adds up of its chunk, from tile to tile. */
struct narrow_totals {
    float sum[8], product[8];
};

INLINE_DEVICE void narrow_add(struct narrow_totals *t, const unsigned j, float y, float x)
{
    t->sum[j] += y;
    t->product[j] = fmaf(y, x, t->product[j]);
}

/* A row of a tile to its tensor, by way of the warp's part of shared memory. */
INLINE_DEVICE void narrow_write(const struct narrow_args *k, struct narrow_place p, unsigned row,
                                float sum[2][NARROW_MAX_CHUNKS][4], unsigned char *stage,
                                struct narrow_totals *totals, const unsigned co)
{
    const unsigned out = co / 8, plane = NARROW_PLANE(NARROW_COLUMNS, out);
    unsigned lane = threadIdx.x % WARP, own = lane % out, chunk = own;
    bool is_first = chunk < k->first.channels / 8;
    uint16_t *y = is_first ? k->first.y : k->second.y;
    unsigned channels = is_first ? k->first.channels : k->second.channels;

    UNROLL
    for (unsigned n = 0; n < out; n++) {
        float low = k->bias ? k->bias[n * 8 + lane % 4 * 2] : 0;
        float high = k->bias ? k->bias[n * 8 + lane % 4 * 2 + 1] : 0;

        UNROLL
        for (unsigned half = 0; half < 4; half++) {
            const float *d = sum[half / 2][n] + half % 2 * 2;

            ((unsigned *)stage)[(n * plane + half * 8 + lane / 4) * 4 + lane % 4] =
                bf16_pair(d[0] + low, d[1] + high);
        }
    }
    chunk -= is_first ? 0 : k->first.channels / 8;
    warp_sync();
    NO_UNROLL
    for (unsigned i = lane / out; i < NARROW_COLUMNS; i += WARP / out) {
        size_t at = ((size_t)(p.image * k->field.height + p.row + row) * k->field.width + p.column + i) *
                        channels + chunk * 8;

        if (p.row + row >= k->field.height || p.column + i >= k->field.width)
            continue;
        struct gpu16 v = gpu16_load(stage + (own * plane + i) * 16);
        gpu16_store(y + at, v);
        if (k->form == NARROW_SQUARES) {
            UNROLL
            for (unsigned j = 0; j < 4; j++) {
                narrow_add(totals, 2 * j, bf16_low(v.word[j]), bf16_low(v.word[j]));
                narrow_add(totals, 2 * j + 1, bf16_high(v.word[j]), bf16_high(v.word[j]));
            }
        } else if (k->form == NARROW_NORM_SUMS) {
            struct gpu16 u = gpu16_load((is_first ? k->first.x : k->second.x) + at);
            const float *c = (is_first ? k->first.coef : k->second.coef) + chunk * 8;

            UNROLL
            for (unsigned j = 0; j < 4; j++) {
                float low = bf16_low(u.word[j]), high = bf16_high(u.word[j]);

                if (fmaf(c[2 * j], low, c[channels + 2 * j]) > 0)
                    narrow_add(totals, 2 * j, bf16_low(v.word[j]), low);
                if (fmaf(c[2 * j + 1], high, c[channels + 2 * j + 1]) > 0)
                    narrow_add(totals, 2 * j + 1, bf16_high(v.word[j]), high);
            }
        }
    }
    warp_sync();
}

/* The block's sums, in the order of its threads. scratch: NARROW_SUM_BYTES that nobody needs any more. */
INLINE_DEVICE void narrow_finish_sums(const struct narrow_args *k, const struct narrow_totals *totals,
                                      unsigned char *scratch, const unsigned co)
{
    float *values = (float *)scratch;

    if (k->form == NARROW_NO_SUMS)
        return;
    BARRIER();
    UNROLL
    for (unsigned j = 0; j < 8; j++) {
        values[j * TILE_BLOCK + threadIdx.x] = totals->sum[j];
        values[(8 + j) * TILE_BLOCK + threadIdx.x] = totals->product[j];
    }
    BARRIER();
    for (unsigned i = threadIdx.x; i < 2 * co; i += TILE_BLOCK) {
        unsigned c = i % co;
        const float *from = values + (i / co * 8 + c % 8) * TILE_BLOCK;
        double sum = 0;

        for (unsigned t = c / 8; t < TILE_BLOCK; t += co / 8)
            sum += (double)from[t];
        k->sums[blockIdx.x * 2 * co + i] = sum;
    }
}

#endif

/* Channels of the source as a kernel is made for them. */
static inline unsigned narrow_channels(const struct narrow_source *s)
{
    return s->first.form == NARROW_IMAGE ? 8 : s->first.channels + s->second.channels;
}

/* Of nblocks blocks with nbytes of shared memory each, how many a processor of this thread's GPU has room
 * for at a time; 0 where one is too large for it. */
#ifdef __CUDACC__
extern "C"
#endif
unsigned cuda_fit(unsigned nblocks, size_t nbytes);

/* Tiles of a tensor [images][height][width]. */
static inline struct narrow_field narrow_field(unsigned images, unsigned height, unsigned width)
{
    struct narrow_field f = {height, width, (height + NARROW_ROWS - 1) / NARROW_ROWS,
                             (width + NARROW_COLUMNS - 1) / NARROW_COLUMNS, 0};

    f.ntiles = images * f.down * f.across;
    return f;
}

#endif
