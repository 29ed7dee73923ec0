/* SPDX-License-Identifier: BSD-3-Clause */
/* The tensor-core convolutions (conv/mma_tile.h), emulated, against plain sums in double: all pairs
 * of channels in and out that have a kernel (images: an odd number of channels in), odd sizes, each
 * prologue and kind of sums (not in all combinations), with guards around results. */
#include "config.h"

#include "trainer/backends/cuda/test/emulated.c"

#include "src/rng.h"
#include "t/tap.h"

#define SEED 9
#define GUARD 64 /* bytes of guards before and behind a result */

static uint64_t nstreams;
static unsigned nblocks = 3; /* of a launch */

/* ---- memory with guards */

struct guarded {
    unsigned char *memory;
    size_t nbytes;
};

static void *guard(struct guarded *g, size_t nbytes)
{
    g->nbytes = nbytes;
    g->memory = aligned_alloc(64, (nbytes + 2 * GUARD + 63) / 64 * 64);
    if (!g->memory)
        bail_out("out of memory");
    memset(g->memory, 0xa5, nbytes + 2 * GUARD);
    return g->memory + GUARD;
}

static bool is_whole(const struct guarded *g)
{
    for (size_t i = 0; i < GUARD; i++)
        if (g->memory[i] != 0xa5 || g->memory[GUARD + g->nbytes + i] != 0xa5)
            return false;
    return true;
}

static float value_of(uint16_t half)
{
    return bf16_low(half);
}

static float *random_floats(size_t n, float low, float high)
{
    float *p = malloc(n * sizeof *p);

    if (!p)
        bail_out("out of memory");
    for (size_t i = 0; i < n; i++)
        p[i] = low + (high - low) * (float)rng_uniform(SEED, nstreams, i);
    nstreams++;
    return p;
}

static uint16_t *random_halves(struct guarded *g, size_t n)
{
    uint16_t *p = guard(g, n * sizeof *p);

    for (size_t i = 0; i < n; i++)
        p[i] = (uint16_t)bf16_pair(2 * (float)rng_uniform(SEED, nstreams, i) - 1, 0);
    nstreams++;
    return p;
}

/* ---- a tensor in one or two parts */

struct field {
    unsigned images, height, width;
};

struct input {
    struct mma_source source;
    struct guarded x[2], g[2];
    float *coef[2];
};

static unsigned pixels_of(const struct field *f)
{
    return f->images * f->height * f->width;
}

static void fill_part(struct input *in, unsigned i, const struct field *f, unsigned channels,
                      enum mma_prologue prologue)
{
    struct mma_part *part = i ? &in->source.second : &in->source.first;
    size_t n = (size_t)pixels_of(f) * channels;

    in->coef[i] = random_floats(prologue == MMA_IMAGE ? n : MMA_PROLOGUE_ROWS * channels, -1, 1);
    *part = (struct mma_part){.channels = channels, .prologue = prologue};
    if (prologue == MMA_IMAGE) {
        part->image = in->coef[i];
        return;
    }
    part->x = random_halves(&in->x[i], n);
    part->g = prologue == MMA_NORM_GRAD ? random_halves(&in->g[i], n) : NULL;
    part->coef = in->coef[i];
}

/* Fills an input of one part with this prologue or, if split is not 0, of two parts: the first has
 * `split` channels and this prologue, the second has the other channels and MMA_PLAIN. */
static void fill(struct input *in, const struct field *f, unsigned channels, unsigned split,
                 enum mma_prologue prologue)
{
    *in = (struct input){.source = {{0}, {0}}};
    fill_part(in, 0, f, split ? split : channels, prologue);
    if (split)
        fill_part(in, 1, f, channels - split, MMA_PLAIN);
}

static void empty(struct input *in)
{
    for (unsigned i = 0; i < 2; i++) {
        free(in->x[i].memory);
        free(in->g[i].memory);
        free(in->coef[i]);
    }
}

