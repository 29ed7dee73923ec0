/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/image/pixels.h"

#include <stdlib.h>

#include "src/format/sha256.h"

int pixels_check_size(uint64_t width, uint64_t height, const char *name, struct err *e)
{
    if (width == 0 || height == 0)
        return err_set(e, ERR_DATA, "%s: damaged: %llu x %llu pixels", name,
                       (unsigned long long)width, (unsigned long long)height);
    if (width > PIXELS_MAX_SIDE || height > PIXELS_MAX_SIDE)
        return err_set(e, ERR_DATA, "%s: %llu x %llu pixels, more than %u on a side", name,
                       (unsigned long long)width, (unsigned long long)height, PIXELS_MAX_SIDE);
    return 0;
}

int pixels_allocate(struct pixels *img, const char *name, int channels, int bits, struct err *e)
{
    uint64_t nbytes = (uint64_t)img->width * img->height * (unsigned)channels *
                      (unsigned)(bits / 8);

    if (pixels_check_size(img->width, img->height, name, e))
        return -1;
    if (nbytes > PIXELS_MAX_BYTES)
        return err_set(e, ERR_DATA, "%s: %u x %u pixels need %llu bytes, more than the limit of %llu",
                       name, img->width, img->height, (unsigned long long)nbytes,
                       (unsigned long long)PIXELS_MAX_BYTES);
    img->channels = channels;
    img->bits = bits;
    img->nbytes = (size_t)nbytes;
    img->samples = calloc(1, img->nbytes);
    if (!img->samples)
        return err_set(e, ERR_DATA, "%s: no memory for %u x %u pixels", name, img->width,
                       img->height);
    return 0;
}

void pixels_free(struct pixels *img)
{
    free(img->samples);
    img->samples = NULL;
    img->nbytes = 0;
}

void pixels_hash(const struct pixels *img, char hex[65])
{
    sha256_bytes(img->samples, img->nbytes, hex);
}
