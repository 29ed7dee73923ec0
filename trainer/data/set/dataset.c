/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples are decoded once to records, which are kept in memory or in a cache file. */
#include "src/base.h"
#include "trainer/data/set/dataset.h"

#include <pthread.h>

#include "src/format/sha256.h"
#include "trainer/core/host.h"
#include "trainer/data/set/set_internal.h"

struct dataset_sample {
    pthread_mutex_t lock; /* held while the sample is decoded; bytes do not change later */
    char *bytes;          /* a struct record, or NULL before it is decoded */
};

/* With cache "auto": the largest size of samples in memory, over all sharers. */
#define AUTO_MEMORY ((double)(256 << 20))

struct dataset {
    struct split *split;
    struct source *source;
    int ignore;              /* mask value to ignore, or -1 */
    struct classes *classes; /* NULL for foreground and background */
    struct dataset_sample *samples; /* training samples, then validation */
    size_t nsamples;
    struct cache *cache;     /* NULL if samples are kept in memory */
    struct dataset_config config;
};

static const struct split_part *get_part(const struct dataset *ds, enum dataset_part part)
{
    return part == DATASET_TRAIN ? &ds->split->train : &ds->split->val;
}

static struct dataset_sample *get_sample(const struct dataset *ds, enum dataset_part part, size_t i)
{
    return &ds->samples[part == DATASET_TRAIN ? i : ds->split->train.count + i];
}

size_t dataset_count(const struct dataset *ds, enum dataset_part part)
{
    return get_part(ds, part)->count;
}

const char *dataset_name(const struct dataset *ds, enum dataset_part part, size_t i)
{
    return get_part(ds, part)->items[i].stem;
}

uint64_t dataset_hash(const struct dataset *ds)
{
    uint64_t h = HASH_BEGIN;

    for (int part = DATASET_TRAIN; part <= DATASET_VAL; part++) {
        const struct split_part *p = get_part(ds, (enum dataset_part)part);
        for (size_t i = 0; i < p->count; i++) {
            h = hash_text(h, p->items[i].stem);
            h = hash_text(h, p->items[i].image_sha256);
            h = hash_text(h, p->items[i].mask_sha256);
        }
        h = hash_text(h, "");
    }
    return h;
}

/* Returns the size of an image's record. */
static struct dataset_sides sides_of(const struct dataset *ds, const struct split_item *item)
{
    return ds->config.native ? (struct dataset_sides){(int)item->height, (int)item->width}
                             : (struct dataset_sides){ds->config.height, ds->config.width};
}

bool dataset_is_native(const struct dataset *ds)
{
    return ds->config.native;
}

struct dataset_sides dataset_sides(const struct dataset *ds, enum dataset_part part, size_t i)
{
    return sides_of(ds, &get_part(ds, part)->items[i]);
}

static bool is_size(struct dataset_sides to, uint32_t width, uint32_t height)
{
    return width == (uint32_t)to.width && height == (uint32_t)to.height;
}

static int check_size(const struct dataset *ds, const struct split_item *item, const char *file,
                      int orientation, struct err *e)
{
    uint32_t width = item->width, height = item->height;

    orientation_size(orientation, &width, &height);
    return source_check(ds->source, file, width, height, e);
}

static int check_part(const struct dataset *ds, enum dataset_part part, struct err *e)
{
    const struct split_part *p = get_part(ds, part);

    for (size_t i = 0; i < p->count; i++) {
        const struct split_item *item = &p->items[i];
        if (check_size(ds, item, item->image, item->orientation, e) ||
            (item->mask && check_size(ds, item, item->mask, item->mask_orientation, e)))
            return -1;
    }
    return 0;
}

static int check_files(void *arg, struct err *e)
{
    return check_part(arg, DATASET_TRAIN, e) || check_part(arg, DATASET_VAL, e) ? -1 : 0;
}

static struct split *create_split(const struct dataset_config *config, struct err *e)
{
    struct split_config all = {.dir = config->dir, .folders = config->folders, .val_fraction = 1,
                               .masks = config->masks};

    struct split *s = split_create(&all, e);

