/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/set/split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/log.h"
#include "src/rng.h"
#include "trainer/data/set/candidates.h"

/* rng.h: the one stream of a split. */
#define STREAM_SPLIT (UINT64_C(0x53504c54) << 32)

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
        c[i].side = val[i] ? CANDIDATE_VAL : CANDIDATE_TRAIN;
    free(val);
    free(hash);
    return rc;
}

static int all_validate(struct candidate *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i].side = CANDIDATE_VAL;
    return 0;
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
            if (b->side == CANDIDATE_NONE)
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
    size_t ndropped = 0, nneither = 0;

    for (size_t i = 0, first; sorted && i < n; i++) {
        bool validates = false;
        for (first = i; i < n && strcmp(sorted[i].hash, sorted[first].hash) == 0; i++)
            validates = validates || c[sorted[i].index].side == CANDIDATE_VAL;
        for (size_t k = first; validates && k < i; k++)
            if (c[sorted[k].index].side == CANDIDATE_TRAIN) {
                c[sorted[k].index].side = CANDIDATE_NONE;
                ndropped++;
            }
        i--;
    }
    for (size_t i = 0; i < n; i++)
        nneither += c[i].side == CANDIDATE_NONE;
    if (nneither > ndropped)
        log_info("%zu images are on neither side of the set's own division and do not take part",
                 nneither - ndropped);
    if (ndropped)
        log_warn("%zu training images are also among the validation images and don't train",
                 ndropped);
    free(sorted);
    return sorted ? 0 : -1;
}

/* Moves the items of one side, in order. */
static int take_side(struct candidate *c, size_t n, enum candidate_side side,
                     struct split_part *part, struct err *e)
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
                       side == CANDIDATE_TRAIN ? "train" : "validate");
    return 0;
}

/* The lists that were given take the place of what the folder says. */
static int assign_lists(const struct split_config *config, struct source *source, struct err *e)
{
    if (!config->train_list && !config->val_list)
        return 0;
    if (!config->train_list || !config->val_list)
        return err_set(e, ERR_USAGE, "a given split needs both --train-list and --val-list");
    for (size_t i = 0; i < source->count; i++)
        source->items[i].side = SOURCE_ANY;
    return source_assign(source, config->train_list, SOURCE_TRAIN, e) ||
                   source_assign(source, config->val_list, SOURCE_VAL, e)
               ? -1 : 0;
}

/* The first that says it: lists, "all validate", the folder, the seed. */
static int divide(const struct split_config *config, bool divided, size_t n, struct candidate *c,
                  struct split *s, struct err *e)
{
    bool given = config->train_list, all = !given && config->val_fraction >= 1;
    int rc;

    if (given)
        rc = refuse_leak(c, n, e);
    else if (all)
        rc = all_validate(c, n);
    else if (divided)
        rc = divide_as_it_is(c, n, e);
    else
        rc = divide_by_seed(config, c, n, e);
    if (rc == 0 && !all)
        rc = take_side(c, n, CANDIDATE_TRAIN, &s->train, e);
    if (rc || take_side(c, n, CANDIDATE_VAL, &s->val, e))
        return -1;
    bool computed = divided && !all;
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
    if (assign_lists(config, source, e) == 0)
        c = candidates_read(config, source, &s->mask_scale, e);
    if (c)
        rc = divide(config, source_is_divided(source), source->count, c, s, e);
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
