/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/image/levels.h"

static int check_mask_values(const struct levels *l, const char *name, struct err *e)
{
    double wrong = !isnan(l->wrong) ? l->wrong : l->min < 0 ? l->min : l->max;

    if (isnan(l->wrong) && l->min >= 0 && l->max <= 65535)
        return 0;
    return err_set(e, ERR_DATA, "%s: holds %g; masks hold whole numbers from 0 to 65535%s", name,
                   wrong, wrong > 65535 ? ": renumber the labels" : "");
}

int levels_choose(struct levels *l, const char *name, enum pixels_mode mode, struct pixels *img,
                  struct err *e)
{
    double top = l->real ? 1 : 65535;

    if (l->infinite)
        return err_set(e, ERR_DATA, "%s: holds a value that is not a number, or infinite", name);
    l->base = 0;
    l->step = 1;
    if (mode == PIXELS_RAW) {
        if (check_mask_values(l, name, e))
            return -1;
        img->bits = l->max > 255 ? 16 : 8;
    } else if (l->min >= 0 && l->max <= top) {
        l->step = 65535 / top;
    } else {
        img->flags |= PIXELS_STRETCHED;
        img->low = l->base = l->min;
        img->high = l->max;
        l->step = l->max > l->min ? 65535 / (l->max - l->min) : 0;
        if (!isfinite(l->step) || !isfinite(l->max - l->min))
            return err_set(e, ERR_DATA, "%s: holds values from %g to %g, which cannot be distinguished",
                           name, l->min, l->max);
    }
    img->source_bits = img->bits;
    img->nbytes = (size_t)img->width * img->height * (size_t)img->channels *
                  (size_t)(img->bits / 8);
    return 0;
}