    if (s && config->run_split && split_leave_out(s, config->run_split, config->left_out, e)) {
        split_destroy(s);
        return NULL;
    }
    return s;
}

/* The split was made for masks of classes, or of foreground and background; checks that the
 * configuration is for the same. */
static int check_classes(const struct dataset *ds, const char *split_file, struct err *e)
{
    if (ds->split->nclasses || (ds->split->mask_scale == MASK_CLASS) == (ds->classes != NULL))
        return 0;
    return err_set(e, ERR_DATA, "%s: this split is for masks %s, but data.classes is %d and "
                   "data.class_file is %s; create a new split, or restore these settings",
                   split_file ? split_file : ds->split->dir,
                   ds->classes ? "of foreground and background" : "whose values are classes",
                   dataset_classes(ds),
                   ds->classes && *classes_text(ds->classes) ? "set" : "empty");
}

/* Without levels data.scale=auto is full range. */
static int choose_levels(struct dataset *ds, const struct dataset_config *config, struct err *e)
{
    const struct picture_levels *levels = config->levels ? config->levels : &ds->split->levels;

    if (config->scale == SCALE_AUTO && !config->levels && !levels->bits)
        return err_set(e, ERR_DATA, "%s: an earlier version made this split, without the levels "
                       "that data.scale=auto needs: make a new one, or set data.scale=full",
                       config->split_file ? config->split_file : ds->split->dir);
    ds->config.levels = levels;
    if (config->scale == SCALE_AUTO && levels->values[1] <= levels->values[0])
        ds->config.scale = SCALE_FULL;
    return 0;
}

static int open_split(struct dataset *ds, const struct dataset_config *config, struct err *e)
{
    if (classes_open(&config->masks, &ds->ignore, &ds->classes, e))
        return -1;
    ds->split = config->split_file ? split_read(config->split_file, e) : create_split(config, e);
    if (!ds->split || check_classes(ds, config->split_file, e) ||
        (config->workers > 0 && split_keep_files(ds->split, config->workers, e)))
        return -1;
    ds->source = source_attach(config->dir ? config->dir : ds->split->dir, ds->split->format, e);
    return ds->source ? choose_levels(ds, config, e) : -1;
}

void dataset_close(struct dataset *ds)
{
    if (!ds)
        return;
    for (size_t i = 0; i < ds->nsamples; i++) {
        free(ds->samples[i].bytes);
        pthread_mutex_destroy(&ds->samples[i].lock);
    }
    free(ds->samples);
    cache_close(ds->cache);
    classes_destroy(ds->classes);
    source_close(ds->source);
    split_destroy(ds->split);
    free(ds);
}

int dataset_size(const struct dataset *ds, int *height, int *width)
{
    *height = ds->config.height;
    *width = ds->config.width;
    return ds->config.channels;
}

/* Returns whether masks hold foreground and background: then class 0 of the network is the
 * foreground, which has label 1. */
static bool is_binary(const struct dataset *ds)
{
    return ds->config.masks.classes < 2;
}

bool dataset_has_masks(const struct dataset *ds)
{
    return ds->split->nclasses == 0;
}

size_t dataset_targets(const struct dataset *ds)
{
    return ds->split->nclasses ? 1 : (size_t)ds->config.height * (size_t)ds->config.width;
}

int dataset_classes(const struct dataset *ds)
{
    return ds->split->nclasses ? ds->split->nclasses
           : ds->classes && !is_binary(ds) ? classes_count(ds->classes) : 1;
}

const char *dataset_class_name(const struct dataset *ds, int i)
{
    return ds->split->nclasses ? ds->split->class_names[i]
           : ds->classes       ? classes_name(ds->classes, i + is_binary(ds)) : "foreground";
}

static void number_part(struct split_part *part, const int *numbers)
{
    for (size_t i = 0; i < part->count; i++)
        part->items[i].label = numbers[part->items[i].label];
}

