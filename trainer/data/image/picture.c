/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/image/picture.h"

int picture_check(const struct pixels *img, int channels, const char *name, struct err *e)
{
    if (channels == img->channels || (img->channels <= 4 && (channels == 1 || channels == 3)))
        return 0;
    return err_set(e, ERR_DATA, "%s: has %d channels, and data.channels is %d: give --channels %d",
                   name, img->channels, channels, img->channels);
}

unsigned picture_sample(const struct pixels *img, size_t pixel, int channel, int channels)
{
    size_t at = pixel * (size_t)img->channels;

    if (channels == img->channels)
        return pixels_sample(img, at + (size_t)channel);
    if (img->channels < 3)
        return pixels_sample(img, at);
    if (channels == 3)
        return pixels_sample(img, at + (size_t)channel);
    return (299 * pixels_sample(img, at) + 587 * pixels_sample(img, at + 1) +
            114 * pixels_sample(img, at + 2) + 500) / 1000;
}

void picture_to_float(const struct pixels *img, int channels, float *dst)
{
    size_t npixels = (size_t)img->width * img->height;
    /* A quotient, not a product with 1/full: a grey value v stored in 16 bits as 257 v then gives v
     * / 255 to the last bit. */
    float full = img->bits == 16 ? 65535.0f : 255.0f;

    for (size_t i = 0; i < npixels; i++)
        for (int c = 0; c < channels; c++)
            *dst++ = (float)picture_sample(img, i, c, channels) / full;
}

void picture_to_bytes(const struct pixels *img, int channels, uint8_t *dst)
{
    size_t npixels = (size_t)img->width * img->height;

    for (size_t i = 0; i < npixels; i++)
        for (int c = 0; c < channels; c++)
            *dst++ = (uint8_t)picture_sample(img, i, c, channels);
}
