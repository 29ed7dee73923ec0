/* SPDX-License-Identifier: BSD-3-Clause */
/* Which samples train and which validate: dividing them, and the file of the division. */
#include "src/base.h"
#include "trainer/data/set/dataset.h"

#include "src/atomicfile.h"
#include "src/format/schema.h"
#include "src/rng.h"
#include "trainer/data/set/set_internal.h"
#include "trainer/json/cjson.h"

/* Divides the pairs by lists, folders or seed, or takes all for validation. Copies of an image,
 * found by the hash of its pixels, and images of one group (data.group) are never on both sides:
 * the seed divides groups, lists that separate them are refused, and if folders separate them,
 * those for training are left out. Tiles and pages of one file are groups for the seed, while lists
 * may separate them. The seed divides each class of images by itself. */

/* The stream of rng.h that divides a split; other modules use other streams. */
#define STREAM_SPLIT (UINT64_C(0x53504c54) << 32)
#define SPLIT_FOLDS_MAX 100

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
    free(s->group);
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

/* Moves each group that still fits into `want` items to validation, in this order. If none fits,
 * moves the smallest. Returns the number of items moved. */
static size_t pick_groups(const struct by_hash *sorted, const size_t *start, size_t ngroups,
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
    return taken ? taken : start[smallest + 1] - start[smallest];
}

/* Divides the groups in this order, each class (label, or NULL: one) by itself; what is rounded
 * down in one class is made up in the next. own: room for as many groups. Returns the number of
 * items moved to validation, 0 if no class has two groups. */
static size_t pick_classes(const struct by_hash *sorted, const size_t *start, size_t ngroups,
                           const size_t *order, const int *label, double val_fraction, size_t *own,
                           bool *val)
{
    size_t seen = 0, taken = 0;
    int last = 0;

    for (size_t i = 0; label && i < start[ngroups]; i++)
        last = label[i] > last ? label[i] : last;
    for (int class = 0; class <= last; class++) {
        size_t n = 0, items = 0;
        for (size_t k = 0; k < ngroups; k++) {
            size_t g = order[k];
            if (label && label[sorted[start[g]].index] != class)
                continue;
            items += start[g + 1] - start[g];
            own[n++] = g;
        }
        seen += items;
        /* Without the epsilon 0.29 x 100 would give 28: it is 28.999999999999996. */
        size_t want = (size_t)(val_fraction * (double)seen + 1e-6);
        want = want <= taken ? 1 : want - taken > items - 1 ? items - 1 : want - taken;
        if (n > 1)
            taken += pick_groups(sorted, start, n, own, want, val);
    }
    return taken;
}

/* Gives each group, in this order and class by class, to the fold with the fewest items of the
 * class, of all classes, and the lowest number. */
static void pick_fold(const struct by_hash *sorted, const size_t *start, size_t ngroups,
                      const size_t *order, const int *label, int folds, int fold, bool *val)
{
    size_t all[SPLIT_FOLDS_MAX] = {0}, own[SPLIT_FOLDS_MAX];
    int last = 0;

    for (size_t i = 0; label && i < start[ngroups]; i++)
        last = label[i] > last ? label[i] : last;
    for (int class = 0; class <= last; class++) {
        memset(own, 0, sizeof own);
        for (size_t k = 0; k < ngroups; k++) {
            size_t g = order[k], size = start[g + 1] - start[g];
            int to = 0;
            if (label && label[sorted[start[g]].index] != class)
                continue;
            for (int f = 1; f < folds; f++)
                if (own[f] < own[to] || (own[f] == own[to] && all[f] < all[to]))
                    to = f;
            own[to] += size;
            all[to] += size;
            for (size_t i = start[g]; i < start[g + 1]; i++)
                val[sorted[i].index] = to == fold - 1;
        }
    }
}