/* Returns what the convolution reads; 0 outside of the image. */
static float input_at(const struct input *in, const struct field *f, unsigned image, unsigned y,
                      unsigned x, unsigned c)
{
    const struct mma_part *p = &in->source.first;

    if (y >= f->height || x >= f->width)
        return 0;
    if (c >= p->channels) {
        c -= p->channels;
        p = &in->source.second;
    }
    size_t at = (((size_t)image * f->height + y) * f->width + x) * p->channels + c;
    if (p->prologue == MMA_IMAGE)
        return value_of((uint16_t)bf16_pair(p->image[at], 0));
    float v = value_of(p->x[at]), k[MMA_PROLOGUE_ROWS];
    for (unsigned i = 0; i < MMA_PROLOGUE_ROWS; i++)
        k[i] = p->coef[i * p->channels + c];
    if (p->prologue == MMA_NORM_RELU)
        v = fmaxf(fmaf(k[0], v, k[1]), 0);
    if (p->prologue == MMA_NORM_GRAD)
        v = (fmaf(k[0], v, k[1]) > 0 ? k[2] * value_of(p->g[at]) : 0) + fmaf(k[3], v, k[4]);
    return value_of((uint16_t)bf16_pair(v, 0));
}

/* Returns the whole input, [pixels][channels]. */
static float *read_input(const struct input *in, const struct field *f)
{
    unsigned channels = in->source.first.channels + in->source.second.channels;
    float *all = malloc((size_t)pixels_of(f) * channels * sizeof *all);

    for (unsigned i = 0; all && i < pixels_of(f) * channels; i++) {
        unsigned p = i / channels;

        all[i] = input_at(in, f, p / f->width / f->height, p / f->width % f->height, p % f->width,
                          i % channels);
    }
    return all;
}

/* ---- plain sums */

static double rounded(float w)
{
    return (double)value_of((uint16_t)bf16_pair(w, 0));
}

/* Returns the neighbour of pixel p by a tap in all[pixels][channels]; NULL outside of the image. */
static const float *neighbour(const float *all, const struct field *f, unsigned channels,
                              unsigned p, unsigned tap)
{
    unsigned y = p / f->width % f->height + tap / 3 - 1, x = p % f->width + tap % 3 - 1;

    if (y >= f->height || x >= f->width)
        return NULL;
    return all + ((size_t)(p / f->width / f->height * f->height + y) * f->width + x) * channels;
}

/* Returns a number of a convolution with these weights. *size: the sum of the absolute values of
 * bias and products. */
static double convolve_at(const struct pack_args *w, const float *bias, const float *all,
                          const struct field *f, unsigned p, unsigned c, double *size)
{
    double sum = bias ? (double)bias[c] : 0;
    unsigned ci = w->in;

    *size = fabs(sum);
    for (unsigned tap = 0; tap < MMA_TAPS_3X3; tap++) {
        const float *v = neighbour(all, f, ci, p, tap);

        for (unsigned i = 0; v && i < ci; i++) {
            double product = (double)v[i] * rounded(w->w[c * w->w_out + i * w->w_in +
                                                         (w->flip ? MMA_TAPS_3X3 - 1 - tap : tap)]);

            sum += product;
            *size += fabs(product);
        }
    }
    return sum;
}

/* Returns the result that has a channel of a pixel, and its index there. */
static const struct mma_result *result_of(const struct mma_args *k, unsigned p, unsigned c,
                                          size_t *at)
{
    const struct mma_result *r = &k->first;

    if (c >= r->channels) {
        c -= r->channels;
        r = &k->second;
    }
    *at = (size_t)p * r->channels + c;
    return r;
}

static unsigned count_wrong(const struct mma_args *k, const struct pack_args *w,
                            const float *all, const struct field *f, unsigned co)
{
    unsigned nwrong = 0;

    for (unsigned i = 0; i < pixels_of(f) * co; i++) {
        size_t at;
        const struct mma_result *r = result_of(k, i / co, i % co, &at);
        double size, y = convolve_at(w, k->bias, all, f, i / co, i % co, &size);

        y = k->relu ? fmax(y, 0) : y;
        nwrong += !(fabs((double)value_of(r->y[at]) - y) <= 0x1p-8 * fabs(y) + 1e-6 * size);
    }
    return nwrong;
}