int dataset_number_classes(struct dataset *ds, char *const *names, int count, struct err *e)
{
    struct split *s = ds->split;
    int numbers[256], nfound = 0, unknown = 0;
    char shown[FILENAME_TEXT_SIZE];

    for (int i = s->nclasses - 1; i >= 0 && s->nclasses <= 256; i--) {
        numbers[i] = count;
        while (numbers[i] > 0 && strcmp(names[numbers[i] - 1], s->class_names[i]) != 0)
            numbers[i]--;
        nfound += numbers[i] > 0;
        unknown = numbers[i]-- > 0 ? unknown : i;
    }
    if (nfound == 0)
        return 0;
    if (nfound < s->nclasses)
        return err_set(e, ERR_DATA, "%s: \"%s\" is a class here and not in training, and %d of %d "
                       "classes are: classes are compared by their names", s->dir,
                       filename_escape(s->class_names[unknown], shown, sizeof shown), nfound,
                       s->nclasses);
    char **own = mem_zero((size_t)count, sizeof *own, e);
    if (!own)
        return -1;
    for (int i = 0; i < s->nclasses; i++)
        free(s->class_names[i]);
    free(s->class_names);
    s->class_names = own;
    s->nclasses = count;
    number_part(&s->train, numbers);
    number_part(&s->val, numbers);
    for (int i = 0; i < count; i++)
        if (!(own[i] = mem_text(names[i], e)))
            return -1;
    return 0;
}

const struct picture_levels *dataset_levels(const struct dataset *ds)
{
    return &ds->split->levels;
}

const char *dataset_class_file(const struct dataset *ds)
{
    return ds->classes ? classes_text(ds->classes) : "";
}

/* Returns whether targets are class labels, so that pixels can be ignored. */
static bool is_labelled(const struct dataset *ds)
{
    return ds->classes || ds->ignore >= 0 || ds->split->nclasses;
}

static size_t count_pixels(struct dataset_sides to)
{
    return (size_t)to.height * (size_t)to.width;
}

static size_t count_values(const struct dataset *ds, struct dataset_sides to)
{
    return count_pixels(to) * (size_t)ds->config.channels;
}

static size_t count_targets(const struct dataset *ds, struct dataset_sides to)
{
    return ds->split->nclasses ? 1 : count_pixels(to);
}

/* Estimates the size of the decoded samples of a part, assuming files of 8 bits. */
static uint64_t estimate_part(const struct dataset *ds, enum dataset_part part)
{
    const struct split_part *p = get_part(ds, part);
    uint64_t nbytes = 0;

    for (size_t i = 0; i < p->count; i++) {
        struct dataset_sides to = sides_of(ds, &p->items[i]);
        bool same = is_size(to, p->items[i].width, p->items[i].height);
        enum record_kind mask = same ? RECORD_BYTES : RECORD_NUMBERS;
        enum record_kind image = ds->config.scale == SCALE_FULL ? mask : RECORD_NUMBERS;
        nbytes += record_size(image, count_values(ds, to), is_labelled(ds) ? RECORD_LABELS : mask,
                              count_targets(ds, to));
    }
    return nbytes;
}

static int put_image(const struct dataset *ds, const struct pixels *img, const char *name,
                     enum record_kind kind, struct dataset_sides to, void *dst, struct err *e)
{
    size_t n = (size_t)img->width * img->height * (size_t)ds->config.channels;
    float *numbers = dst;

    if (kind == RECORD_BYTES) {
        picture_to_bytes(img, ds->config.channels, dst);
        return 0;
    }
    bool resizes = !is_size(to, img->width, img->height);
    if (resizes && !(numbers = mem_alloc(n, sizeof *numbers, e)))
        return -1;
    int rc = scale_picture(img, ds->config.channels, ds->config.scale,
                           ds->config.levels->values, name, numbers, e);
    if (rc == 0 && resizes)
        resize_pad(numbers, (int)img->height, (int)img->width, dst, to.height, to.width,
                   ds->config.channels);
    if (resizes)
        free(numbers);
    return rc;
}

static int put_labels(const struct dataset *ds, const struct pixels *mask, const char *name,
                      struct dataset_sides to, uint8_t *dst, struct err *e)
{
    uint8_t *labels = mem_alloc((size_t)mask->width * mask->height, 1, e);
    int rc = 0;

