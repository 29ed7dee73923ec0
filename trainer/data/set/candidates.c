/* SPDX-License-Identifier: BSD-3-Clause */
/* Decodes every pair of a data folder (an image and its mask, or an image with a class) to check
 * and hash it. Several pairs are decoded at a time; the error is always that of the first bad
 * pair. */
#include "config.h"
#include "trainer/data/set/set_internal.h"

#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "src/format/sha256.h"
#include "src/mem.h"
#include "src/parallel.h"
#include "src/text.h"

/* How masks are to be read. */
struct mask_rules {
    const struct split_config *config;
    struct classes *classes; /* NULL for masks of foreground and background */
    int ignore;
};

/* The most pairs that are decoded at the same time; limits memory on nodes with many cores. */
#define MOST_READERS 8

static void hash_pixels(const struct pixels *img, char hex[65])
{
    uint32_t shape[4] = {img->width, img->height, (uint32_t)img->channels, (uint32_t)img->bits};
    struct sha256_ctx h;

    sha256_init(&h);
    sha256_add(&h, shape, sizeof shape);
    if (img->flags & PIXELS_STRETCHED)
        sha256_add(&h, (double[]){img->low, img->high}, 2 * sizeof(double));
    sha256_add(&h, img->samples, img->nbytes);
    sha256_finish(&h, hex);
}

static int check_labels(const struct pixels *mask, const char *name,
                        const struct classes *classes, struct err *e)
{
    uint8_t *labels = mem_alloc((size_t)mask->width * mask->height, 1, e);
    int rc = labels ? classes_label(classes, mask, name, labels, e) : -1;

    free(labels);
    return rc;
}

static int check_mask(const struct pixels *mask, const char *name, const struct mask_rules *rules,
                      struct mask_summary *summary, struct err *e)
{
    const char *dir = rules->config->dir;

    if (rules->classes)
        return check_labels(mask, name, rules->classes, e) ? err_prefix(e, "%s", dir) : 0;
    mask_summarize(mask, rules->ignore, summary);
    if (summary->has_other && !rules->config->masks.soft)
        return err_set(
            e, ERR_DATA,
            "%s/%s: the mask contains the value %u; masks must contain 0 and 255, or 0 and 1", dir,
            name, summary->other);
    return 0;
}

/* Sets the scale that all masks share: MASK_FULL if any mask has its full value, or with soft masks
 * any value above 1; else MASK_UNIT; MASK_CLASS for classes. Unless masks are soft, a 1 in a set
 * with full values has no clear meaning and is an error. */
static int decide_scale(const struct mask_rules *rules, struct source *source,
                        const struct candidate *c, enum mask_scale *scale, struct err *e)
{
    bool soft = rules->config->masks.soft;
    const char *has_one = NULL, *has_full = NULL; /* name of the first mask with that value */
    unsigned max = 0;

    if (rules->classes || source->nclasses) {
        *scale = MASK_CLASS;
        return 0;
    }
    for (size_t i = 0; i < source->count; i++) {
        const struct mask_summary *s = &c[i].mask;
        max = s->max > max ? s->max : max;
        if (s->has_one && !has_one)
            has_one = source->items[i].mask;
        if (s->has_full && !has_full)
            has_full = source->items[i].mask;
    }
    *scale = soft ? (max > 1 ? MASK_FULL : MASK_UNIT) : (has_full ? MASK_FULL : MASK_UNIT);
    if (!soft && has_full && has_one) {
        err_set(e, ERR_DATA, "%s: %s contains the value 1, but %s contains 255; all masks of a set "
                "must contain 0 and 255, or 0 and 1", rules->config->dir, has_one, has_full);
        mask_stats_explain(source, e);
        return -1;
    }
    return 0;
}

static int check_utf8_name(const char *dir, const char *name, struct err *e)
{
    if (!name || filename_is_utf8(name))
        return 0;
    return err_set(e, ERR_DATA, "%s/%s: this name is not valid UTF-8, which split.json needs; "
                   "rename the file", dir, name);
}

static int describe_image(const struct pixels *img, bool has_mask, struct candidate *c,
                          struct err *e)
{
    c->item.width = img->width;
    c->item.height = img->height;
    c->item.orientation = img->orientation;
    c->about_image = remarks_look(img, REMARKS_IMAGE);
    hash_pixels(img, c->pixels);
    if (!has_mask || !picture_has_levels(img))
        return 0;
    c->points = mem_alloc(SCALE_POINTS, sizeof *c->points, e);
    return c->points ? picture_points(img, c->points, e) : -1;
}

