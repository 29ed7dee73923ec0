/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of all backends that this program contains, and the peak rates of a core. */
#include "src/base.h"
#include "trainer/backends/backends.h"

#include <math.h>

#include "src/clock.h"
#include "trainer/backends/cpu/simd_backend.h"
#include "trainer/backends/ref/ref.h"

#ifdef HAVE_CUDA
#include "trainer/backends/cuda/cuda_backend.h"
#endif

/* Measures the peak rates of one core (backends.h). */

#define CHAINS 12 /* independent, so that none waits for another */
#define TURNS 100000
#define ROUNDS 8
#define FLOATS ((size_t)8 << 20)

/* One function for each vector length. Vectors that are longer than the processor's take several
 * registers, and 12 of those do not fit. The result is used so that the compiler keeps the loop. */
#define MULTIPLY_ADD(lanes)                                               \
    VECTOR_CLONES static float multiply_add##lanes(long turns, float by)  \
    {                                                                     \
        typedef float vec __attribute__((vector_size((lanes) * 4)));      \
        vec sums[CHAINS], factor = {0}, sum = {0};                        \
        float total = 0;                                                  \
                                                                          \
        factor += by;                                                     \
        for (int i = 0; i < CHAINS; i++)                                  \
            sums[i] = factor * (float)i;                                  \
        for (long t = 0; t < turns; t++) {                                \
            _Pragma("GCC unroll 12")                                      \
            for (int i = 0; i < CHAINS; i++)                              \
                sums[i] = sums[i] * factor + factor;                      \
        }                                                                 \
        for (int i = 0; i < CHAINS; i++)                                  \
            sum += sums[i];                                               \
        for (int i = 0; i < (lanes); i++)                                 \
            total += sum[i];                                              \
        return total;                                                     \
    }

MULTIPLY_ADD(4)
MULTIPLY_ADD(8)
MULTIPLY_ADD(16)

double peak_flop(void)
{
    static const struct {
        float (*run)(long, float);
        double lanes;
    } widths[] = {{multiply_add4, 4}, {multiply_add8, 8}, {multiply_add16, 16}};
    double best = 0;
    volatile float sink = 0.5F;

    for (size_t i = 0; i < ROUNDS * sizeof widths / sizeof *widths; i++) {
        size_t w = i / ROUNDS;
        double began = clock_cpu();

        sink = widths[w].run(TURNS, 0.5F + 0 * sink);
        best = fmax(best, 2 * widths[w].lanes * CHAINS * TURNS / fmax(clock_cpu() - began, 1e-9));
    }
    return best;
}

VECTOR_CLONES static void triad(float *restrict a, const float *restrict b,
                                const float *restrict c, float s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + s * c[i];
}

double peak_bytes(void)
{
    float *a = calloc(3 * FLOATS, sizeof *a);
    double best = 0;

    if (!a)
        return 0;
    float *b = a + FLOATS, *c = b + FLOATS;
    for (int i = 0; i < ROUNDS; i++) {
        double began = clock_cpu();
        triad(a, b, c, (float)i, FLOATS);
        triad(b, c, a, (float)i, FLOATS);
        best = fmax(best, 2 * 3.0 * sizeof *a * FLOATS / fmax(clock_cpu() - began, 1e-9));
    }
    free(a);
    return best;
}

const struct backend *const backends[] = {
    &simd_backend,
    &ref_backend,
#ifdef HAVE_CUDA
    &cuda_backend,
#endif
    NULL,
};

const struct backend *backend_find(const char *name)
{
    for (size_t i = 0; backends[i]; i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}