int split_divide(const struct split_config *config, size_t n, const char *const *hash,
                 const int *label, bool *val, struct err *e)
{
    double val_fraction = config->val_fraction;
    struct by_hash *sorted = sort_by_hash(hash, n, e);
    size_t *start = mem_alloc(3 * (n + 1), sizeof *start, e), *order = start + n + 1;
    size_t *own = order + n + 1;
    int rc = sorted && start ? 0 : -1;
    size_t ngroups = rc ? 0 : find_groups(sorted, n, start);

    memset(val, 0, n * sizeof *val);
    if (rc == 0 && ngroups < (size_t)config->folds)
        rc = err_set(e, ERR_DATA, "%zu different image%s, or groups of images that stay on one side, "
                     "do not fill %d folds; lower data.folds", ngroups, plural((long)ngroups),
                     config->folds);
    else if (rc == 0 && !config->folds && ngroups < 2)
        rc = err_set(e, ERR_DATA, n < 2
                     ? "there is only one pair; training and validation need one each"
                     : "all images are equal, of one group (data.group), or tiles or pages of one "
                       "file; to divide them, name the images of each side (data split "
                       "--train-list, --val-list)");
    if (rc == 0)
        rng_permutation((uint64_t)config->seed, STREAM_SPLIT, ngroups, order);
    if (rc == 0 && config->folds)
        pick_fold(sorted, start, ngroups, order, label, config->folds, config->fold, val);
    else if (rc == 0 && !pick_classes(sorted, start, ngroups, order, label, val_fraction, own, val))
        pick_classes(sorted, start, ngroups, order, NULL, val_fraction, own, val);
    free(start);
    free(sorted);
    return rc;
}

/* A score over masks without foreground says nothing, nor one over masks of one class. */
static int check_fold(const struct split_config *config, enum mask_scale scale,
                      const struct candidate *c, size_t n, struct err *e)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        if (c[i].side == SOURCE_VAL && c[i].mask.max > 0)
            return 0;
        count += c[i].side == SOURCE_VAL;
    }
    return err_set(e, ERR_DATA, "%s: fold %d of %d has no %s in its %zu masks; lower data.folds, "
                   "or choose another data.split_seed", config->dir, config->fold, config->folds,
                   scale == MASK_CLASS ? "class but the first" : "foreground", count);
}

static int divide_by_seed(const struct split_config *config, int nclasses, struct candidate *c,
                          size_t n, struct err *e)
{
    const char **hash = mem_zero(n, sizeof *hash, e);
    int *label = hash ? mem_zero(n, sizeof *label, e) : NULL;
    bool *val = label ? mem_zero(n, sizeof *val, e) : NULL;
    int rc = val ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        hash[i] = c[i].key;
        label[i] = c[i].item.label;
    }
    if (rc == 0 && split_divide(config, n, hash, nclasses ? label : NULL, val, e))
        rc = err_prefix(e, "%s", config->dir);
    for (size_t i = 0; rc == 0 && i < n; i++)
        c[i].side = val[i] ? SOURCE_VAL : SOURCE_TRAIN;
    free(val);
    free(label);
    free(hash);
    return rc;
}

/* Maps the images of one side, by their keys, to their indices. */
static int map_side(const struct candidate *c, size_t n, enum source_side side, struct map *dst,
                    struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (c[i].side == side && map_set(dst, c[i].key, i))
            return mem_fail(e);
    return 0;
}

/* Refuses lists that have the same image, or images of one group, for training and for
 * validation. */
static int refuse_leak(const struct candidate *c, size_t n, struct err *e)
{
    struct map val = {0};
    int rc = map_side(c, n, SOURCE_VAL, &val, e);
    size_t k;

    for (size_t i = 0; rc == 0 && i < n; i++)
        if (c[i].side == SOURCE_TRAIN && map_get(&val, c[i].key, &k))
            rc = err_set(e, ERR_DATA, "%s and %s are %s, but one is for training and one for "
                         "validation", c[i].item.image, c[k].item.image,
                         strcmp(c[i].pixels, c[k].pixels) == 0 ? "the same image"
                                                               : "of one group (data.group)");
    map_destroy(&val);
    return rc;
}

/* Keeps the folders' division. Some well-known data sets have the same image on both sides; it is
 * then not used for training, nor is an image whose group is on both. */