/* Compares the sums of all blocks with those of the numbers that were written. */
static unsigned count_wrong_sums(const struct mma_args *k, const struct field *f, unsigned co)
{
    unsigned nwrong = 0;

    for (unsigned c = 0; c < co; c++) {
        double sum[2] = {0}, size[2] = {0};

        for (unsigned p = 0; p < pixels_of(f); p++) {
            size_t at;
            const struct mma_result *r = result_of(k, p, c, &at);
            unsigned own = c < k->first.channels ? c : c - k->first.channels;
            float y = value_of(r->y[at]), x = k->sums_of == MMA_SQUARES ? y : value_of(r->x[at]);

            if (k->sums_of == MMA_NORM_SUMS &&
                !(fmaf(r->coef[own], x, r->coef[r->channels + own]) > 0))
                continue;
            sum[0] += (double)y;
            sum[1] += (double)y * (double)x;
            size[0] += fabs((double)y);
            size[1] += fabs((double)y * (double)x);
        }
        for (unsigned i = 0; i < 2; i++) {
            double got = 0;

            for (unsigned b = 0; b < nblocks; b++)
                got += k->sums[(2 * b + i) * co + c];
            nwrong += !(fabs(got - sum[i]) <= 1e-6 * size[i]);
        }
    }
    return nwrong;
}

/* ---- cases */

static const struct {
    unsigned in, out;
} channels[] = {{8, 8},   {8, 16},  {8, 32},  {8, 64},  {16, 8}, {16, 16},
                {16, 32}, {32, 16}, {32, 32}, {32, 64}, {64, 32}};
#define NCHANNELS (sizeof channels / sizeof *channels)

static const struct field fields[] = {{1, 8, 32}, {1, 9, 37}, {3, 3, 2}, {1, 1, 1}, {2, 19, 70}};
#define NFIELDS (sizeof fields / sizeof *fields)

struct output {
    struct guarded y[2], x[2], sums;
    float *coef[2];
};

static void prepare_result(struct mma_args *k, struct output *o, const struct field *f,
                           unsigned nchannels, unsigned split, enum mma_sums sums_of)
{
    *o = (struct output){.sums = {0}};
    for (unsigned i = 0; i < (split ? 2 : 1); i++) {
        struct mma_result *r = i ? &k->second : &k->first;
        unsigned n = !split ? nchannels : i ? nchannels - split : split;

        o->coef[i] = random_floats(2 * n, -1, 1);
        *r = (struct mma_result){guard(&o->y[i], (size_t)pixels_of(f) * n * 2), NULL, o->coef[i],
                                 n};
        if (sums_of == MMA_NORM_SUMS)
            r->x = random_halves(&o->x[i], (size_t)pixels_of(f) * n);
    }
    k->sums_of = sums_of;
    k->sums = guard(&o->sums, (size_t)2 * nblocks * nchannels * sizeof(double));
}

static bool result_is_whole(const struct output *o)
{
    return is_whole(&o->y[0]) && (!o->y[1].memory || is_whole(&o->y[1])) && is_whole(&o->sums);
}

static void release(struct output *o)
{
    for (unsigned i = 0; i < 2; i++) {
        free(o->y[i].memory);
        free(o->x[i].memory);
        free(o->coef[i]);
    }
    free(o->sums.memory);
}

/* Queues the packing of the weights, and returns them. */
static const void *pack_for(struct pack_args *w, struct guarded *packed, cudaStream_t queue)
{
    size_t nbytes = MMA_WEIGHT_BYTES((w->in + 7) / 8 * 8, w->out, w->taps);
    struct device d = {.stream = queue};

    w->order = PACK_MMA;
    w->count = (unsigned)nbytes / 4;
    w->packed = guard(packed, nbytes);
    cuda_pack(&d, *w);
    cuda_pack_flush(&d);
    return w->packed;
}

/* On a GPU with less shared memory than sm_80, what does not fit is not checked. */
static bool lacks_room(unsigned nresident)
{
    return nresident == 0 && emulate_room() < EMULATE_SHARED;
}

static void check_conv(unsigned ci, unsigned co, const struct field *f, enum mma_prologue prologue,
                       enum mma_sums sums, bool parts)
{
    if (lacks_room(mma_conv_resident(ci, co)))
        return;

    struct mma_args k = {.field = mma_field(f->images, f->height, f->width)};
    struct pack_args w = {.out = co, .taps = MMA_TAPS_3X3, .in = ci};
    struct input in;
    struct output out;
    struct guarded packed;
    cudaStream_t queue;
    float *weights = random_floats((size_t)9 * ci * co, -1, 1), *bias = random_floats(co, -1, 1);
    bool flip = nstreams % 2 && prologue != MMA_IMAGE;

