/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions between floats and 16 bits: all 65,536 patterns, values between two of them, too
 * large and too small ones, and NaN. */
#include "src/base.h"
#include "trainer/core/kernel.h"

#include <math.h>

#include "src/rng.h"
#include "t/tap.h"

static float decoded[65536];
static uint16_t patterns[65536], back[65536];

static uint16_t encode(enum dtype kind, float v)
{
    uint16_t h;

    dtype_encode(kind, &v, &h, 1);
    return h;
}

static float there_and_back(enum dtype kind, float v)
{
    uint16_t h = encode(kind, v);

    dtype_decode(kind, &h, &v, 1);
    return v;
}

static void test_all_patterns(enum dtype kind, const char *name)
{
    size_t wrong = 0, ties = 0, nearest = 0;

    for (size_t i = 0; i < 65536; i++)
        patterns[i] = (uint16_t)i;
    dtype_decode(kind, patterns, decoded, 65536);
    dtype_encode(kind, decoded, back, 65536);
    for (size_t i = 0; i < 65536; i++)
        wrong += isnan(decoded[i]) ? !isnan(there_and_back(kind, decoded[i])) : back[i] != i;
    is_int(wrong, 0, "%s: every number is itself again", name);
    for (size_t i = 0; i + 1 < 0x7c00; i++) { /* positive, and finite in both types */
        float low = decoded[i], high = decoded[i + 1];
        float middle = low + (high - low) / 2; /* exact, as a float has more bits */
        ties += encode(kind, middle) != (i % 2 ? i + 1 : i);
        nearest += encode(kind, nextafterf(middle, low)) != i ||
                   encode(kind, nextafterf(middle, high)) != i + 1 ||
                   encode(kind, -nextafterf(middle, high)) != (0x8000 | (i + 1));
    }
    is_int(ties, 0, "%s: ties go to even", name);
    is_int(nearest, 0, "%s: everything else to the nearest", name);
}

static void test_error(enum dtype kind, const char *name, double least, double most)
{
    double worst = 0;

    for (uint64_t i = 0; i < 200000; i++) {
        double u = rng_uniform(7, 0, i);
        float v = (float)(least * pow(most / least, u));
        double error = fabs((double)there_and_back(kind, v) - v) / v;
        worst = error > worst ? error : worst;
    }
    ok(worst <= dtype_error(kind) && worst > dtype_error(kind) / 2,
       "%s: at most %g of a value is lost (%g)", name, dtype_error(kind), worst);
}

int main(void)
{
    test_all_patterns(DTYPE_BF16, "bf16");
    test_all_patterns(DTYPE_F16, "fp16");
    test_error(DTYPE_BF16, "bf16", 1e-37, 1e38);
    test_error(DTYPE_F16, "fp16", 6.2e-5, 65000);
    ok(isinf(there_and_back(DTYPE_F16, 65520)) && there_and_back(DTYPE_F16, 65519) == 65504,
       "fp16: from 65520 on infinite");
    ok(there_and_back(DTYPE_F16, -1e30f) == -INFINITY &&
           there_and_back(DTYPE_BF16, 3.4e38f) == INFINITY,
       "what is too large is infinite");
    ok(there_and_back(DTYPE_F16, 2.9e-8f) == 0 && there_and_back(DTYPE_F16, 3.1e-8f) == 0x1p-24f,
       "fp16: nothing below half of 2^-24");
    ok(isnan(there_and_back(DTYPE_F16, NAN)) && isnan(there_and_back(DTYPE_BF16, NAN)), "NaN is NaN");
    return done_testing();
}