    if (!labels)
        return -1;
    if (ds->classes)
        rc = classes_label(ds->classes, mask, name, labels, e);
    else
        mask_label(mask, ds->ignore, labels);
    if (rc == 0)
        resize_pad_labels(labels, (int)mask->height, (int)mask->width, dst, to.height, to.width,
                          RECORD_IGNORE);
    free(labels);
    return rc;
}

static int put_target(const struct dataset *ds, const struct pixels *mask, const char *name,
                      const struct record *r, struct dataset_sides to, void *dst, struct err *e)
{
    size_t n = (size_t)mask->width * mask->height;

    if (r->target_kind == RECORD_LABELS)
        return put_labels(ds, mask, name, to, dst, e);
    if (r->target_kind == RECORD_BYTES) {
        memcpy(dst, mask->samples, n);
        return 0;
    }
    float *numbers = mem_alloc(n, sizeof *numbers, e);
    if (!numbers)
        return -1;
    for (size_t i = 0; i < n; i++)
        numbers[i] = (float)pixels_sample(mask, i) / r->target_divisor;
    resize_pad(numbers, (int)mask->height, (int)mask->width, dst, to.height, to.width, 1);
    free(numbers);
    return 0;
}

static enum record_kind kind_of_values(struct dataset_sides to, const struct pixels *img)
{
    return img->bits == 8 && is_size(to, img->width, img->height) ? RECORD_BYTES : RECORD_NUMBERS;
}

static int make_record(const struct dataset *ds, const struct split_item *item,
                       const struct pixels *img, const struct pixels *mask, struct buf *dst,
                       struct err *e)
{
    struct record r = {.image_kind = RECORD_NUMBERS, .target_kind = RECORD_LABELS};
    struct dataset_sides to = sides_of(ds, item);

    if (ds->config.native && !is_size(to, img->width, img->height))
        return err_set(e, ERR_DATA, "%s: %u x %u pixels (width, height), but its split says %d x "
                       "%d; make a new split", item->image, img->width, img->height, to.width,
                       to.height);
    if (ds->config.scale == SCALE_FULL)
        r.image_kind = kind_of_values(to, img);
    if (mask && !is_labelled(ds)) {
        r.target_kind = kind_of_values(to, mask);
        r.target_divisor = (float)mask_divisor(mask, ds->split->mask_scale);
    }
    size_t nbytes = record_nbytes(&r, count_values(ds, to), count_targets(ds, to));
    char *bytes = buf_reserve(dst, nbytes);
    if (!bytes)
        return mem_fail(e);
    dst->length += nbytes;
    memset(bytes, 0, nbytes);
    memcpy(bytes, &r, sizeof r);
    struct record *made = (void *)bytes;
    uint8_t *target = record_target(made, count_values(ds, to));
    if (put_image(ds, img, item->image, (enum record_kind)r.image_kind, to, record_image(made), e))
        return -1;
    if (!item->mask)
        *target = (uint8_t)item->label;
    else if (put_target(ds, mask, item->mask, made, to, target, e))
        return -1;
    return ds->config.native ? sampler_add_index(dst, count_values(ds, to), to, e) : 0;
}

static int decode_sample(const struct dataset *ds, const struct split_item *item, struct buf *dst,
                         struct err *e)
{
    bool coloured = ds->classes && classes_are_coloured(ds->classes);
    enum source_part part = coloured ? SOURCE_COLOURS : SOURCE_VALUES;
    struct pixels img, mask = {0};
    int rc = -1;

    if (source_decode(ds->source, item->image, SOURCE_IMAGE, item->image_sha256, NULL, &img, e))
        return -1;
    if (picture_check(&img, ds->config.channels, item->image, e) ||
        orientation_turn(&img, item->orientation, item->image, e)) {
        pixels_free(&img);
        return -1;
    }
    if (!item->mask)
        rc = make_record(ds, item, &img, NULL, dst, e);
    else if (source_decode(ds->source, item->mask, part, item->mask_sha256, NULL, &mask, e) == 0 &&
        orientation_turn(&mask, item->mask_orientation, item->mask, e) == 0 &&
        (ds->classes || mask_check(&mask, item->mask, ds->split->mask_scale, ds->ignore,
                                   ds->config.masks.soft, e) == 0))
        rc = make_record(ds, item, &img, &mask, dst, e);
    pixels_free(&mask);
    pixels_free(&img);
    return rc;
}