    cudaStreamCreateWithFlags(&queue, 0);
    fill(&in, f, ci, parts && ci > 8 ? ci / 2 : 0, prologue);
    k.src = in.source;
    prepare_result(&k, &out, f, co, parts && co > 8 ? co / 2 : 0, sums);
    k.bias = nstreams % 3 ? bias : NULL;
    k.relu = nstreams % 5 < 2;
    w.w = weights;
    w.flip = flip;
    w.w_out = flip ? 9 : 9 * ci;
    w.w_in = flip ? 9 * co : 9;
    k.packed = pack_for(&w, &packed, queue);
    mma_conv_run(&k, nblocks, queue);
    cudaStreamSynchronize(queue);
    float *all = read_input(&in, f);
    unsigned nwrong = count_wrong(&k, &w, all, f, co);
    unsigned nsums = sums ? count_wrong_sums(&k, f, co) : 0;
    ok(nwrong == 0 && nsums == 0 && result_is_whole(&out) && is_whole(&packed),
       "%u to %u channels, %ux%ux%u, prologue %d, sums %d%s: %u numbers and %u sums wrong", ci, co,
       f->images, f->height, f->width, prologue, sums, parts ? ", in parts" : "", nwrong, nsums);
    cudaStreamDestroy(queue);
    free(all);
    free(weights);
    free(packed.memory);
    free(bias);
    empty(&in);
    release(&out);
}

/* Counts wrong numbers of dw[co][ci][9] and db[co], given act and d. */
static unsigned count_wrong_weights(const float *dw, const float *db, const float *act,
                                    const float *d, const struct field *f, unsigned ci, unsigned co,
                                    bool with_bias)
{
    unsigned nwrong = 0, n = co * ci * MMA_TAPS_3X3 + (with_bias ? co : 0);

    for (unsigned i = 0; i < n; i++) {
        bool is_bias = i >= co * ci * MMA_TAPS_3X3;
        unsigned o = is_bias ? i - co * ci * MMA_TAPS_3X3 : i / MMA_TAPS_3X3 / ci;
        double sum = 0, size = 0;

        for (unsigned p = 0; p < pixels_of(f); p++) {
            const float *x = is_bias ? NULL : neighbour(act, f, ci, p, i % MMA_TAPS_3X3);
            double product = (double)d[p * co + o] *
                             (is_bias ? 1 : x ? (double)x[i / MMA_TAPS_3X3 % ci] : 0);

            sum += product;
            size += fabs(product);
        }
        nwrong += !(fabs((double)(is_bias ? db[o] : dw[i]) - sum) <= 1e-6 * size);
    }
    return nwrong;
}

static void check_grad(unsigned ci, unsigned co, const struct field *f, enum mma_prologue prologue,
                       bool with_input, bool with_bias, bool parts)
{
    if (lacks_room(mma_grad_resident(ci, co)))
        return;

    struct mma_grad_args k = {.with_bias = with_bias};
    struct input d, act;
    struct output out;
    struct guarded gw, gb, gp, packed = {0};
    cudaStream_t queue;
    float *weights = random_floats((size_t)9 * ci * co, -1, 1);
    struct pack_args w = {.w = weights, .out = ci, .taps = MMA_TAPS_3X3, .w_out = 9,
                              .w_in = 9 * ci, .flip = 1, .in = co};
    float *dw = guard(&gw, (size_t)9 * ci * co * sizeof *dw), *db = guard(&gb, co * sizeof *db);

    cudaStreamCreateWithFlags(&queue, 0);
    k.input.field = mma_field(f->images, f->height, f->width);
    fill(&d, f, co, 0, prologue);
    fill(&act, f, ci, parts && ci > 8 ? ci / 2 : 0, ci < 8 ? MMA_IMAGE : MMA_NORM_RELU);
    prepare_result(&k.input, &out, f, ci, parts && ci > 8 ? ci / 2 : 0, MMA_NORM_SUMS);
    k.input.src = d.source;
    k.act = act.source;
    if (with_input)
        k.input.packed = pack_for(&w, &packed, queue);
    else
        k.input.first.y = NULL;
    k.partials = guard(&gp,
                       mma_grad_bytes(ci < 8 ? 8 : ci, co, nblocks, with_bias, MMA_TAPS_3X3));
    mma_grad_run(&k, nblocks, dw, with_bias ? db : NULL, queue);
    cudaStreamSynchronize(queue);
    float *all_d = read_input(&d, f), *all_act = read_input(&act, f);
    unsigned nwrong = with_input ? count_wrong(&k.input, &w, all_d, f, ci) : 0;
    unsigned nsums = with_input ? count_wrong_sums(&k.input, f, ci) : 0;
    unsigned nweights = count_wrong_weights(dw, db, all_act, all_d, f, ci, co, with_bias);
    ok(nwrong == 0 && nsums == 0 && nweights == 0 && result_is_whole(&out) && is_whole(&gw) &&
           is_whole(&gb) && is_whole(&gp),
       "gradients of %u to %u channels, %ux%ux%u, prologue %d%s%s%s: %u numbers, %u sums and %u "
       "weights "
       "wrong",
       ci, co, f->images, f->height, f->width, prologue, with_input ? "" : ", no input",
       with_bias ? "" : ", no bias", parts ? ", in parts" : "", nwrong, nsums, nweights);
    cudaStreamDestroy(queue);
    free(all_d);
    free(all_act);
    free(weights);
    free(packed.memory);
    free(gw.memory);
    free(gb.memory);
    free(gp.memory);
    empty(&d);
    empty(&act);
    release(&out);
}