static int divide_by_folder(bool grouped, struct candidate *c, size_t n, struct err *e)
{
    size_t ndropped = 0, nneither = 0;
    struct map val = {0};
    int rc = map_side(c, n, SOURCE_VAL, &val, e);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        nneither += c[i].side == SOURCE_ANY;
        if (c[i].side == SOURCE_TRAIN && map_get(&val, c[i].key, NULL)) {
            c[i].side = SOURCE_ANY;
            ndropped++;
        }
    }
    map_destroy(&val);
    if (rc == 0 && nneither)
        log_info("%zu images belong neither to training nor to validation and are not used",
                 nneither);
    if (rc == 0 && ndropped)
        log_warn("%zu training images are also validation images%s; training does not use them",
                 ndropped, grouped ? ", or of their groups (data.group)" : "");
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

/* Warns if names suggest that pieces of one file, or images of one object, are on both sides. The
 * seed keeps pieces together. Names of one kind, in folders of classes one kind each, are usual. */
static int warn_of_names(const struct split_config *config, const struct source *source,
                         bool by_seed, struct candidate *c, struct err *e)
{
    size_t n = source->count, nsets = 0, ntrain = 0, separated = 0, example = 0, k = 0;
    struct map val = {0};
    int rc = candidates_join(config, source->format, by_seed ? JOIN_ALIKE : JOIN_PIECES, c, n, e) ||
                     map_side(c, n, SOURCE_VAL, &val, e) ? -1 : 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        nsets += c[i].key == c[i].pixels;
        ntrain += c[i].side == SOURCE_TRAIN;
        if (c[i].side == SOURCE_TRAIN && map_get(&val, c[i].key, &k)) {
            separated++;
            example = i;
        }
    }
    if (separated)
        map_get(&val, c[example].key, &k);
    const char *a = c[example].item.stem, *b = c[k].item.stem;
    if (separated && !by_seed)
        log_warn("%s and %s are pieces of one file, but the lists put them on different sides, as "
                 "they do %zu training images and other pieces of their files", a, b, separated);
    else if (nsets > (source->nclasses ? (size_t)source->nclasses : 1) && 4 * separated >= ntrain)
        log_warn("%zu training images differ from a validation image only in the last number of "
                 "their names, as %s from %s: if such images show one object or patient, keep them "
                 "together by data.group='^(.*[^0-9])[0-9]+[^0-9]*$' (data split --group)",
                 separated, a, b);
    map_destroy(&val);
    return rc;
}

/* Warns if equal images have different masks or classes: one of them is wrong. */
static int warn_of_contradictions(const struct candidate *c, size_t n, struct err *e)
{
    struct map first = {0};
    size_t k, a = 0, b = 0, count = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++)
        if (!map_get(&first, c[i].pixels, &k))
            rc = map_set(&first, c[i].pixels, i) ? mem_fail(e) : 0;
        else if (c[i].item.label != c[k].item.label ||
                 strcmp(c[i].item.mask_sha256, c[k].item.mask_sha256) != 0)
            count++, a = k, b = i;
    if (count)
        log_warn("%zu image%s equal to another one, but with another mask or class, such as %s and "
                 "%s: are they paired rightly?", count, count == 1 ? " is" : "s are",
                 c[a].item.image, c[b].item.image);
    map_destroy(&first);
    return rc;
}

/* Divides by the first of these that applies: lists, "all for validation", the folders, the
 * seed. */
static int divide_candidates(const struct split_config *config, const struct source *source,
                             struct candidate *c, struct split *s, struct err *e)
{
    bool given = config->train_list, all = !given && config->val_fraction >= 1;
    bool divided = source_is_divided(source), by_seed = !all && !divided;
    bool grouped = config->group && *config->group;
    size_t n = source->count;
    if (config->folds && !by_seed)
        return err_set(e, ERR_CONFIG, "%s: data.folds: its images are divided already, by %s; leave "
                       "data.folds out, or give one folder of images", config->dir,
                       given ? "lists" : "folders, shards or lists of names");
    int rc = all ? 0 : candidates_join(config, source->format, by_seed ? JOIN_PIECES : JOIN_GROUPS,
                                       c, n, e);

