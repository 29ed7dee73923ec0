/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds values that do not fit 8 or 16 bits without a sign (floats, signed and 32-bit numbers) as
 * samples of 8 or 16 bits.
 *
 * A picture's floats from 0 to 1 become 0 to 65535, and its whole numbers from 0 to 65535 stay. Any
 * other picture is PIXELS_STRETCHED: its smallest value becomes 0 and its largest 65535. Masks must
 * hold whole numbers from 0 to 65535, which stay, in 8 bits if none exceeds 255. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_LEVELS_H
#define UNETCTL_TRAINER_DATA_IMAGE_LEVELS_H

#include <math.h>
#include <stdbool.h>

#include "trainer/data/image/pixels.h"

struct levels {
    bool real;         /* the type of the values is a float */
    double min, max;   /* of the values so far; NAN before the first */
    double wrong;      /* a value that is not whole, or NAN */
    bool infinite;     /* some value is not finite */
    double base, step; /* set by levels_choose: a sample is (value - base) * step */
};

/* Begins to examine values of a picture. */
static inline struct levels levels_begin(bool real)
{
    return (struct levels){.real = real, .min = (double)NAN, .max = (double)NAN,
                           .wrong = (double)NAN};
}

static inline void levels_add(struct levels *l, double v)
{
    l->infinite |= !isfinite(v);
    if (!(v >= l->min))
        l->min = v;
    if (!(v <= l->max))
        l->max = v;
    if (l->real && v != floor(v))
        l->wrong = v;
}

/* Decides, after all values were added, how they are held: sets bits, source_bits, nbytes, flags,
 * low and high of img, which has been allocated with 16 bits. ERR_DATA for values that a mask
 * (PIXELS_RAW) cannot have, or that are not finite. */
int levels_choose(struct levels *l, const char *name, enum pixels_mode mode, struct pixels *img,
                  struct err *e);

static inline unsigned levels_sample(const struct levels *l, double v)
{
    return (unsigned)((v - l->base) * l->step + 0.5);
}

#endif