/* ---- transposed */

/* Returns a number of the larger side, given x[pixels][ci] and w[ci][co][4]. */
static double transposed_at(const float *w, const float *bias, const float *x,
                            const struct field *f, unsigned ci, unsigned co, unsigned p, unsigned c,
                            double *size)
{
    unsigned width = 2 * f->width, column = p % width, row = p / width; /* rows of all images */
    const float *from = x + (size_t)(row / 2 * f->width + column / 2) * ci;
    double sum = (double)bias[c];

    *size = fabs(sum);
    for (unsigned i = 0; i < ci; i++) {
        double product = (double)from[i] *
                         rounded(w[(i * co + c) * 4 + row % 2 * 2 + column % 2]);

        sum += product;
        *size += fabs(product);
    }
    return sum;
}

static void check_transpose(unsigned ci, const struct field *f, enum mma_prologue prologue)
{
    if (lacks_room(mma_transpose_resident(ci, ci / 2)))
        return;

    unsigned co = ci / 2, nwrong = 0;
    struct field large = {f->images, 2 * f->height, 2 * f->width};
    struct mma_args k = {.field = mma_field(f->images, f->height, f->width)};
    struct input in;
    struct guarded gy, packed;
    cudaStream_t queue;
    float *w = random_floats((size_t)4 * ci * co, -1, 1), *bias = random_floats(co, -1, 1);
    struct pack_args p = {.w = w, .out = co, .taps = MMA_TAPS_2X2, .w_out = 4,
                              .w_in = 4 * co, .in = ci};
    uint16_t *y = guard(&gy, (size_t)pixels_of(&large) * co * 2);

    cudaStreamCreateWithFlags(&queue, 0);
    fill(&in, f, ci, 0, prologue);
    k.src = in.source;
    k.packed = pack_for(&p, &packed, queue);
    k.bias = bias;
    k.first = (struct mma_result){.y = y, .channels = co};
    mma_transpose_run(&k, nblocks, queue);
    cudaStreamSynchronize(queue);
    float *all = read_input(&in, f);
    for (unsigned i = 0; i < pixels_of(&large) * co; i++) {
        double size, want = transposed_at(w, bias, all, f, ci, co, i / co, i % co, &size);

        nwrong += !(fabs((double)value_of(y[i]) - want) <= 0x1p-8 * fabs(want) + 1e-6 * size);
    }
    ok(nwrong == 0 && is_whole(&gy),
       "transposed, %u to %u channels, %ux%ux%u, prologue %d: %u wrong",
       ci, co, f->images, f->height, f->width, prologue, nwrong);
    cudaStreamDestroy(queue);
    free(all);
    free(w);
    free(bias);
    free(packed.memory);
    free(gy.memory);
    empty(&in);
}