/* Checks that patches can be cut from all images. */
static int check_patches(const struct dataset *ds, struct err *e)
{
    int height = ds->config.height, width = ds->config.width;

    if (ds->split->nclasses)
        return err_set(e, ERR_CONFIG, "data.patch: patches are cut from images with masks, and "
                       "these have a class each; leave data.patch out");
    for (int part = DATASET_TRAIN; part <= DATASET_VAL; part++) {
        const struct split_part *p = get_part(ds, (enum dataset_part)part);
        for (size_t i = 0; i < p->count; i++)
            if (p->items[i].height < (uint32_t)height || p->items[i].width < (uint32_t)width)
                return err_set(e, ERR_DATA, "%s: is %ux%u pixels (height x width), smaller than "
                               "data.patch: %dx%d; set data.patch to a size within all images, or "
                               "leave this image out", p->items[i].image, p->items[i].height,
                               p->items[i].width, height, width);
    }
    return 0;
}

/* Hashes everything that decoded samples depend on. */
static int hash_key(const struct dataset *ds, char key[65], struct err *e)
{
    struct buf text = {0};

    /* at their own size records do not depend on the network's */
    buf_addf(&text, "2 %d %d %d %d %d %d %d\n", ds->config.native ? 0 : ds->config.height,
             ds->config.native ? 0 : ds->config.width, ds->config.channels, (int)ds->config.scale,
             (int)ds->split->mask_scale, ds->config.masks.soft, ds->ignore);
    if (ds->config.scale == SCALE_AUTO)
        buf_addf(&text, "%a %a\n", ds->config.levels->values[0], ds->config.levels->values[1]);
    if (ds->classes)
        classes_encode(ds->classes, &text);
    for (int part = DATASET_TRAIN; part <= DATASET_VAL; part++) {
        const struct split_part *p = get_part(ds, (enum dataset_part)part);
        for (size_t i = 0; i < p->count; i++)
            buf_addf(&text, "\n%d %s %s %d %d", part, p->items[i].image_sha256,
                     p->items[i].mask_sha256, p->items[i].label,
                     10 * p->items[i].orientation + p->items[i].mask_orientation);
    }
    int rc = text.failed ? mem_fail(e) : 0;
    sha256_bytes(text.data, text.length, key);
    buf_destroy(&text);
    return rc;
}

static int decode_into(void *arg, size_t i, struct buf *dst, struct err *e)
{
    struct dataset *ds = arg;
    const struct split_part *train = &ds->split->train, *val = &ds->split->val;

    return decode_sample(ds, i < train->count ? &train->items[i] : &val->items[i - train->count],
                         dst, e);
}

/* Sets dst to the folder of the cache file, or "" for none. */
static void choose_folder(const struct dataset_config *config, double nbytes, char dst[PATH_MAX])
{
    const char *slash = config->split_file ? strrchr(config->split_file, '/') : NULL;
    int sharers = config->sharers > 1 ? config->sharers : 1;

    *dst = 0;
    if (!config->cache || strcmp(config->cache, "off") == 0)
        return;
    if (strcmp(config->cache, "auto") != 0)
        snprintf(dst, PATH_MAX, "%s", config->cache);
    else if (config->split_file && nbytes * sharers > AUTO_MEMORY)
        snprintf(dst, PATH_MAX, "%.*scache", slash ? (int)(slash + 1 - config->split_file) : 0,
                 config->split_file);
}

static int check_memory(uint64_t nbytes, int sharers, struct err *e)
{
    struct host_memory room = host_memory_limit("", sharers);

    return nbytes <= room.nbytes
               ? 0
               : err_set(e, ERR_CONFIG, "the decoded images need %.2f GiB of memory, but only "
                         "%.2f GiB is available (%s); set data.cache to a folder",
                         (double)nbytes / 0x1p30, (double)room.nbytes / 0x1p30, room.reason);
}

