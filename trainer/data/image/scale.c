/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/image/scale.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/mem.h"
#include "trainer/data/image/picture.h"

#define VALUES 65536

static const char *const words[] = {[SCALE_FULL] = "full", [SCALE_RANGE] = "range",
                                    [SCALE_PERCENTILE] = "percentile", [SCALE_ZSCORE] = "zscore"};

int scale_decode(const char *word, enum scale *scale, struct err *e)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0) {
            *scale = (enum scale)i;
            return 0;
        }
    return err_set(e, ERR_DATA, "scale '%s' is unknown", word);
}

/* A sample v becomes (v - base) / span. */
struct affine {
    float base, span;
};

/* Returns the smallest value that a share of the n pixels does not exceed. */
static unsigned quantile(const size_t count[VALUES], size_t n, double share)
{
    size_t below = 0;
    unsigned v = 0;

    while (v < VALUES - 1 && (double)(below += count[v]) < share * (double)n)
        v++;
    return v;
}

static struct affine find_range(const size_t count[VALUES], size_t n, double low, double high)
{
    unsigned first = 0, last = VALUES - 1;

    while (first < last && !count[first])
        first++;
    while (last > first && !count[last])
        last--;
    if (low > 0) {
        unsigned a = quantile(count, n, low), b = quantile(count, n, high);
        if (a < b)
            first = a, last = b;
    }
    return (struct affine){(float)first, (float)(last - first)};
}

static struct affine find_moments(const size_t count[VALUES], size_t n)
{
    double sum = 0, squares = 0;

    for (int v = 0; v < VALUES; v++)
        sum += (double)count[v] * v;
    double mean = sum / (double)n;
    for (int v = 0; v < VALUES; v++)
        squares += (double)count[v] * (v - mean) * (v - mean);
    return (struct affine){(float)mean, (float)sqrt(squares / (double)n)};
}

static void scale_channel(const struct pixels *img, int channel, int channels, enum scale scale,
                          size_t count[VALUES], float *dst)
{
    size_t n = (size_t)img->width * img->height;

    memset(count, 0, VALUES * sizeof *count);
    for (size_t i = 0; i < n; i++)
        count[picture_sample(img, i, channel, channels)]++;
    bool percentile = scale == SCALE_PERCENTILE;
    struct affine a = scale == SCALE_ZSCORE ? find_moments(count, n)
                                            : find_range(count, n, percentile ? 0.01 : 0, 0.99);
    for (size_t i = 0; i < n; i++) {
        float v = (float)picture_sample(img, i, channel, channels) - a.base;
        v = a.span > 0 ? v / a.span : 0;
        if (scale != SCALE_ZSCORE)
            v = v < 0 ? 0 : v > 1 ? 1 : v;
        dst[i * (size_t)channels + (size_t)channel] = v;
    }
}

int scale_picture(const struct pixels *img, int channels, enum scale scale, const char *name,
                  float *dst, struct err *e)
{
    if (scale == SCALE_FULL && img->flags & PIXELS_STRETCHED)
        return err_set(e, ERR_DATA, "%s: holds values from %g to %g, and data.scale=full takes "
                       "0..1 (floats) or 0..65535 (whole numbers): set data.scale=range, "
                       "percentile or zscore", name, img->low, img->high);
    if (scale == SCALE_FULL) {
        picture_to_float(img, channels, dst);
        return 0;
    }
    size_t *count = mem_alloc(VALUES, sizeof *count, e);
    if (!count)
        return -1;
    for (int c = 0; c < channels; c++)
        scale_channel(img, c, channels, scale, count, dst);
    free(count);
    return 0;
}
