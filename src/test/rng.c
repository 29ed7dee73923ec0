/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/rng.h"

#include <math.h>

#include "t/tap.h"

/* Known answers from the authors' Random123 library (kat_vectors, philox4x32 10). */
static void known_answers(void)
{
    static const struct {
        uint64_t seed, stream, index;
        uint32_t want[4];
    } table[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint32_t got[4];
        rng_block(table[i].seed, table[i].stream, table[i].index, got);
        ok(memcmp(got, table[i].want, sizeof got) == 0, "known answer %zu", i);
    }
    ok(rng_u64(0, 0, 0) == 0xe169c58d6627e8d5, "u64 consists of words 1 and 0");
}

/* Chi-square test of 64000 values in 64 cells. With 63 degrees of freedom, 99.99 % are below
 * 115. */
static void uniform_cells(void)
{
    int cells[64] = {0};
    double chi = 0, sum = 0;

    for (uint64_t i = 0; i < 64000; i++) {
        double u = rng_uniform(1244, 7, i);
        if (!(u >= 0 && u < 1))
            bail_out("uniform out of range: %g", u);
        cells[(int)(u * 64)]++;
        sum += u;
    }
    for (int i = 0; i < 64; i++)
        chi += (cells[i] - 1000.0) * (cells[i] - 1000.0) / 1000.0;
    ok(chi < 115 && chi > 25, "uniform over 64 cells: chi-square %.1f", chi);
    ok(fabs(sum / 64000 - 0.5) < 0.005, "mean of uniform %.4f", sum / 64000);
}

static void normal_moments(void)
{
    enum { N = 100000 };
    double s1 = 0, s2 = 0, s3 = 0, s4 = 0;
    int inside = 0;

    for (uint64_t i = 0; i < N; i++) {
        double x = rng_normal(3, 0, i);
        s1 += x, s2 += x * x, s3 += x * x * x, s4 += x * x * x * x;
        inside += fabs(x) < 1;
    }
    ok(fabs(s1 / N) < 0.02, "mean of normal %.4f", s1 / N);
    ok(fabs(s2 / N - 1) < 0.03, "variance %.4f", s2 / N);
    ok(fabs(s3 / N) < 0.05 && fabs(s4 / N - 3) < 0.15, "skewness and kurtosis of normal");
    ok(abs(inside - 68269) < 900, "%d of 100000 are within one standard deviation", inside);
}

static bool is_permutation(const size_t *p, size_t n)
{
    bool *seen = calloc(n + 1, sizeof *seen), good = true;

    for (size_t i = 0; i < n; i++) {
        good = good && p[i] < n && !seen[p[i]];
        if (p[i] < n)
            seen[p[i]] = true;
    }
    free(seen);
    return good;
}

static void permutations(void)
{
    size_t a[1000], b[1000], count[6] = {0};

    for (size_t n = 0; n <= 20; n++) {
        rng_permutation(9, n, n, a);
        if (!is_permutation(a, n))
            bail_out("no permutation of %zu", n);
    }
    rng_permutation(1, 2, 1000, a);
    rng_permutation(1, 2, 1000, b);
    ok(is_permutation(a, 1000) && memcmp(a, b, sizeof a) == 0,
       "the same seed and stream give the same permutation");
    rng_permutation(1, 3, 1000, b);
    ok(memcmp(a, b, sizeof a) != 0, "another stream gives another order");
    rng_permutation(2, 2, 1000, b);
    ok(memcmp(a, b, sizeof a) != 0, "another seed gives another order");

    for (uint64_t stream = 0; stream < 6000; stream++) {
        rng_permutation(5, stream, 3, a);
        count[a[0] * 2 + (a[1] > a[2])]++;
    }
    for (int i = 0; i < 6; i++)
        ok(count[i] > 880 && count[i] < 1120, "order %d of 3! came %zu times in 6000", i, count[i]);
}

int main(void)
{
    known_answers();
    uniform_cells();
    normal_moments();
    permutations();
    return done_testing();
}
