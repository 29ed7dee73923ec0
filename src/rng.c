/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/rng.h"

#include <math.h>

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u
#define PHILOX_ROUNDS 10

void rng_block(uint64_t seed, uint64_t stream, uint64_t index, uint32_t dst[4])
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    uint32_t c0 = (uint32_t)index, c1 = (uint32_t)(index >> 32);
    uint32_t c2 = (uint32_t)stream, c3 = (uint32_t)(stream >> 32);

    for (int i = 0; i < PHILOX_ROUNDS; i++) {
        uint64_t p0 = (uint64_t)PHILOX_M0 * c0, p1 = (uint64_t)PHILOX_M1 * c2;

        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    dst[0] = c0;
    dst[1] = c1;
    dst[2] = c2;
    dst[3] = c3;
}

static uint64_t join(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

/* Maps the upper 53 bits to a fraction in [0, 1). */
static double to_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

uint64_t rng_u64(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t w[4];

    rng_block(seed, stream, index, w);
    return join(w[0], w[1]);
}

double rng_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
    return to_unit(rng_u64(seed, stream, index));
}

double rng_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t w[4];

    rng_block(seed, stream, index, w);
    /* 1 - u is in (0, 1], so the logarithm is finite */
    double radius = sqrt(-2 * log(1 - to_unit(join(w[0], w[1]))));
    return radius * cos(2 * 3.14159265358979323846 * to_unit(join(w[2], w[3])));
}

void rng_permutation(uint64_t seed, uint64_t stream, size_t n, size_t *dst)
{
    for (size_t i = 0; i < n; i++) {
        unsigned __int128 product = (unsigned __int128)rng_u64(seed, stream, i) * (i + 1);
        size_t j = (size_t)(product >> 64);

        if (j != i)
            dst[i] = dst[j];
        dst[j] = i;
    }
}
