/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/log.h"
#include "src/rng.h"
#include "src/sha256.h"
#include "trainer/data/classes.h"
#include "trainer/data/filename.h"
#include "trainer/data/namelist.h"

/* rng.h: the one stream of a split. */
#define STREAM_SPLIT (UINT64_C(0x53504c54) << 32)

enum side { SIDE_NONE, SIDE_TRAIN, SIDE_VAL };

/* One pair on its way into the split. */
struct candidate {
    struct split_item item;
    char pixels[65]; /* hash of shape and samples: the same picture in two files is found too */
    enum side side;
};

/* What masks mean, and what was seen of all of them together. Names point into the pairs. */
struct mask_census {
    const struct split_config *config;
    struct classes *classes; /* NULL for foreground and background */
    int ignore;
    unsigned max;
    const char *has_one, *has_full; /* a mask with that value */
};

static void item_free(struct split_item *item)
{
    free(item->stem);
    free(item->image);
    free(item->mask);
}

static void part_free(struct split_part *part)
{
    for (size_t i = 0; i < part->count; i++)
        item_free(&part->items[i]);
    free(part->items);
}

void split_destroy(struct split *s)
{
    if (!s)
        return;
    part_free(&s->train);
    part_free(&s->val);
    for (int i = 0; i < s->nclasses; i++)
        free(s->class_names[i]);
    free(s->class_names);
    free(s->dir);
    free(s);
}

static void hash_pixels(const struct pixels *img, char hex[65])
{
    uint32_t shape[4] = {img->width, img->height, (uint32_t)img->channels, (uint32_t)img->bits};
    struct sha256 h;

    sha256_init(&h);
    sha256_add(&h, shape, sizeof shape);
    sha256_add(&h, img->samples, img->nbytes);
    sha256_finish(&h, hex);
}

static int check_labels(const struct pixels *mask, const char *name,
                        const struct classes *classes, struct err *e)
{
    uint8_t *labels = malloc((size_t)mask->width * mask->height);
    int rc = labels ? classes_label(classes, mask, name, labels, e)
                    : err_set(e, ERR_INTERNAL, "%s: no memory", name);

    free(labels);
    return rc;
}

static int note_mask(const struct pixels *mask, const char *name, struct mask_census *census,
                     struct err *e)
{
    const char *dir = census->config->dir;
    bool soft = census->config->soft_masks;
    struct mask_summary s;

    if (census->classes)
        return check_labels(mask, name, census->classes, e) ? err_prefix(e, "%s", dir) : 0;
    mask_summarize(mask, census->ignore, &s);
    if (s.max > census->max)
        census->max = s.max;
    if (s.has_one && !census->has_one)
        census->has_one = name;
    if (s.has_full && !census->has_full)
        census->has_full = name;
    if (s.has_other && !soft)
        return err_set(e, ERR_DATA,
                       "%s/%s: the mask holds the value %u; masks hold 0 and 255, or 0 and 1. "
                       "Where grey values are meant, set soft_masks: true (data split "
                       "--soft-masks)",
                       dir, name, s.other);
    return 0;
}

/* 0/255 if any mask is; a 1 beside a 255 has no clear meaning. */
static int decide_scale(const struct mask_census *census, enum mask_scale *scale, struct err *e)
{
    bool soft = census->config->soft_masks;

    if (census->classes) {
        *scale = MASK_CLASS;
        return 0;
    }
    *scale = soft ? (census->max > 1 ? MASK_FULL : MASK_UNIT)
                  : (census->has_full ? MASK_FULL : MASK_UNIT);
    if (!soft && census->has_full && census->has_one)
        return err_set(e, ERR_DATA,
                       "%s holds the value 1 but %s the value 255; masks of one set hold 0 and "
                       "255, or 0 and 1. Where grey values are meant, set soft_masks: true "
                       "(data split --soft-masks)", census->has_one, census->has_full);
    return 0;
}

static int check_name(const char *dir, const char *name, struct err *e)
{
    if (!name || filename_is_utf8(name))
        return 0;
    return err_set(e, ERR_DATA, "%s/%s: a file name must be UTF-8 to stand in split.json; rename "
                   "it", dir, name);
}

static int examine_mask(struct source *source, const struct source_item *in, struct candidate *c,
                        struct mask_census *census, struct err *e)
{
    bool coloured = census->classes && classes_are_coloured(census->classes);
    struct pixels mask;
    int rc = source_mask(source, in->mask, coloured, NULL, c->item.mask_sha256, &mask, e);