    for (size_t i = 0; all && i < n; i++)
        c[i].side = SOURCE_VAL;
    if (rc == 0 && !all)
        rc = given     ? refuse_leak(c, n, e)
             : divided ? divide_by_folder(grouped, c, n, e)
                       : divide_by_seed(config, source->nclasses, c, n, e);
    if (rc == 0 && config->folds && !source->nclasses)
        rc = check_fold(config, s->mask_scale, c, n, e);
    if (rc == 0 && !all && !grouped)
        rc = warn_of_names(config, source, by_seed, c, e);
    if (rc == 0 && !all)
        rc = take_side(c, n, SOURCE_TRAIN, &s->train, e);
    if (rc || take_side(c, n, SOURCE_VAL, &s->val, e))
        return -1;
    if (grouped && !(s->group = mem_text(config->group, e)))
        return -1;
    bool computed = (divided && !all) || config->folds;
    s->folds = config->folds;
    s->fold = config->folds ? config->fold : 0;
    s->seed = computed && !config->folds ? 0 : config->seed;
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
        c = candidates_read(config, source, &s->mask_scale, &s->levels, e);
    if (c)
        rc = warn_of_contradictions(c, source->count, e);
    if (c && rc == 0)
        rc = divide_candidates(config, source, c, s, e);
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

int split_leave_out(struct split *s, const char *run_split, size_t *n, struct err *e)
{
    struct split *run = split_read(run_split, e);
    struct map train = {0};
    size_t all = s->val.count, kept = 0;
    int rc = run ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < run->train.count; i++)
        rc = map_set(&train, run->train.items[i].image_sha256, i) ? mem_fail(e) : 0;
    for (size_t i = 0; rc == 0 && i < all; i++)
        if (map_get(&train, s->val.items[i].image_sha256, NULL))
            item_free(&s->val.items[i]);
        else
            s->val.items[kept++] = s->val.items[i];
    s->val.count = rc == 0 ? kept : all;
    *n = all - s->val.count;
    if (rc == 0 && kept == 0)
        rc = err_set(e, ERR_DATA, "%s: all %zu images are training images of this run (%s), on "
                     "which a score says little; --all counts them", s->dir, all, run_split);
    if (rc == 0 && *n)
        log_info("%zu of %zu images are training images of this run (%s) and are left out; --all "
                 "counts them", *n, all, run_split);
    map_destroy(&train);
    split_destroy(run);
    return rc;
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

/* Encodes and decodes split.json. An error names the file, and the key if a value is wrong. */

#define MAX_BYTES ((size_t)256 << 20)

static void encode_part(const struct split_part *part, cJSON *list)
{
    for (size_t i = 0; i < part->count; i++) {
        const struct split_item *item = &part->items[i];
        cJSON *o = cjson_object(list, NULL);
        cjson_addf(o, "stem=%s image=%s", item->stem, item->image);
        if (item->mask)
            cjson_addf(o, "mask=%s", item->mask);
        else
            cjson_addf(o, "class=%d", item->label);
        cjson_addf(o, "width=%d height=%d", item->width, item->height);
        if (item->orientation > 1)
            cjson_addf(o, "orientation=%d", item->orientation);
        if (item->mask_orientation > 1)
            cjson_addf(o, "mask_orientation=%d", item->mask_orientation);
        cjson_addf(o, "image_sha256=%s", item->image_sha256);
        if (item->mask)
            cjson_addf(o, "mask_sha256=%s", item->mask_sha256);
    }
}

char *split_encode(const struct split *s, struct err *e)
{
    cJSON *o = cJSON_CreateObject();
    char fraction[32];

    snprintf(fraction, sizeof fraction, "%.10g", s->val_fraction);
    cjson_addf(o, "schema=%d data=%s seed=%" PRId64, SCHEMA, s->dir, s->seed);
    cjson_add(o, "val_fraction", cJSON_CreateRaw(fraction));
    if (s->folds)
        cjson_addf(o, "folds=%d fold=%d", s->folds, s->fold);
    if (s->group)
        cjson_addf(o, "group=%s", s->group);
    cjson_addf(o, "mask_max=%d image_bits=%d", (int)s->mask_scale, s->levels.bits);
    if (s->levels.values[1] > s->levels.values[0])
        cjson_add(o, "image_levels", cJSON_CreateDoubleArray(s->levels.values, 2));
    if (s->format != SOURCE_PAIRS)
        cjson_addf(o, "format=%s", source_format_encode(s->format));
    if (s->nclasses)
        cjson_add(o, "classes",
                  cJSON_CreateStringArray((const char *const *)s->class_names, s->nclasses));
    encode_part(&s->train, cjson_array(o, "train"));
    encode_part(&s->val, cjson_array(o, "val"));
    return cjson_print(o, "\n", e);
}

int split_write(const struct split *s, const char *path, struct err *e)
{
    char *text = split_encode(s, e);
    int rc = text ? atomicfile_write(path, text, strlen(text), 0666, e) : -1;

    free(text);
    return rc;
}

static char *get_string(const cJSON *object, const char *key, struct err *e)
{
    const char *text = cjson_text(object, key);

    if (*text)
        return mem_text(text, e);
    err_set(e, ERR_DATA, "\"%s\" is missing or not a string", key);
    return NULL;
}

static int get_int(const cJSON *object, const char *key, double min, double max, int64_t *dst,
                   struct err *e)
{
    return cjson_read_int(object, key, min, max, ERR_DATA, dst, e);
}

static int get_hash(const cJSON *object, const char *key, char dst[65], struct err *e)
{
    const char *hex = cjson_text(object, key);

    if (strlen(hex) != 64 || strspn(hex, "0123456789abcdef") != 64)
        return err_set(e, ERR_DATA, "\"%s\" is missing or not a SHA-256", key);
    memcpy(dst, hex, 65);
    return 0;
}

static int get_orientation(const cJSON *object, const char *key, int *dst, struct err *e)
{
    int64_t v = 1;

    if (cJSON_GetObjectItemCaseSensitive(object, key) && get_int(object, key, 1, 8, &v, e))
        return -1;
    *dst = (int)v;
    return 0;
}

/* nclasses: 0 for a split with masks. */
static int decode_item(const cJSON *object, int nclasses, struct split_item *item, struct err *e)
{
    int64_t width, height, label = 0;

    if (!(item->stem = get_string(object, "stem", e)) ||
        !(item->image = get_string(object, "image", e)) ||
        (nclasses ? get_int(object, "class", 0, nclasses - 1, &label, e)
                  : !(item->mask = get_string(object, "mask", e))) ||
        get_int(object, "width", 1, PIXELS_MAX_SIDE, &width, e) ||
        get_int(object, "height", 1, PIXELS_MAX_SIDE, &height, e) ||
        get_orientation(object, "orientation", &item->orientation, e) ||
        get_orientation(object, "mask_orientation", &item->mask_orientation, e) ||
        get_hash(object, "image_sha256", item->image_sha256, e) ||
        (!nclasses && get_hash(object, "mask_sha256", item->mask_sha256, e)))
        return -1;
    item->label = (int)label;
    item->width = (uint32_t)width;
    item->height = (uint32_t)height;
    return 0;
}

static int decode_part(const cJSON *root, const char *name, int nclasses, struct split_part *part,
                       struct err *e)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(root, name), *object;
    int n = cJSON_IsArray(array) ? cJSON_GetArraySize(array) : 0;