int dataset_load(struct dataset *ds, int sharers, struct err *e)
{
    const struct dataset_config *config = &ds->config;
    char dir[PATH_MAX], key[65];
    uint64_t nbytes = estimate_part(ds, DATASET_TRAIN) + estimate_part(ds, DATASET_VAL);

    if (config->native && check_patches(ds, e))
        return -1;
    choose_folder(config, (double)nbytes, dir);
    if (!*dir && check_memory(nbytes, sharers, e))
        return -1;
    struct cache_config cache = {.dir = dir, .key = key, .count = ds->nsamples, .nbytes = nbytes,
                                 .threads = config->threads, .begin = check_files,
                                 .make = decode_into, .arg = ds, .interrupt = config->interrupt};
    if (*dir ? hash_key(ds, key, e) || !(ds->cache = cache_open(&cache, e)) : check_files(ds, e))
        return -1;
    log_info("data: %zu training and %zu validation samples %s %d x %d x %d (height, width, "
             "channels), up to %.1f MiB in %s", ds->split->train.count, ds->split->val.count,
             config->native ? "at their own size, in patches of" : "at", ds->config.height,
             ds->config.width, ds->config.channels, (double)nbytes / 0x1p20,
             ds->cache ? cache_path(ds->cache) : "memory");
    return 0;
}

static int open_samples(struct dataset *ds, struct err *e)
{
    size_t n = ds->split->train.count + ds->split->val.count;

    if (!(ds->samples = mem_zero(n, sizeof *ds->samples, e)))
        return -1;
    for (; ds->nsamples < n; ds->nsamples++)
        pthread_mutex_init(&ds->samples[ds->nsamples].lock, NULL);
    return 0;
}

struct dataset *dataset_open_split(const struct dataset_config *config, struct err *e)
{
    struct dataset *ds = mem_zero(1, sizeof *ds, e);

    if (!ds)
        return NULL;
    ds->config = *config;
    if (open_split(ds, config, e) || open_samples(ds, e)) {
        dataset_close(ds);
        return NULL;
    }
    return ds;
}

struct dataset *dataset_open(const struct dataset_config *config, struct err *e)
{
    struct dataset *ds = dataset_open_split(config, e);

    if (ds && dataset_load(ds, config->sharers, e)) {
        dataset_close(ds);
        return NULL;
    }
    return ds;
}

const struct record *dataset_record(struct dataset *ds, enum dataset_part part, size_t i,
                                    struct err *e)
{
    struct dataset_sample *s = get_sample(ds, part, i);
    struct buf record = {0};
    size_t nbytes;

    if (ds->cache)
        return cache_get(ds->cache, (size_t)(s - ds->samples), &nbytes, e);
    pthread_mutex_lock(&s->lock);
    if (!s->bytes && decode_sample(ds, &get_part(ds, part)->items[i], &record, e) == 0)
        s->bytes = buf_steal(&record);
    buf_destroy(&record);
    const char *bytes = s->bytes;
    pthread_mutex_unlock(&s->lock);
    return (const void *)bytes;
}

void dataset_release(const struct dataset *ds, enum dataset_part part, size_t i)
{
    if (ds->cache)
        cache_release(ds->cache, (size_t)(get_sample(ds, part, i) - ds->samples));
}

int dataset_get(struct dataset *ds, enum dataset_part part, size_t i, float *image, float *mask,
                struct err *e)
{
    const struct record *r = dataset_record(ds, part, i, e);
    struct dataset_sides sides = dataset_sides(ds, part, i);

    if (!r)
        return -1;
    record_unpack(r, count_values(ds, sides), count_targets(ds, sides), image, mask);
    return 0;
}

int dataset_decode_native(const struct dataset *ds, enum dataset_part part, size_t i,
                          struct buf *dst, struct dataset_sides *sides, struct err *e)
{
    const struct split_item *item = &get_part(ds, part)->items[i];
    struct dataset own = *ds;

    own.config.native = true;
    *sides = sides_of(&own, item);
    return decode_sample(&own, item, dst, e);
}
