/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/image/resize.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

struct resize_fit resize_fit(int src_height, int src_width, int dst_height, int dst_width)
{
    int64_t h = src_height, w = src_width, th = dst_height, tw = dst_width;
    struct resize_fit fit = {dst_height, dst_width, 0, 0};

    /* The side with the smaller ratio of destination to source fills the destination. Integers are
     * used because floor() of a rounded quotient is sometimes one row short. */
    if (h * tw < w * th) {
        fit.height = h * tw / w > 0 ? (int)(h * tw / w) : 1;
        fit.top = (int)((th * w - h * tw) / (2 * w));
    } else if (h * tw > w * th) {
        fit.width = w * th / h > 0 ? (int)(w * th / h) : 1;
        fit.left = (int)((tw * h - w * th) / (2 * h));
    }
    return fit;
}

/* Destination line i lies between the source lines low and high, at this fraction of the way. */
struct tap {
    int low, high;
    float fraction;
};

static struct tap tap_at(int i, int nsrc, int ndst)
{
    float at = ((float)i + 0.5f) * ((float)nsrc / (float)ndst) - 0.5f;
    float base = floorf(at);
    int low = (int)base, high = low + 1;

    return (struct tap){low < 0 ? 0 : low, high > nsrc - 1 ? nsrc - 1 : high, at - base};
}

/* Fills the rectangle fit of dst by bilinear interpolation. dst_row: floats in a row of dst; nc:
 * channels. */
static void resize_into(const float *src, int src_height, int src_width, float *dst, size_t dst_row,
                        struct resize_fit fit, size_t nc)
{
    size_t src_row = (size_t)src_width * nc;

    for (int y = 0; y < fit.height; y++) {
        struct tap ty = tap_at(y, src_height, fit.height);
        const float *top = src + (size_t)ty.low * src_row;
        const float *bottom = src + (size_t)ty.high * src_row;
        float *out = dst + (size_t)(fit.top + y) * dst_row + (size_t)fit.left * nc;
        for (int x = 0; x < fit.width; x++) {
            struct tap tx = tap_at(x, src_width, fit.width);
            const float *tl = top + (size_t)tx.low * nc, *tr = top + (size_t)tx.high * nc;
            const float *bl = bottom + (size_t)tx.low * nc, *br = bottom + (size_t)tx.high * nc;
            for (size_t c = 0; c < nc; c++) {
                float above = tl[c] + (tr[c] - tl[c]) * tx.fraction;
                float below = bl[c] + (br[c] - bl[c]) * tx.fraction;
                *out++ = above + (below - above) * ty.fraction;
            }
        }
    }
}

void resize_pad(const float *src, int src_height, int src_width, float *dst, int dst_height,
                int dst_width, int channels)
{
    size_t nc = (size_t)channels, dst_row = (size_t)dst_width * nc;

    if (src_height == dst_height && src_width == dst_width) {
        memcpy(dst, src, (size_t)dst_height * dst_row * sizeof *dst);
        return;
    }
    memset(dst, 0, (size_t)dst_height * dst_row * sizeof *dst);
    resize_into(src, src_height, src_width, dst, dst_row,
                resize_fit(src_height, src_width, dst_height, dst_width), nc);
}

void resize_stretch(const float *src, int src_height, int src_width, float *dst, int dst_height,
                    int dst_width, int channels)
{
    resize_into(src, src_height, src_width, dst, (size_t)dst_width * (size_t)channels,
                (struct resize_fit){dst_height, dst_width, 0, 0}, (size_t)channels);
}

/* Returns floor((i + 1/2) * nsrc / ndst), the source pixel that contains the centre of pixel i. */
static size_t nearest(int i, int nsrc, int ndst)
{
    return (size_t)((2 * (int64_t)i + 1) * nsrc / (2 * (int64_t)ndst));
}

void resize_pad_labels(const uint8_t *src, int src_height, int src_width, uint8_t *dst,
                       int dst_height, int dst_width, uint8_t padding)
{
    struct resize_fit fit = resize_fit(src_height, src_width, dst_height, dst_width);

    memset(dst, padding, (size_t)dst_height * (size_t)dst_width);
    for (int y = 0; y < fit.height; y++) {
        const uint8_t *row = src + nearest(y, src_height, fit.height) * (size_t)src_width;
        uint8_t *out = dst + (size_t)(fit.top + y) * (size_t)dst_width + fit.left;
        for (int x = 0; x < fit.width; x++)
            out[x] = row[nearest(x, src_width, fit.width)];
    }
}