    if (n == 0)
        return err_set(e, ERR_DATA, "\"%s\" is missing or empty", name);
    if (!(part->items = mem_zero((size_t)n, sizeof *part->items, e)))
        return -1;
    cJSON_ArrayForEach(object, array)
    {
        if (decode_item(object, nclasses, &part->items[part->count++], e))
            return err_prefix(e, "%s[%zu]", name, part->count - 1);
    }
    return 0;
}

static int decode_format(const cJSON *root, struct split *s, struct err *e)
{
    const cJSON *classes = cJSON_GetObjectItemCaseSensitive(root, "classes");

    if (cJSON_HasObjectItem(root, "format") &&
        source_format_decode(cjson_text(root, "format"), &s->format, e))
        return -1;
    return !cJSON_IsArray(classes) ? 0 : cjson_read_texts(classes, "classes", ERR_DATA,
                                                          &s->class_names, &s->nclasses, e);
}

/* Refuses an image that is in both parts, as a file that was edited may have it. */
static int check_disjoint(const struct split *s, struct err *e)
{
    struct map val = {0};
    int rc = 0;
    size_t k;

    for (size_t i = 0; rc == 0 && i < s->val.count; i++)
        if (map_set(&val, s->val.items[i].image_sha256, i))
            rc = mem_fail(e);
    for (size_t i = 0; rc == 0 && i < s->train.count; i++)
        if (map_get(&val, s->train.items[i].image_sha256, &k))
            rc = err_set(e, ERR_DATA, "%s and %s are the same image, but one is in \"train\" and one "
                         "in \"val\"; `unet-train data split` creates a file without such pairs",
                         s->train.items[i].image, s->val.items[k].image);
    map_destroy(&val);
    return rc;
}