static int examine_pair(struct source *source, const struct source_item *in, struct candidate *c,
                        const struct mask_rules *rules, struct err *e)
{
    bool coloured = rules->classes && classes_are_coloured(rules->classes);
    struct pixels image, mask;

    if (check_utf8_name(source->dir, in->image, e) || check_utf8_name(source->dir, in->mask, e) ||
        source_decode_pair(source, in, coloured ? SOURCE_COLOURS : SOURCE_VALUES,
                           c->item.image_sha256, c->item.mask_sha256, &image, &mask, e))
        return -1;
    c->item.label = in->label;
    int rc = in->mask ? check_mask(&mask, in->mask, rules, &c->mask, e) : 0;
    if (rc == 0 && in->mask) {
        c->item.mask_orientation = mask.orientation;
        c->about_mask = remarks_look(&mask, REMARKS_MASK);
    }
    if (rc == 0)
        rc = describe_image(&image, in->mask, c, e);
    pixels_free(&mask);
    pixels_free(&image);
    return rc;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Sets the levels by the points of all images, which count alike: to what 1 % and 99 % of the
 * points do not exceed, or where these are equal to the smallest and the largest. */
static int find_levels(const struct candidate *c, size_t n, struct picture_levels *levels,
                       struct err *e)
{
    float *all = mem_alloc(n * SCALE_POINTS, sizeof *all, e);
    size_t k = 0;

    if (!all)
        return -1;
    *levels = (struct picture_levels){0};
    for (size_t i = 0; i < n; i++) {
        levels->bits = c[i].about_image.bits > levels->bits ? c[i].about_image.bits : levels->bits;
        for (int p = 0; c[i].points && p < SCALE_POINTS; p++)
            all[k++] = c[i].points[p];
    }
    if (k > 0) {
        qsort(all, k, sizeof *all, by_value);
        size_t first = k / 100, last = k - 1 - k / 100;
        bool wide = all[last] > all[first];
        levels->values[0] = (double)all[wide ? first : 0];
        levels->values[1] = (double)all[wide ? last : k - 1];
    }
    free(all);
    return 0;
}

static void log_remarks(const struct source *source, const struct candidate *c)
{
    struct remarks images = {.role = REMARKS_IMAGE}, masks = {.role = REMARKS_MASK};

    for (size_t i = 0; i < source->count; i++) {
        remarks_add(&images, &c[i].about_image, source->items[i].image);
        if (source->items[i].mask)
            remarks_add(&masks, &c[i].about_mask, source->items[i].mask);
    }
    remarks_log(&images, source->dir);
    remarks_log(&masks, source->dir);
}

/* Returns whether the mask can be read, but has colours or other values than 0 and 1, or 0 and
 * 255. */
static bool has_other_values(struct source *source, const struct source_item *in,
                            const struct candidate *c)
{
    struct pixels mask = {0};
    struct err ignored;
    bool coloured =
        in->mask && source_decode(source, in->mask, SOURCE_VALUES, NULL, NULL, &mask, &ignored) &&
        source_decode(source, in->mask, SOURCE_COLOURS, NULL, NULL, &mask, &ignored) == 0;

    pixels_free(&mask);
    return coloured || c->mask.has_other;
}

struct examination {
    struct source *source;
    struct candidate *c;
    const struct mask_rules *rules;
};

static int examine_item(void *arg, size_t i, struct err *e)
{
    struct examination *x = arg;

    x->c[i].is_bad = examine_pair(x->source, &x->source->items[i], &x->c[i], x->rules, e) != 0;
    return x->c[i].is_bad ? -1 : 0;
}

/* Decoding computes: more threads than the process has cores would only take memory. */
static int count_readers(void)
{
    int most = 1;

#ifdef _OPENMP
    most = omp_get_max_threads();
#endif
    return most < MOST_READERS ? most : MOST_READERS;
}

/* Examines several pairs at a time. So that the error does not depend on threads, the first bad
 * pair is examined again to report it: all before it have begun earlier, and are good. */
static int examine_all(struct source *source, struct candidate *c, const struct mask_rules *rules,
                       struct err *e)
{
    struct examination x = {source, c, rules};
    size_t bad = 0;

    if (parallel_each(source->count, count_readers(), examine_item, &x, e) == 0)
        return 0;
    while (!c[bad].is_bad)
        bad++;
    (void)examine_pair(source, &source->items[bad], &c[bad], rules, e);
    if (!rules->classes && has_other_values(source, &source->items[bad], &c[bad]))
        mask_stats_explain(source, e);
    return -1;
}

struct candidate *candidates_read(const struct split_config *config, struct source *source,
                                  enum mask_scale *scale, struct picture_levels *levels,
                                  struct err *e)
{
    struct candidate *c = mem_zero(source->count, sizeof *c, e);
    struct mask_rules rules = {.config = config};
    int rc = c ? 0 : -1;

    if (rc == 0 && (classes_open(&config->masks, &rules.ignore, &rules.classes, e) ||
                    examine_all(source, c, &rules, e) ||
                    decide_scale(&rules, source, c, scale, e) ||
                    find_levels(c, source->count, levels, e)))
        rc = -1;
    for (size_t i = 0; c && i < source->count; i++)
        free(c[i].points);
    classes_destroy(rules.classes);
    if (rc == 0)
        log_remarks(source, c);
    if (rc) {
        free(c);
        return NULL;
    }
    for (size_t i = 0; i < source->count; i++) {
        struct source_item *in = &source->items[i];
        c[i].item.stem = in->stem;
        c[i].item.image = in->image;
        c[i].item.mask = in->mask;
        c[i].side = in->side;
        in->stem = in->image = in->mask = NULL;
    }
    return c;
}