    if (rc == 0 && (mask.width != c->item.width || mask.height != c->item.height))
        rc = err_set(e, ERR_DATA, "%s: %s has %u x %u pixels but %s %u x %u; they must be equal",
                     source->dir, in->image, c->item.width, c->item.height, in->mask, mask.width,
                     mask.height);
    if (rc == 0)
        rc = note_mask(&mask, in->mask, census, e);
    pixels_free(&mask);
    return rc;
}

static int examine(struct source *source, const struct source_item *in, struct candidate *c,
                   struct mask_census *census, struct err *e)
{
    struct pixels image;

    if (check_name(source->dir, in->image, e) || check_name(source->dir, in->mask, e) ||
        source_image(source, in->image, NULL, c->item.image_sha256, &image, e))
        return -1;
    c->item.width = image.width;
    c->item.height = image.height;
    c->item.label = in->label;
    hash_pixels(&image, c->pixels);
    pixels_free(&image);
    return in->mask ? examine_mask(source, in, c, census, e) : 0;
}

/* The pairs in the order of their hashes, equal ones side by side. */
struct by_hash {
    const char *hash;
    size_t index;
};

static int compare_hash(const void *a, const void *b)
{
    const struct by_hash *x = a, *y = b;
    int order = strcmp(x->hash, y->hash);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static struct by_hash *sort_by_hash(const char *const *hash, size_t n)
{
    struct by_hash *sorted = malloc(n * sizeof *sorted);

    for (size_t i = 0; sorted && i < n; i++)
        sorted[i] = (struct by_hash){hash[i], i};
    if (sorted)
        qsort(sorted, n, sizeof *sorted, compare_hash);
    return sorted;
}

/* start[g] is where group g begins in sorted; start[ngroups] == n. */
static size_t find_groups(const struct by_hash *sorted, size_t n, size_t *start)
{
    size_t ngroups = 0;

    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(sorted[i - 1].hash, sorted[i].hash) != 0)
            start[ngroups++] = i;
    start[ngroups] = n;
    return ngroups;
}

/* Walks the groups in a drawn order and takes each that still fits; when none did, the smallest. */
static void pick_groups(const struct by_hash *sorted, const size_t *start, size_t ngroups,
                        const size_t *order, size_t want, bool *val)
{
    size_t taken = 0, smallest = order[0];

    for (size_t k = 0; k < ngroups; k++) {
        size_t g = order[k], size = start[g + 1] - start[g];
        if (size < start[smallest + 1] - start[smallest])
            smallest = g;
        if (taken + size > want)
            continue;
        for (size_t i = start[g]; i < start[g + 1]; i++)
            val[sorted[i].index] = true;
        taken += size;
    }
    for (size_t i = start[smallest]; taken == 0 && i < start[smallest + 1]; i++)
        val[sorted[i].index] = true;
}

int split_divide(int64_t seed, double val_fraction, size_t n, const char *const *hash, bool *val,
                 struct err *e)
{
    struct by_hash *sorted = sort_by_hash(hash, n);
    size_t *start = malloc((n + 1) * sizeof *start), *order = malloc(n * sizeof *order);
    int rc = 0;

    memset(val, 0, n * sizeof *val);
    if (!sorted || !start || !order) {
        rc = err_set(e, ERR_INTERNAL, "no memory to divide %zu images", n);
        goto out;
    }
    size_t ngroups = find_groups(sorted, n, start);
    if (ngroups < 2) {
        rc = err_set(e, ERR_DATA,
                     n < 2 ? "there is one pair only; training and validation need one each"
                           : "all images are the same picture; training and validation need "
                             "different ones");
        goto out;
    }
    /* The epsilon: 0.29 x 100 is 28.999999999999996. */
    size_t want = (size_t)(val_fraction * (double)n + 1e-6);
    want = want < 1 ? 1 : want > n - 1 ? n - 1 : want;
    rng_permutation((uint64_t)seed, STREAM_SPLIT, ngroups, order);
    pick_groups(sorted, start, ngroups, order, want, val);
out:
    free(order);
    free(start);
    free(sorted);
    return rc;
}

static int divide_by_seed(const struct split_config *config, struct candidate *c, size_t n,
                          struct err *e)
{
    const char **hash = calloc(n, sizeof *hash);
    bool *val = calloc(n, sizeof *val);
    int rc = 0;

