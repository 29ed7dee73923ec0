/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/image/orientation.h"

#include <stdbool.h>
#include <string.h>

#define TAG_ORIENTATION 0x112u

static uint32_t get_number(const uint8_t *p, size_t n, bool little)
{
    uint32_t v = 0;

    for (size_t i = 0; i < n; i++)
        v = v << 8 | p[little ? n - 1 - i : i];
    return v;
}

int orientation_of_exif(const uint8_t *exif, size_t n)
{
    bool little = n > 8 && memcmp(exif, "II*\0", 4) == 0;

    if (n < 10 || (!little && memcmp(exif, "MM\0*", 4) != 0))
        return 1;
    size_t at = get_number(exif + 4, 4, little);
    if (at > n - 2)
        return 1;
    size_t count = get_number(exif + at, 2, little);
    for (at += 2; count > 0 && at <= n && n - at >= 12; at += 12, count--)
        if (get_number(exif + at, 2, little) == TAG_ORIENTATION) {
            uint32_t v = get_number(exif + at + 8, 2, little);
            return v >= 1 && v <= 8 ? (int)v : 1;
        }
    return 1;
}

void orientation_size(int orientation, uint32_t *width, uint32_t *height)
{
    uint32_t w = *width;

    if (orientation < 5)
        return;
    *width = *height;
    *height = w;
}

/* Returns the stored pixel that the upright picture has at row y, column x. */
static size_t stored_pixel(const struct pixels *img, int orientation, uint32_t y, uint32_t x)
{
    bool exchanged = orientation >= 5;
    uint32_t row = exchanged ? x : y, column = exchanged ? y : x;

    if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7)
        row = img->height - 1 - row;
    if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8)
        column = img->width - 1 - column;
    return (size_t)row * img->width + column;
}

int orientation_turn(struct pixels *img, int orientation, const char *name, struct err *e)
{
    struct pixels upright = *img;
    size_t size = (size_t)img->channels * (size_t)(img->bits / 8);

    if (orientation < 2)
        return 0;
    orientation_size(orientation, &upright.width, &upright.height);
    if (pixels_allocate(&upright, name, img->channels, img->bits, e))
        return -1;
    uint8_t *dst = upright.samples;
    for (uint32_t y = 0; y < upright.height; y++)
        for (uint32_t x = 0; x < upright.width; x++, dst += size)
            memcpy(dst, img->samples + stored_pixel(img, orientation, y, x) * size, size);
    pixels_free(img);
    *img = upright;
    return 0;
}

static int turn_by_file(struct pixels *img, const char *name, struct err *e)
{
    if (orientation_turn(img, img->orientation, name, e))
        return -1;
    if (img->flags & PIXELS_ORIENTED)
        img->flags = (img->flags & ~(unsigned)PIXELS_ORIENTED) | PIXELS_TURNED;
    return 0;
}

int orientation_apply(struct pixels *img, struct pixels *mask, const char *name, struct err *e)
{
    uint32_t w = img->width, h = img->height, mask_w, mask_h;

    if (mask && mask->samples) {
        mask_w = mask->width;
        mask_h = mask->height;
        orientation_size(img->orientation, &w, &h);
        orientation_size(mask->orientation, &mask_w, &mask_h);
        if (w != mask_w || h != mask_h) {
            img->orientation = mask->orientation = 1;
            return 0;
        }
        if (turn_by_file(mask, name, e))
            return -1;
    }
    return turn_by_file(img, name, e);
}