/* Returns the pixel of the larger side that belongs to a tap of pixel p. */
static unsigned large_pixel_of(const struct field *f, unsigned p, unsigned tap)
{
    return (2 * (p / f->width) + tap / 2) * 2 * f->width + 2 * (p % f->width) + tap % 2;
}

/* Count wrong numbers of dx[pixels][ci] (NULL: 0), and of dw[ci][co][4] with db[co]. */
static unsigned count_wrong_small(const uint16_t *dx, const float *w, const float *dy,
                                 const struct field *f, unsigned ci, unsigned co)
{
    unsigned nwrong = 0;

    for (unsigned i = 0; dx && i < pixels_of(f) * ci; i++) {
        double sum = 0, size = 0;

        for (unsigned k = 0; k < 4 * co; k++) {
            double product = (double)dy[(size_t)large_pixel_of(f, i / ci, k % 4) * co + k / 4] *
                             rounded(w[(i % ci * co + k / 4) * 4 + k % 4]);

            sum += product;
            size += fabs(product);
        }
        nwrong += !(fabs((double)value_of(dx[i]) - sum) <= 0x1p-8 * fabs(sum) + 1e-6 * size);
    }
    return nwrong;
}

static unsigned count_wrong_transpose_weights(const float *dw, const float *db, const float *x,
                                       const float *dy, const struct field *f, unsigned ci,
                                       unsigned co)
{
    unsigned nwrong = 0;

    for (unsigned i = 0; i < 4 * ci * co + co; i++) {
        unsigned o = i < 4 * ci * co ? i / 4 % co : i - 4 * ci * co;
        double sum = 0, size = 0;

        for (unsigned p = 0; p < pixels_of(f); p++)
            for (unsigned tap = 0; tap < 4; tap++) {
                double d = (double)dy[(size_t)large_pixel_of(f, p, tap) * co + o];

                d *= i >= 4 * ci * co ? 1 : tap == i % 4 ? (double)x[p * ci + i / 4 / co] : 0;
                sum += d;
                size += fabs(d);
            }
        nwrong += !(fabs((double)(i < 4 * ci * co ? dw[i] : db[o]) - sum) <= 1e-6 * size);
    }
    return nwrong;
}

static void check_grad_transpose(unsigned ci, const struct field *f, bool with_input)
{
    if (lacks_room(mma_grad_transpose_resident(ci, ci / 2)))
        return;

    unsigned co = ci / 2;
    struct field large = {f->images, 2 * f->height, 2 * f->width};
    struct mma_grad_args k = {.with_bias = true};
    struct input d, act;
    struct guarded gx, gw, gb, gp, packed;
    cudaStream_t queue;
    float *w = random_floats((size_t)4 * ci * co, -1, 1);
    struct pack_args p = {.w = w, .out = ci, .taps = MMA_TAPS_2X2, .w_out = 4 * co, .w_in = 4,
                              .in = co};
    uint16_t *dx = guard(&gx, (size_t)pixels_of(f) * ci * 2);
    float *dw = guard(&gw, (size_t)4 * ci * co * sizeof *dw), *db = guard(&gb, co * sizeof *db);

    cudaStreamCreateWithFlags(&queue, 0);
    fill(&d, &large, co, 0, MMA_PLAIN);
    fill(&act, f, ci, 0, MMA_NORM_RELU);
    k.input = (struct mma_args){.field = mma_field(f->images, f->height, f->width),
                                .src = d.source, .packed = pack_for(&p, &packed, queue),
                                .first = {.y = with_input ? dx : NULL, .channels = ci}};
    k.act = act.source;
    k.partials = guard(&gp, mma_grad_bytes(ci, co, nblocks, true, MMA_TAPS_2X2));
    mma_grad_transpose_run(&k, nblocks, dw, db, queue);
    cudaStreamSynchronize(queue);
    float *dy = read_input(&d, &large), *x = read_input(&act, f);
    unsigned nwrong = count_wrong_small(with_input ? dx : NULL, w, dy, f, ci, co);
    unsigned nweights = count_wrong_transpose_weights(dw, db, x, dy, f, ci, co);
    ok(nwrong == 0 && nweights == 0 && is_whole(&gx) && is_whole(&gw) && is_whole(&gb) &&
           is_whole(&gp),
       "its gradients%s, %u to %u channels, %ux%ux%u: %u numbers and %u weights wrong",
       with_input ? "" : ", no input", ci, co, f->images, f->height, f->width, nwrong, nweights);
    cudaStreamDestroy(queue);
    free(dy);
    free(x);
    free(w);
    free(packed.memory);
    free(gx.memory);
    free(gw.memory);
    free(gb.memory);
    free(gp.memory);
    empty(&d);
    empty(&act);
}

