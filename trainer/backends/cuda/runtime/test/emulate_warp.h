/* SPDX-License-Identifier: BSD-3-Clause */
/* The primitives of warp.h, emulated on the CPU. An operation of a warp is done once, when its last
 * thread arrives; a copy into shared memory arrives as late as it may. */
#ifndef UNETCTL_TRAINER_BACKENDS_CUDA_RUNTIME_TEST_EMULATE_WARP_H
#define UNETCTL_TRAINER_BACKENDS_CUDA_RUNTIME_TEST_EMULATE_WARP_H

#ifndef GPU_EMULATE
#define GPU_EMULATE
#endif
#include "trainer/backends/cuda/runtime/gpu.h"

#define EMULATE_COPIES 256 /* copies that a thread may have in flight */

static inline float bf16_high(unsigned pair)
{
    float value;

    pair &= 0xffff0000u;
    memcpy(&value, &pair, sizeof value);
    return value;
}

static inline float bf16_low(unsigned pair)
{
    return bf16_high(pair << 16);
}

/* Rounds to nearest, ties to even. */
static inline unsigned emulate_round_bf16(float value)
{
    unsigned bits;

    memcpy(&bits, &value, sizeof bits);
    return value != value ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static inline unsigned bf16_pair(float low, float high)
{
    return emulate_round_bf16(low) | emulate_round_bf16(high) << 16;
}

static inline void emulate_check_aligned(const void *p, unsigned nbytes)
{
    if ((uintptr_t)p % nbytes) {
        fprintf(stderr, "emulate: %u bytes at an odd address: %p\n", nbytes, p);
        exit(1);
    }
}

static inline struct gpu16 gpu16_load(const void *src)
{
    struct gpu16 v;

    emulate_check_aligned(src, 16);
    memcpy(&v, src, sizeof v);
    return v;
}

static inline void gpu16_store(void *dst, struct gpu16 v)
{
    emulate_check_aligned(dst, 16);
    memcpy(dst, &v, sizeof v);
}

static inline void gpu8_load(unsigned *dst, const void *src)
{
    emulate_check_aligned(src, 8);
    memcpy(dst, src, 8);
}

static inline void gpu8_store(void *dst, const unsigned *src)
{
    emulate_check_aligned(dst, 8);
    memcpy(dst, src, 8);
}

/* ---- copies */

static struct emulate_copy {
    void *dst;
    const void *src; /* NULL: zeros */
} emulate_copies[EMULATE_THREADS][EMULATE_COPIES];
static unsigned emulate_ncopies[EMULATE_THREADS];

static inline void async_copy(void *dst, const void *src, bool real)
{
    unsigned *n = &emulate_ncopies[threadIdx.x];

    emulate_check_aligned(dst, 16);
    emulate_check_aligned(src, 16);
    if (*n == EMULATE_COPIES) {
        fprintf(stderr, "emulate: more than %u copies of a thread\n", *n);
        exit(1);
    }
    memset(dst, 0xff, 16);
    emulate_copies[threadIdx.x][(*n)++] = (struct emulate_copy){dst, real ? src : NULL};
}

static inline void async_wait(void)
{
    unsigned t = threadIdx.x;

    for (unsigned i = 0; i < emulate_ncopies[t]; i++)
        if (emulate_copies[t][i].src)
            memcpy(emulate_copies[t][i].dst, emulate_copies[t][i].src, 16);
        else
            memset(emulate_copies[t][i].dst, 0, 16);
    emulate_ncopies[t] = 0;
}

/* ---- operations of a warp */

enum emulate_word { EMULATE_SYNC, EMULATE_LOAD, EMULATE_LOAD_TRANSPOSED, EMULATE_MULTIPLY };

static struct emulate_lane {
    enum emulate_word word;
    unsigned *r;
    const unsigned char *row;
    float *d;
    const unsigned *a, *b;
} emulate_lanes[EMULATE_THREADS];
static unsigned emulate_narrived[EMULATE_THREADS / EMULATE_WARP];

static inline unsigned emulate_half(const unsigned char *row, unsigned i)
{
    uint16_t value;

    memcpy(&value, row + 2 * i, sizeof value);
    return value;
}

static void emulate_do_load(struct emulate_lane *lanes, bool transposed)
{
    for (unsigned l = 0; l < EMULATE_WARP; l++)
        emulate_check_aligned(lanes[l].row, 16);
    for (unsigned l = 0; l < EMULATE_WARP; l++)
        for (unsigned i = 0; i < 4; i++) {
            unsigned row = l / 4, column = l % 4 * 2;
            const struct emulate_lane *m = lanes + 8 * i;

            lanes[l].r[i] = transposed ? emulate_half(m[column].row, row) |
                                             emulate_half(m[column + 1].row, row) << 16
                                       : emulate_half(m[row].row, column) |
                                             emulate_half(m[row].row, column + 1) << 16;
        }
}

/* Added to products, in tests that a wrong GPU is noticed; EMULATE_SPOILED. */
static float emulate_spoiled;

__attribute__((constructor)) static void emulate_read_spoiled(void)
{
    const char *text = getenv("EMULATE_SPOILED");

    emulate_spoiled = text ? strtof(text, NULL) : 0;
}

static void emulate_do_multiply(struct emulate_lane *lanes)
{
    float a[16][16], b[16][8];

    for (unsigned l = 0; l < EMULATE_WARP; l++)
        for (unsigned i = 0; i < 4; i++) {
            unsigned row = l / 4, column = l % 4 * 2, up = i / 2 * 8;

            a[row + i % 2 * 8][column + up] = bf16_low(lanes[l].a[i]);
            a[row + i % 2 * 8][column + up + 1] = bf16_high(lanes[l].a[i]);
            if (i < 2) {
                b[column + 8 * i][row] = bf16_low(lanes[l].b[i]);
                b[column + 8 * i + 1][row] = bf16_high(lanes[l].b[i]);
            }
        }
    for (unsigned l = 0; l < EMULATE_WARP; l++)
        for (unsigned i = 0; i < 4; i++) {
            lanes[l].d[i] += emulate_spoiled;
            for (unsigned k = 0; k < 16; k++)
                lanes[l].d[i] += a[l / 4 + i / 2 * 8][k] * b[k][l % 4 * 2 + i % 2];
        }
}

static void emulate_warp(struct emulate_lane lane)
{
    unsigned t = threadIdx.x, warp = t / EMULATE_WARP;
    struct emulate_lane *lanes = emulate_lanes + warp * EMULATE_WARP;

    emulate_lanes[t] = lane;
    if (++emulate_narrived[warp] < EMULATE_WARP) {
        emulate_wait();
        return;
    }
    for (unsigned l = 0; l < EMULATE_WARP; l++)
        if (lanes[l].word != lane.word) {
            fprintf(stderr, "emulate: the threads of a warp do different things\n");
            exit(1);
        }
    if (lane.word == EMULATE_MULTIPLY)
        emulate_do_multiply(lanes);
    else if (lane.word != EMULATE_SYNC)
        emulate_do_load(lanes, lane.word == EMULATE_LOAD_TRANSPOSED);
    emulate_narrived[warp] = 0;
    emulate_release(warp * EMULATE_WARP, EMULATE_WARP);
}

static inline void warp_sync(void)
{
    emulate_warp((struct emulate_lane){.word = EMULATE_SYNC});
}

static inline void warp_load(unsigned *r, const void *row)
{
    emulate_warp((struct emulate_lane){.word = EMULATE_LOAD, .r = r, .row = row});
}

static inline void warp_load_transposed(unsigned *r, const void *row)
{
    emulate_warp((struct emulate_lane){.word = EMULATE_LOAD_TRANSPOSED, .r = r, .row = row});
}

static inline void warp_multiply(float *d, const unsigned *a, const unsigned *b)
{
    emulate_warp((struct emulate_lane){.word = EMULATE_MULTIPLY, .d = d, .a = a, .b = b});
}

#endif