static int decode_split(const cJSON *root, struct split *s, struct err *e)
{
    const cJSON *fraction = cJSON_GetObjectItemCaseSensitive(root, "val_fraction");
    int64_t schema, mask_max, folds = 0, fold = 0;

    if (get_int(root, "schema", 1, 1e6, &schema, e))
        return -1;
    if (schema_check((double)schema, ERR_DATA, e) || !(s->dir = get_string(root, "data", e)) ||
        get_int(root, "seed", -0x1p53, 0x1p53, &s->seed, e) ||
        get_int(root, "mask_max", MASK_CLASS, MASK_FULL, &mask_max, e))
        return -1;
    if (mask_max != MASK_CLASS && mask_max != MASK_UNIT && mask_max != MASK_FULL)
        return err_set(e, ERR_DATA, "\"mask_max\" must be 1 or 255, or 0 for classes");
    if (!cJSON_IsNumber(fraction))
        return err_set(e, ERR_DATA, "\"val_fraction\" is missing or not a number");
    if (cJSON_HasObjectItem(root, "group") && !(s->group = get_string(root, "group", e)))
        return -1;
    if (cJSON_HasObjectItem(root, "folds") &&
        (get_int(root, "folds", 2, SPLIT_FOLDS_MAX, &folds, e) ||
         get_int(root, "fold", 1, (double)folds, &fold, e)))
        return -1;
    s->folds = (int)folds;
    s->fold = (int)fold;
    s->mask_scale = (enum mask_scale)mask_max;
    s->levels.bits = (int)fmin(cjson_number(root, "image_bits"), 32); /* 0: an earlier version's */
    s->val_fraction = fraction->valuedouble;
    if (cjson_read_pair(root, "image_levels", ERR_DATA, s->levels.values, e) ||
        decode_format(root, s, e) || decode_part(root, "train", s->nclasses, &s->train, e))
        return -1;
    return decode_part(root, "val", s->nclasses, &s->val, e) || check_disjoint(s, e) ? -1 : 0;
}

struct split *split_read(const char *path, struct err *e)
{
    cJSON *root = cjson_read(path, MAX_BYTES, ERR_DATA, e);
    struct split *s = root ? mem_zero(1, sizeof *s, e) : NULL;

    if (!root && access(path, F_OK) != 0 && errno == ENOENT)
        err_set(e, ERR_DATA,
                "%s: no such file; `unetctl generate` or `unet-train data split` creates it", path);
    if (s && decode_split(root, s, e)) {
        err_prefix(e, "%s", path);
        split_destroy(s);
        s = NULL;
    }
    cJSON_Delete(root);
    return s;
}
