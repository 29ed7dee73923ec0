/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/source/remarks.h"

#include <stdio.h>

#include "src/log.h"
#include "src/plural.h"
#include "src/text.h"

#define NARROW 0.1f /* share of the range; less is remarked on */

/* A text for both roles, or one for images and one for masks. The index is that of the flag. */
static const char *const texts[PIXELS_NFLAGS][2] = {
    {"an EXIF or TIFF orientation, by which a picture is turned if image and mask fit then", NULL},
    {"turned upright, as the EXIF or TIFF orientation says", NULL},
    {"white is zero (TIFF), so that values are inverted, as the standard says",
     "white is zero (TIFF), so that values are inverted, as the standard says. Some programs write "
     "boolean masks so and mean 1 as foreground: if foreground and background are exchanged, use "
     "printf '1-65535 background\\n0 foreground\\n' >classes.txt and data.class_file=classes.txt"},
    {"alpha is dropped, though it is not the same everywhere; if it is the mask, save it as one",
     "alpha is dropped, though it is not the same everywhere; if it is the mask, save it without the colours"},
    {"a band beside grey or RGB that is not alpha; it is used only where data.channels is the "
     "number of bands", "only the first band of a mask is used"},
    {"ImageJ describes several pictures in one TIFF directory, of which the first is shown", NULL},
    {"reduced copies in further pages (overviews) are skipped", NULL},
    {"values outside 0..1 (floats) or 0..65535 (whole numbers), which data.scale=full refuses: use "
     "data.scale=range, percentile or zscore", NULL}};

const char *remarks_text(enum remarks_role role, enum pixels_flag flag)
{
    int i = 0;

    while (i < PIXELS_NFLAGS - 1 && !(flag >> i & 1u))
        i++;
    return texts[i][role] ? texts[i][role] : texts[i][0];
}

struct remarks_picture remarks_look(const struct pixels *img, enum remarks_role role)
{
    size_t n = (size_t)img->width * img->height * (size_t)img->channels;
    float full = img->bits == 16 ? 65535.0f : 255.0f;
    unsigned low = role == REMARKS_IMAGE ? UINT32_MAX : 0, high = 0;

    for (size_t i = 0; role == REMARKS_IMAGE && i < n; i++) {
        unsigned v = pixels_sample(img, i);
        low = v < low ? v : low;
        high = v > high ? v : high;
    }
    return (struct remarks_picture){img->flags, (float)low / full, (float)high / full, img->bits};
}

void remarks_add(struct remarks *r, const struct remarks_picture *p, const char *name)
{
    for (int i = 0; i < PIXELS_NFLAGS; i++)
        if (p->flags >> i & 1u && r->of_flag[i].count++ == 0)
            filename_escape(name, r->of_flag[i].first, sizeof r->of_flag[i].first);
    r->lowest = r->pictures == 0 || p->lowest < r->lowest ? p->lowest : r->lowest;
    r->highest = p->highest > r->highest ? p->highest : r->highest;
    r->bits = p->bits > r->bits ? p->bits : r->bits;
    r->pictures++;
}

void remarks_log(const struct remarks *r, const char *set)
{
    const char *word = r->role == REMARKS_MASK ? "mask" : "image";
    float full = r->bits == 16 ? 65535.0f : 255.0f;

    for (int i = 0; i < PIXELS_NFLAGS; i++)
        if (r->of_flag[i].count)
            log_warn("%s: %zu %s%s, such as %s: %s", set, r->of_flag[i].count, word,
                     plural((long)r->of_flag[i].count), r->of_flag[i].first,
                     remarks_text(r->role, (enum pixels_flag)(1 << i)));
    if (r->role == REMARKS_IMAGE && r->pictures && r->highest > r->lowest &&
        r->highest - r->lowest < NARROW)
        log_warn("%s: the images hold only values from %.0f to %.0f of 0 to %.0f, less than a "
                 "tenth of the range: data.scale=percentile (or range, zscore) spreads them", set,
                 (double)(r->lowest * full), (double)(r->highest * full), (double)full);
}