    if (!hash || !val)
        rc = err_set(e, ERR_INTERNAL, "no memory to divide %zu images", n);
    for (size_t i = 0; rc == 0 && i < n; i++)
        hash[i] = c[i].pixels;
    if (rc == 0)
        rc = split_divide(config->seed, config->val_fraction, n, hash, val, e);
    if (rc)
        err_prefix(e, "%s", config->dir);
    for (size_t i = 0; rc == 0 && i < n; i++)
        c[i].side = val[i] ? SIDE_VAL : SIDE_TRAIN;
    free(val);
    free(hash);
    return rc;
}

static int all_validate(struct candidate *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i].side = SIDE_VAL;
    return 0;
}

/* By the name of its file, without the folders that the format has. */
static struct candidate *find_image(struct candidate *c, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        const char *slash = strrchr(c[i].item.image, '/');
        if (strcmp(slash ? slash + 1 : c[i].item.image, name) == 0 ||
            strcmp(c[i].item.image, name) == 0)
            return &c[i];
    }
    return NULL;
}

static int apply_list(const char *path, enum side side, struct candidate *c, size_t n,
                      struct err *e)
{
    struct namelist list;
    int rc = namelist_read(path, &list, e);

    for (size_t i = 0; rc == 0 && i < list.count; i++) {
        struct candidate *found = find_image(c, n, list.names[i]);
        if (!found)
            rc = err_set(e, ERR_DATA, "%s: names %s, which is not among the images", path,
                         list.names[i]);
        else if (found->side != SIDE_NONE)
            rc = err_set(e, ERR_DATA, "%s: %s is listed twice, or for both sides", path,
                         list.names[i]);
        else
            found->side = side;
    }
    namelist_free(&list);
    return rc;
}

static struct by_hash *sort_candidates(const struct candidate *c, size_t n, struct err *e)
{
    const char **hash = calloc(n, sizeof *hash);

    for (size_t i = 0; hash && i < n; i++)
        hash[i] = c[i].pixels;
    struct by_hash *sorted = hash ? sort_by_hash(hash, n) : NULL;
    free(hash);
    if (!sorted)
        err_set(e, ERR_INTERNAL, "no memory to divide %zu images", n);
    return sorted;
}

/* A split that was given must keep the promise too: no picture on both sides. */
static int refuse_leak(const struct candidate *c, size_t n, struct err *e)
{
    struct by_hash *sorted = sort_candidates(c, n, e);
    int rc = sorted ? 0 : -1;

    for (size_t i = 0, first; rc == 0 && i < n; i++) {
        const struct candidate *a = NULL;
        for (first = i; i < n && strcmp(sorted[i].hash, sorted[first].hash) == 0; i++) {
            const struct candidate *b = &c[sorted[i].index];
            if (b->side == SIDE_NONE)
                continue;
            if (rc == 0 && a && a->side != b->side)
                rc = err_set(e, ERR_DATA, "%s and %s are the same picture, but one trains and one "
                             "validates", a->item.image, b->item.image);
            a = b;
        }
        i--;
    }
    free(sorted);
    return rc;
}

/* The folder says who trains. Well-known sets have some pictures on both sides: these do not
 * train. */
static int divide_as_it_is(struct candidate *c, size_t n, struct err *e)
{
    struct by_hash *sorted = sort_candidates(c, n, e);
    size_t ndropped = 0;

    for (size_t i = 0, first; sorted && i < n; i++) {
        bool validates = false;
        for (first = i; i < n && strcmp(sorted[i].hash, sorted[first].hash) == 0; i++)
            validates = validates || c[sorted[i].index].side == SIDE_VAL;
        for (size_t k = first; validates && k < i; k++)
            if (c[sorted[k].index].side == SIDE_TRAIN) {
                c[sorted[k].index].side = SIDE_NONE;
                ndropped++;
            }
        i--;
    }
    if (ndropped)
        log_warn("%zu training images are also among the validation images and don't train",
                 ndropped);
    free(sorted);
    return sorted ? 0 : -1;
}

static int divide_by_lists(const struct split_config *config, struct candidate *c, size_t n,
                           struct err *e)
{
    if (!config->train_list || !config->val_list)
        return err_set(e, ERR_USAGE, "a given split needs both --train-list and --val-list");
    if (apply_list(config->train_list, SIDE_TRAIN, c, n, e) ||
        apply_list(config->val_list, SIDE_VAL, c, n, e))
        return -1;
    return refuse_leak(c, n, e);
}

