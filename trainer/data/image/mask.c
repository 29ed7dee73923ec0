/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/image/mask.h"

#include <string.h>

#include "trainer/data/image/classes.h"

static unsigned full_value(const struct pixels *mask)
{
    return (1u << mask->source_bits) - 1;
}

static void keep_first_channel(struct pixels *img)
{
    size_t npixels = (size_t)img->width * img->height, nbytes = (size_t)img->bits / 8;
    size_t pixel = nbytes * (size_t)img->channels;

    for (size_t i = 0; i < npixels; i++)
        memmove(img->samples + i * nbytes, img->samples + i * pixel, nbytes);
    img->channels = 1;
    img->nbytes = npixels * nbytes;
}

static int refuse_colour(const struct pixels *img, const char *name, struct err *e)
{
    size_t npixels = (size_t)img->width * img->height, nc = (size_t)img->channels;

    for (size_t i = 0; i < npixels; i++) {
        unsigned r = pixels_sample(img, i * nc), g = pixels_sample(img, i * nc + 1);
        unsigned b = pixels_sample(img, i * nc + 2);
        if (r != g || r != b)
            return err_set(e, ERR_DATA,
                           "%s: the mask has colours (%u,%u,%u at column %zu, row %zu); masks are "
                           "grey or indexed: 0 background, 255 (or 1) foreground, unless "
                           "data.class_file says which colour is which class",
                           name, r, g, b, i % img->width, i / img->width);
    }
    return 0;
}

int mask_flatten(struct pixels *img, const char *name, struct err *e)
{
    if (img->channels >= 3 && refuse_colour(img, name, e))
        return -1;
    if (img->channels > 1)
        keep_first_channel(img);
    return 0;
}

void mask_summarize(const struct pixels *mask, int ignore, struct mask_summary *summary)
{
    size_t npixels = (size_t)mask->width * mask->height;
    unsigned full = full_value(mask);

    memset(summary, 0, sizeof *summary);
    for (size_t i = 0; i < npixels; i++) {
        unsigned v = pixels_sample(mask, i);
        if ((int)v == ignore)
            continue;
        if (v > summary->max)
            summary->max = v;
        if (v == 0 || full == 1)
            continue;
        if (v == full)
            summary->has_full = true;
        else if (v == 1)
            summary->has_one = true;
        else if (!summary->has_other) {
            summary->has_other = true;
            summary->other = v;
        }
    }
}

/* Returns a value in the mask that does not belong to the scale, or 0 if there is none. */
static unsigned wrong_value(const struct mask_summary *s, enum mask_scale scale)
{
    if (s->has_other)
        return s->other;
    if (scale == MASK_FULL)
        return s->has_one ? 1 : 0;
    return s->has_full ? s->max : 0;
}

int mask_check(const struct pixels *mask, const char *name, enum mask_scale scale, int ignore,
               bool soft, struct err *e)
{
    struct mask_summary s;

    if (soft)
        return 0;
    mask_summarize(mask, ignore, &s);
    unsigned wrong = wrong_value(&s, scale);
    if (wrong)
        return err_set(
            e, ERR_DATA,
            "%s: the mask contains the value %u; masks of this set contain 0 and %u. For "
            "masks of grey values set soft_masks: true (data split --soft-masks)",
            name, wrong, scale == MASK_FULL ? full_value(mask) : 1);
    return 0;
}

unsigned mask_divisor(const struct pixels *mask, enum mask_scale scale)
{
    return scale == MASK_UNIT ? 1 : full_value(mask);
}

void mask_label(const struct pixels *mask, int ignore, uint8_t *labels)
{
    size_t npixels = (size_t)mask->width * mask->height;

    for (size_t i = 0; i < npixels; i++) {
        unsigned v = pixels_sample(mask, i);
        labels[i] = (int)v == ignore ? CLASSES_IGNORE : v > 0;
    }
}
