/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/image/pixels.h"

#include <math.h>

#include "t/tap.h"

static struct err e;
static float got[600];

static bool is_near(const float *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(got[i] - want[i]) < 1e-6f)) {
            printf("# %zu: %g, not %g\n", i, (double)got[i], (double)want[i]);
            return false;
        }
    return true;
}

static struct pixels make(uint32_t width, int channels, int bits, uint8_t *samples)
{
    return (struct pixels){.width = width, .height = 1, .channels = channels, .bits = bits,
                           .source_bits = bits, .samples = samples,
                           .nbytes = width * (size_t)(channels * bits / 8)};
}

static void test_formulas(void)
{
    struct pixels grey = make(4, 1, 8, (uint8_t[]){100, 163, 121, 100});
    struct pixels deep = make(4, 1, 16, (uint8_t[]){0, 100, 0, 163, 0, 121, 0, 100});
    struct pixels rgb = make(2, 3, 8, (uint8_t[]){0, 10, 7, 255, 20, 7});
    const float range[] = {0, 1, 1.0f / 3, 0}, colours[] = {0, 0, 0, 1, 1, 0};
    const float moments[] = {-0.8164966f, 1.6329932f, 0, -0.8164966f}; /* 121, sqrt(661.5) */

    for (int k = 0; k < 2; k++) {
        const struct pixels *img = k ? &deep : &grey;
        ok(scale_picture(img, 1, SCALE_RANGE, NULL, "x", got, &e) == 0 && is_near(range, 4),
           "range, %d bits", img->bits);
        ok(scale_picture(img, 1, SCALE_PERCENTILE, NULL, "x", got, &e) == 0 && is_near(range, 4),
           "percentile of few pixels is their range, %d bits", img->bits);
        ok(scale_picture(img, 1, SCALE_ZSCORE, NULL, "x", got, &e) == 0 && is_near(moments, 4),
           "zscore, %d bits", img->bits);
    }
    ok(scale_picture(&deep, 1, SCALE_FULL, NULL, "x", got, &e) == 0 && got[1] == 163 / 65535.0f, "full");
    ok(scale_picture(&rgb, 3, SCALE_RANGE, NULL, "x", got, &e) == 0 && is_near(colours, 6),
       "each channel by itself; one of a single value is 0");
}

static void test_percentile(void)
{
    uint8_t samples[200], sparse[200] = {0};

    for (int i = 0; i < 200; i++)
        samples[i] = (uint8_t)(i < 2 ? 0 : i < 198 ? 50 + i % 2 * 100 : 255);
    struct pixels img = make(200, 1, 8, samples);
    ok(scale_picture(&img, 1, SCALE_PERCENTILE, NULL, "x", got, &e) == 0 && got[0] == 0 &&
           fabsf(got[2] - 50 / 150.0f) < 1e-6f && got[3] == 1 && got[199] == 1,
       "1 %% of the pixels do not exceed 0, 99 %% not 150, and the rest is cut");
    sparse[0] = 200;
    sparse[1] = 100;
    img.samples = sparse;
    ok(scale_picture(&img, 1, SCALE_PERCENTILE, NULL, "x", got, &e) == 0 && got[0] == 1 &&
           got[1] == 0.5f && got[2] == 0, "as range where nearly all pixels are equal");
}

static void test_levels(void)
{
    const double levels[] = {100, 150};
    struct pixels grey = make(4, 1, 16, (uint8_t[]){0, 90, 0, 110, 0, 150, 0, 200});
    struct pixels flat = make(2, 1, 8, (uint8_t[]){51, 255});
    struct pixels rgb = make(1, 3, 16, (uint8_t[]){0, 110, 255, 255, 0, 0});
    const float want[] = {0, 0.2f, 1, 1}, full[] = {0.2f, 1}, colours[] = {110 / 65535.0f, 1, 0};
    const float wide[] = {0, 1, 1, 1};
    uint8_t many[600];
    float points[SCALE_POINTS];

    ok(scale_picture(&grey, 1, SCALE_AUTO, levels, "x", got, &e) == 0 && is_near(want, 4),
       "auto: by the levels of the set, cut to 0..1");
    ok(scale_picture(&flat, 1, SCALE_AUTO, levels, "x", got, &e) == 0 && is_near(full, 2),
       "8 bits stay full");
    ok(scale_picture(&rgb, 3, SCALE_AUTO, levels, "x", got, &e) == 0 && is_near(colours, 3),
       "and so does RGB");
    ok(pixels_bits(&grey) == 9 && pixels_bits(&flat) == 8 && pixels_bits(&rgb) == 16, "bits");
    grey.low = -1000, grey.high = 64535; /* sample 1100 is value 100 */
    grey.flags = PIXELS_STRETCHED;
    grey.samples = (uint8_t[]){0, 0, 0x4, 0x7e, 0x10, 0, 255, 255};
    ok(scale_picture(&grey, 1, SCALE_AUTO, (double[]){-1000, 150}, "x", got, &e) == 0 &&
           is_near(wide, 4) && pixels_bits(&grey) == 32, "values that samples stand for");
    for (int i = 0; i < 300; i++)
        many[2 * i] = (uint8_t)(i / 256), many[2 * i + 1] = (uint8_t)i;
    struct pixels ramp = make(300, 1, 16, many);
    ok(picture_points(&ramp, points, &e) == 0 && points[1] == 2 && points[148] == 296 &&
           points[0] == 0, "1 %% and 99 %% of 0 to 299: %g, %g", (double)points[1],
       (double)points[148]);
}

int main(void)
{
    static const char *const words[] = {"full", "range", "percentile", "zscore", "auto"};
    enum scale scale;
    struct pixels wide = make(2, 1, 16, (uint8_t[]){0, 0, 255, 255});

    test_formulas();
    test_percentile();
    test_levels();
    wide.flags = PIXELS_STRETCHED;
    wide.low = -3, wide.high = 900;
    ok(scale_picture(&wide, 1, SCALE_FULL, NULL, "x.tif", got, &e) == -1 && e.code == ERR_DATA,
       "full: %s", e.text);
    ok(scale_picture(&wide, 1, SCALE_RANGE, NULL, "x.tif", got, &e) == 0 && got[1] == 1, "range");
    for (int i = 0; i < 5; i++)
        ok(scale_decode(words[i], &scale, &e) == 0 && (int)scale == i, "%s", words[i]);
    ok(scale_decode("none", &scale, &e) == -1, "%s", e.text);
    return done_testing();
}