/* Moves the items of one side, in order. */
static int take_side(struct candidate *c, size_t n, enum side side, struct split_part *part,
                     struct err *e)
{
    part->items = calloc(n, sizeof *part->items);
    if (!part->items)
        return err_set(e, ERR_INTERNAL, "no memory for the split");
    for (size_t i = 0; i < n; i++)
        if (c[i].side == side) {
            part->items[part->count++] = c[i].item;
            c[i].item = (struct split_item){0};
        }
    if (part->count == 0)
        return err_set(e, ERR_DATA, "no image is left to %s",
                       side == SIDE_TRAIN ? "train" : "validate");
    return 0;
}

static int open_census(struct mask_census *census, struct err *e)
{
    const struct split_config *config = census->config;

    if (mask_ignore_decode(config->ignore, &census->ignore, e))
        return -1;
    if (config->classes < 2)
        return 0;
    census->classes = classes_create(config->classes, census->ignore, config->class_file, e);
    return census->classes ? 0 : -1;
}

/* Moves the names of the source's items. */
static struct candidate *examine_all(const struct split_config *config, struct source *source,
                                     enum mask_scale *scale, struct err *e)
{
    struct candidate *c = calloc(source->count, sizeof *c);
    struct mask_census census = {.config = config};
    int rc = c ? open_census(&census, e)
               : err_set(e, ERR_INTERNAL, "no memory for %zu pairs", source->count);

    for (size_t i = 0; rc == 0 && i < source->count; i++)
        rc = examine(source, &source->items[i], &c[i], &census, e);
    if (rc == 0 && decide_scale(&census, scale, e))
        rc = err_prefix(e, "%s", config->dir);
    if (source->nclasses)
        *scale = MASK_CLASS;
    classes_destroy(census.classes);
    if (rc) {
        free(c);
        return NULL;
    }
    for (size_t i = 0; i < source->count; i++) {
        struct source_item *in = &source->items[i];
        c[i].item.stem = in->stem;
        c[i].item.image = in->image;
        c[i].item.mask = in->mask;
        c[i].side = in->side == SOURCE_TRAIN ? SIDE_TRAIN
                    : in->side == SOURCE_VAL ? SIDE_VAL : SIDE_NONE;
        in->stem = in->image = in->mask = NULL;
    }
    return c;
}

/* Whoever says it first: lists, "all validate", the folder, the seed. */
static int divide(const struct split_config *config, const struct source *source,
                  struct candidate *c, struct split *s, struct err *e)
{
    bool given = config->train_list || config->val_list, all = config->val_fraction >= 1;
    bool divided = source->items[0].side != SOURCE_ANY;
    size_t n = source->count;
    int rc;

    for (size_t i = 0; given && i < n; i++)
        c[i].side = SIDE_NONE;
    if (given)
        rc = divide_by_lists(config, c, n, e);
    else if (all)
        rc = all_validate(c, n);
    else if (divided)
        rc = divide_as_it_is(c, n, e);
    else
        rc = divide_by_seed(config, c, n, e);
    if (rc == 0 && (given || !all))
        rc = take_side(c, n, SIDE_TRAIN, &s->train, e);
    if (rc || take_side(c, n, SIDE_VAL, &s->val, e))
        return -1;
    bool computed = given || (divided && !all);
    s->seed = computed ? 0 : config->seed;
    s->val_fraction = computed ? (double)s->val.count / (double)(s->train.count + s->val.count)
                               : config->val_fraction;
    return 0;
}

static void take_classes(struct source *source, struct split *s)
{
    s->format = source->format;
    s->class_names = source->class_names;
    s->nclasses = source->nclasses;
    source->class_names = NULL;
    source->nclasses = 0;
}

struct split *split_create(const struct split_config *config, struct err *e)
{
    struct candidate *c = NULL;
    struct split *s = calloc(1, sizeof *s);
    struct source *source = s ? source_open(config->dir, e) : NULL;
    int rc = -1;

    if (!s)
        err_set(e, ERR_INTERNAL, "no memory for the split");
    if (!source)
        goto out;
    s->dir = realpath(config->dir, NULL);
    if (!s->dir) {
        err_errno(e, ERR_DATA, errno, "%s", config->dir);
        goto out;
    }
    c = examine_all(config, source, &s->mask_scale, e);
    if (c)
        rc = divide(config, source, c, s, e);
    take_classes(source, s);
out:
    for (size_t i = 0; c && i < source->count; i++)
        item_free(&c[i].item);
    free(c);
    source_close(source);
    if (rc) {
        split_destroy(s);
        return NULL;
    }
    return s;
}
