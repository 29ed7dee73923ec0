/* SPDX-License-Identifier: BSD-3-Clause */
/* Products by tiles: the emulated instructions do what the manual says of the real ones, to the
 * bit; products that are wrong or fault are found; and on a processor with AMX both give the same
 * bits. */
#include "config.h"
#include "trainer/backends/cpu/isa/amx_tiles.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "src/rng.h"
#include "t/tap.h"
#include "trainer/backends/cpu/isa/bf16.h"

#define NUMBERS (AMX_TILES_ROWS * AMX_TILES_DEPTH)
#define SUMS (AMX_TILES_ROWS * AMX_TILES_COLUMNS)

static const struct amx_shape smallest = {1, 1, 4, false};

/* Returns the sum plus four products, computed by emulated tiles. */
static float dot(float sum, const float a[4], const float b[4])
{
    uint16_t left[4], right[4];
    const struct amx_product p = {.a = {left, 4, 0, 4, 0}, .b = {right, 2, 0, 4, 0}, .nwindows = 1,
                                  .nsteps = 1, .from = &sum, .to = &sum};

    for (int i = 0; i < 4; i++) {
        left[i] = bf16_from_float(a[i]);
        right[i] = bf16_from_float(b[i]);
    }
    amx_tiles_emulated.one_by_one(&p);
    return sum;
}

static void check_arithmetic(void)
{
    const float big = 4096, tiny = 0x1p-70F, ones[4] = {1, 1, 1, 1};

    amx_tiles_emulated.begin(&smallest);
    ok(dot(1, (float[]){1, 2, 3, 4}, (float[]){5, 6, 7, 8}) == 71, "a sum of four products");
    ok(dot(0, (float[]){big, -big, 1, 1}, (float[]){big, big, 1, 1}) == 1,
       "even and odd places are added up apart, each rounded");
    ok(dot(0x1p24F, (float[]){1, 1, 0, 0}, ones) == 0x1p24F + 2, "and both before what was there");
    ok(dot(0, (float[]){1, 0, 0x1.fep-1F, 0}, (float[]){-0x1.fcp-1F, 0, 0x1.fep-1F, 0}) == 0x1p-16F,
       "a product is not rounded before it is added");
    ok(dot(0, (float[]){0x1p-133F, 0, 0, 0}, (float[]){0x1p100F, 0, 0, 0}) == 0,
       "factors below the normal numbers are 0");
    ok(dot(0, (float[]){tiny, 0, 0, 0}, (float[]){tiny, 0, 0, 0}) == 0, "so are sums");
    ok(dot(0x1p-140F, ones, (float[]){0, 0, 0, 0}) == 0, "and what was there");
    amx_tiles_emulated.end();
    ok(dot(1, ones, ones) == 1, "without a configuration nothing is computed");
}

/* Shapes that do not fit together would fault in the processor: emulated, they give NaN. */
static void check_misfit(void)
{
    float sum = 0;
    uint16_t ones[NUMBERS];
    const struct amx_product p = {.a = {ones, 3, 0, 3, 0}, .b = {ones, 2, 0, 3, 0}, .nwindows = 1,
                                  .nsteps = 1, .from = &sum, .to = &sum};

    for (size_t i = 0; i < NUMBERS; i++)
        ones[i] = bf16_from_float(1);
    amx_tiles_emulated.begin(&(struct amx_shape){1, 1, 3, false});
    amx_tiles_emulated.one_by_one(&p);
    amx_tiles_emulated.end();
    ok(isnan(sum), "half a pair does not fit: %g", (double)sum);
}

static void wrong(const struct amx_product *p)
{
    amx_tiles_emulated.two_by_two(p);
    p->to[p->to_m + p->to_n] += 1;
}

static void left_out(const struct amx_product *p)
{
    (void)p;
}

static void wrong_lines(const struct amx_product *p, size_t m)
{
    amx_tiles_emulated.four_lines(p, m);
    p->to[3 * p->to_line] += 1;
}

static void illegal(const struct amx_shape *s)
{
    (void)s;
    raise(SIGILL);
}

static void unmapped(const struct amx_product *p)
{
    (void)p;
    raise(SIGSEGV);
}

static void ignore(int signal)
{
    (void)signal;
}

static void check_trial(void)
{
    static const char *const want[] = {"give wrong results", "give wrong results",
                                       "give wrong results in lines", "fault", "fault"};
    struct amx_tiles bad[5] = {amx_tiles_emulated, amx_tiles_emulated, amx_tiles_emulated,
                               amx_tiles_emulated, amx_tiles_emulated};
    struct sigaction mine = {.sa_handler = ignore}, now;

    bad[0].two_by_two = wrong;
    bad[1].four_by_one = left_out;
    bad[2].four_lines = wrong_lines;
    bad[3].begin = illegal;
    bad[4].one_by_three = unmapped;
    sigaction(SIGILL, &mine, NULL);
    ok(!amx_tiles_fault(&amx_tiles_emulated), "products that work pass the trial");
    for (int i = 0; i < 5; i++) {
        const char *fault = amx_tiles_fault(&bad[i]);

        ok(fault && strcmp(fault, want[i]) == 0, "others: they %s",
           fault ? fault : "pass");
    }
    sigaction(SIGILL, NULL, &now);
    ok(now.sa_handler == ignore, "handlers of signals are what they were");
}

static void multiply(const struct amx_tiles *tiles, const uint16_t *a, const uint16_t *b,
                     float *sums)
{
    const struct amx_product p = {{a, AMX_TILES_DEPTH, NUMBERS, NUMBERS, 0},
                                  {b, 2 * AMX_TILES_COLUMNS, NUMBERS, NUMBERS, 0}, 1, 2,
                                  sums, AMX_TILES_COLUMNS, 2 * SUMS, SUMS,
                                  sums, AMX_TILES_COLUMNS, 2 * SUMS, SUMS, 0};

    tiles->begin(&(struct amx_shape){AMX_TILES_ROWS, AMX_TILES_COLUMNS, AMX_TILES_DEPTH, false});
    amx_tiles_multiply(tiles, &p, 2, 2);
    tiles->end();
}

/* The factors are normally distributed, and one in 97 is near or below the smallest normal
 * float. */
static void check_real(const struct amx_tiles *real)
{
    static uint16_t a[3 * NUMBERS], b[3 * NUMBERS];
    static float got[4 * SUMS], want[4 * SUMS];

    for (uint64_t i = 0; i < 3 * NUMBERS; i++) {
        float scale = i % 97 == 0 ? 0x1p-126F : 1;

        a[i] = bf16_from_float(scale * (float)rng_normal(4, 0, i));
        b[i] = bf16_from_float(scale * (float)rng_normal(4, 1, i));
    }
    multiply(real, a, b, got);
    multiply(&amx_tiles_emulated, a, b, want);
    ok(memcmp(got, want, sizeof got) == 0, "real and emulated tiles give the same bits");
}

int main(void)
{
    const struct amx_tiles *real;

    check_arithmetic();
    check_misfit();
    check_trial();
    setenv("UNET_ISA", "amx-emulated", 1);
    ok(amx_tiles_best() == &amx_tiles_emulated, "UNET_ISA=amx-emulated takes them");
    setenv("UNET_ISA", "bf16", 1);
    ok(!amx_tiles_best(), "UNET_ISA=bf16 takes none");
    unsetenv("UNET_ISA");
    real = amx_tiles_best();
    if (real)
        check_real(real);
    else
        tap_skip(1, "this processor has no AMX, or the kernel does not permit it");
    return done_testing();
}
