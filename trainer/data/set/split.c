/* SPDX-License-Identifier: BSD-3-Clause */
/* Divides the pairs by lists, folders or seed, or takes all for validation. Copies of an image,
 * found by the hash of its pixels, are never on both sides: the seed divides groups of copies,
 * lists that separate copies are refused, and if folders separate them, those for training are left
 * out. */
#include "config.h"
#include "trainer/data/set/split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/log.h"
#include "src/map.h"
#include "src/mem.h"
#include "src/plural.h"
#include "src/rng.h"
#include "trainer/data/set/candidates.h"

/* The stream of rng.h that divides a split; other modules use other streams. */
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

/* A pair as sorted by the hash of its image. */
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

static struct by_hash *sort_by_hash(const char *const *hash, size_t n, struct err *e)
{
    struct by_hash *sorted = mem_alloc(n, sizeof *sorted, e);

    for (size_t i = 0; sorted && i < n; i++)
        sorted[i] = (struct by_hash){hash[i], i};
    if (sorted)
        qsort(sorted, n, sizeof *sorted, compare_hash);
    return sorted;
}

/* Finds the groups of equal hashes: group g is sorted[start[g]] to sorted[start[g + 1] - 1].
 * Returns their number. */
static size_t find_groups(const struct by_hash *sorted, size_t n, size_t *start)
{
    size_t ngroups = 0;

    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(sorted[i].hash, sorted[i - 1].hash) != 0)
            start[ngroups++] = i;
    start[ngroups] = n;
    return ngroups;
}

/* Moves each group that still fits into `want` pairs to validation, in random order. If none fits,
 * moves the smallest. */
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
    struct by_hash *sorted = sort_by_hash(hash, n, e);
    size_t *start = malloc((n + 1) * sizeof *start), *order = malloc((n + 1) * sizeof *order);
    int rc = !sorted ? -1 : start && order ? 0 : mem_fail(e);
    size_t ngroups = rc ? 0 : find_groups(sorted, n, start);

    memset(val, 0, n * sizeof *val);
    if (rc == 0 && ngroups < 2)
        rc = err_set(e, ERR_DATA,
                     n < 2 ? "there is only one pair; training and validation need one each"
                           : "all images are equal; training and validation need different ones");
    if (rc == 0) {
        /* Without the epsilon 0.29 x 100 would give 28: it is 28.999999999999996. */
        size_t want = (size_t)(val_fraction * (double)n + 1e-6);
        want = want < 1 ? 1 : want > n - 1 ? n - 1 : want;
        rng_permutation((uint64_t)seed, STREAM_SPLIT, ngroups, order);
        pick_groups(sorted, start, ngroups, order, want, val);
    }
    free(order);
    free(start);
    free(sorted);
    return rc;
}

static int divide_by_seed(const struct split_config *config, struct candidate *c, size_t n,
                          struct err *e)
{
    const char **hash = mem_zero(n, sizeof *hash, e);
    bool *val = hash ? mem_zero(n, sizeof *val, e) : NULL;

    for (size_t i = 0; val && i < n; i++)
        hash[i] = c[i].pixels;
    int rc = val ? split_divide(config->seed, config->val_fraction, n, hash, val, e) : -1;
    if (rc)
        err_prefix(e, "%s", config->dir);
    for (size_t i = 0; rc == 0 && i < n; i++)
        c[i].side = val[i] ? SOURCE_VAL : SOURCE_TRAIN;
    free(val);
    free(hash);
    return rc;
}

/* Maps the images of one side, by the hash of their pixels, to their indices. */
static int map_side(const struct candidate *c, size_t n, enum source_side side, struct map *dst,
                    struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (c[i].side == side && map_set(dst, c[i].pixels, i))
            return mem_fail(e);
    return 0;
}

/* Refuses lists that have the same image for training and for validation. */
static int refuse_leak(const struct candidate *c, size_t n, struct err *e)
{
    struct map val = {0};
    int rc = map_side(c, n, SOURCE_VAL, &val, e);
    size_t k;

    for (size_t i = 0; rc == 0 && i < n; i++)
        if (c[i].side == SOURCE_TRAIN && map_get(&val, c[i].pixels, &k))
            rc = err_set(e, ERR_DATA, "%s and %s are the same image, but one is for training and "
                         "one for validation", c[i].item.image, c[k].item.image);
    map_destroy(&val);
    return rc;
}

/* Keeps the folders' division. Some well-known data sets have the same image on both sides; it is
 * then not used for training. */
static int divide_by_folder(struct candidate *c, size_t n, struct err *e)
{
    size_t ndropped = 0, nneither = 0;
    struct map val = {0};
    int rc = map_side(c, n, SOURCE_VAL, &val, e);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        nneither += c[i].side == SOURCE_ANY;
        if (c[i].side == SOURCE_TRAIN && map_get(&val, c[i].pixels, NULL)) {
            c[i].side = SOURCE_ANY;
            ndropped++;
        }
    }
    map_destroy(&val);
    if (rc == 0 && nneither)
        log_info("%zu images belong neither to training nor to validation and are not used",
                 nneither);
    if (rc == 0 && ndropped)
        log_warn("%zu training images are also validation images; training does not use them",
                 ndropped);
    return rc;
}