static void check_transposed(void)
{
    for (unsigned ci = 16; ci <= 64; ci *= 2)
        for (size_t i = 0; i < (ci > 32 ? 3 : NFIELDS); i++) {
            check_transpose(ci, &fields[i], i % 2 ? MMA_NORM_RELU : MMA_PLAIN);
            check_grad_transpose(ci, &fields[i], i != 2);
        }
    ok(!mma_transpose_resident(16, 16) && !mma_transpose_resident(128, 64) &&
           !mma_grad_transpose_resident(128, 64),
       "transposed, other channels have none");
}

/* A GPU with 99 KiB of shared memory, as sm_86 and sm_89 have, has room for fewer kernels. */
static void check_small_gpu(void)
{
    emulate_most_shared = (size_t)99 << 10;
    for (size_t i = 0; i < NCHANNELS; i++) {
        unsigned in = channels[i].in, out = channels[i].out;
        bool conv = out <= 32 || in == 8, back = in <= 32 && out <= 32 && !(in == 32 && out == 16);

        ok((mma_conv_resident(in, out) > 0) == conv &&
               (mma_grad_resident(in, out) > 0) == back,
           "with 99 KiB: %u to %u channels: %s", in, out,
           back   ? "all"
           : conv ? "forward"
                  : "nothing");
        if (conv)
            check_conv(in, out, &fields[1], MMA_NORM_RELU, MMA_SQUARES, false);
        if (back)
            check_grad(in, out, &fields[1], MMA_NORM_GRAD, true, true, false);
    }
    emulate_most_shared = EMULATE_SHARED;
    is_int(cuda_fit(4, (size_t)64 << 10), 2, "as many blocks as there is room for");
    emulate_most_shared = 0;
}

int main(void)
{
    if (!cuda_has_bf16())
        skip_all("this GPU has no tensor cores for bfloat16");
    check_transposed();
    check_small_gpu();
    for (size_t i = 0; i < NCHANNELS; i++) {
        unsigned in = channels[i].in, out = channels[i].out;

        for (size_t j = 0; j < (in * out > 256 ? 2 : NFIELDS); j++)
            check_conv(in, out, &fields[j], j % 2 ? MMA_NORM_RELU : MMA_PLAIN,
                       (enum mma_sums)((j + 1) % 3), j % 2);
        check_conv(in, out, &fields[2], MMA_NORM_RELU, MMA_NORM_SUMS, true);
        check_conv(in, out, &fields[2], MMA_PLAIN, MMA_SQUARES, false);
        for (size_t j = 0; j < (in * out > 256 ? 2 : NFIELDS); j++)
            check_grad(in, out, &fields[j], j % 2 ? MMA_NORM_GRAD : MMA_PLAIN, true, true,
                       j % 2);
        check_grad(in, out, &fields[2], MMA_NORM_GRAD, false, false, false);
    }
    for (unsigned n = 1; n < 8; n += 2)
        for (unsigned out = 8; out <= 64; out *= 2) {
            check_conv(n, out, &fields[1 + n % 3], MMA_IMAGE, MMA_SQUARES, false);
            check_grad(n, out, &fields[1 + n % 3], MMA_NORM_GRAD, false, n % 4 == 1, false);
        }
    nblocks = 20; /* more than there are tiles, and than a reduction has rows */
    for (unsigned out = 8; out <= 64; out *= 2) {
        check_conv(3, out, &fields[NFIELDS - 1], MMA_IMAGE, MMA_SQUARES, false);
        check_grad(3, out, &fields[NFIELDS - 1], MMA_PLAIN, false, true, false);
    }
    ok(!mma_conv_resident(16, 64) && !mma_conv_resident(24, 24) &&
           !mma_conv_resident(64, 128) && !mma_conv_resident(64, 64) &&
           !mma_grad_resident(64, 64) && !mma_grad_resident(32, 8) && !mma_conv_resident(8, 4),
       "other channels have none");
    return done_testing();
}