static int take_side(struct candidate *c, size_t n, enum source_side side,
                     struct split_part *part, struct err *e)
{
    if (!(part->items = mem_zero(n, sizeof *part->items, e)))
        return -1;
    for (size_t i = 0; i < n; i++)
        if (c[i].side == side) {
            part->items[part->count++] = c[i].item;
            c[i].item = (struct split_item){0};
        }
    if (part->count == 0)
        return err_set(e, ERR_DATA, "no image is left for %s",
                       side == SOURCE_TRAIN ? "training" : "validation");
    return 0;
}

/* Assigns sides by the lists of config, if given, in place of the folders' division. */
static int assign_lists(const struct split_config *config, struct source *source, struct err *e)
{
    if (!config->train_list && !config->val_list)
        return 0;
    if (!config->train_list || !config->val_list)
        return err_set(e, ERR_USAGE, "--train-list and --val-list must be used together");
    for (size_t i = 0; i < source->count; i++)
        source->items[i].side = SOURCE_ANY;
    return source_assign(source, config->train_list, SOURCE_TRAIN, e) ||
                   source_assign(source, config->val_list, SOURCE_VAL, e)
               ? -1 : 0;
}

/* Divides by the first of these that applies: lists, "all for validation", the folders, the
 * seed. */
static int divide_candidates(const struct split_config *config, bool divided, size_t n,
                             struct candidate *c, struct split *s, struct err *e)
{
    bool given = config->train_list, all = !given && config->val_fraction >= 1;
    int rc = 0;

    for (size_t i = 0; all && i < n; i++)
        c[i].side = SOURCE_VAL;
    if (given)
        rc = refuse_leak(c, n, e);
    else if (!all)
        rc = divided ? divide_by_folder(c, n, e) : divide_by_seed(config, c, n, e);
    if (rc == 0 && !all)
        rc = take_side(c, n, SOURCE_TRAIN, &s->train, e);
    if (rc || take_side(c, n, SOURCE_VAL, &s->val, e))
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
    struct split *s = mem_zero(1, sizeof *s, e);
    struct source *source = s ? source_open(config->dir, config->folders, e) : NULL;
    int rc = -1;

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
        rc = divide_candidates(config, source_is_divided(source), source->count, c, s, e);
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

/* --- TFRecord files for workers --- */

/* The file of a locator: "train/10.records" in "train/10.records#17". */
struct file_name {
    const char *text;
    size_t length;
};

static struct file_name file_of_item(const struct split_item *item)
{
    const char *mark = strchr(item->image, '#');

    return (struct file_name){item->image,
                              mark ? (size_t)(mark - item->image) : strlen(item->image)};
}

/* Sorts 2.records before 10.records. */
static int compare_files(const void *a, const void *b)
{
    const struct file_name *x = a, *y = b;

    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return strncmp(x->text, y->text, x->length);
}

/* Drops the items whose file is not among the first `keep`. The others keep their order. files
 * points into the items, so these are freed last. */
static void drop_files(struct split_part *part, const struct file_name *files, size_t keep)
{
    size_t kept = 0;

    for (size_t i = 0; i < part->count; i++) {
        struct split_item item = part->items[i];
        struct file_name file = file_of_item(&item);
        if (!bsearch(&file, files, keep, sizeof file, compare_files))
            continue;
        part->items[i] = part->items[kept];
        part->items[kept++] = item;
    }
    for (size_t i = kept; i < part->count; i++)
        item_free(&part->items[i]);
    part->count = kept;
}

int split_keep_files(struct split *s, int workers, struct err *e)
{
    size_t n = 0, images = s->train.count;

    if (s->format != SOURCE_TFRECORD)
        return err_set(e, ERR_CONFIG, "data.files: workers needs TFRecord files, but %s has none; "
                       "use data.files: all", s->dir);
    struct file_name *files = mem_alloc(images, sizeof *files, e);
    if (!files)
        return -1;
    for (size_t i = 0; i < images; i++)
        files[i] = file_of_item(&s->train.items[i]);
    qsort(files, images, sizeof *files, compare_files);
    for (size_t i = 0; i < images; i++)
        if (n == 0 || compare_files(&files[i], &files[n - 1]) != 0)
            files[n++] = files[i];
    size_t keep = n / (size_t)workers * (size_t)workers;
    if (keep > 0 && keep < n)
        drop_files(&s->train, files, keep);
    free(files);
    if (keep == 0)
        return err_set(e, ERR_DATA, "%s: %zu TFRecord file%s with training images is not enough "
                       "for %d workers; divide the records among more files, or use fewer GPUs", s->dir, n, plural(n), workers);
    if (keep < n)
        log_info("data.files: using %zu of %zu TFRecord files for %d workers, %zu of %zu images",
                 keep, n, workers, s->train.count, images);
    return 0;
}
