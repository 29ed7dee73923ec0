/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/dataset.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/log.h"
#include "trainer/data/load.h"
#include "trainer/data/mask.h"
#include "trainer/data/pairs.h"
#include "trainer/data/picture.h"
#include "trainer/data/png_file.h"
#include "trainer/data/resize.h"
#include "trainer/data/split.h"

/* Values of one picture at the network's size: 8-bit samples where nothing had to be resized (a
 * quarter of the memory), numbers otherwise. */
struct plane {
    uint8_t *bytes;
    float *numbers;
    float divisor; /* of bytes */
};

struct sample {
    pthread_mutex_t lock; /* held while the sample is decoded; what is decoded never changes */
    bool decoded;
    struct plane image, mask;
};

struct dataset {
    struct split *split;
    char *dir;
    int height, width, channels;
    bool soft_masks;
    struct sample *samples; /* train, then val */
    size_t nsamples;
};

static const struct split_part *get_part(const struct dataset *ds, enum dataset_part part)
{
    return part == DATASET_TRAIN ? &ds->split->train : &ds->split->val;
}

static struct sample *get_sample(const struct dataset *ds, enum dataset_part part, size_t i)
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

static uint64_t hash_text(uint64_t h, const char *text)
{
    do {
        h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211); /* FNV-1a, with the NUL */
    } while (*text++);
    return h;
}

uint64_t dataset_hash(const struct dataset *ds)
{
    uint64_t h = UINT64_C(14695981039346656037);

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

static bool is_size(const struct dataset *ds, uint32_t width, uint32_t height)
{
    return width == (uint32_t)ds->width && height == (uint32_t)ds->height;
}

static int check_file(const struct dataset *ds, const char *name, const struct split_item *item,
                      struct err *e)
{
    uint32_t width, height;
    char *path = pairs_path(ds->dir, name);
    int rc = path ? png_file_size(path, &width, &height, e)
                  : err_set(e, ERR_INTERNAL, "%s: no memory", name);

    if (rc == 0 && (width != item->width || height != item->height))
        rc = err_set(e, ERR_DATA, "%s: has %u x %u pixels, but had %u x %u when the split was made",
                     path, width, height, item->width, item->height);
    free(path);
    return rc;
}

/* Every file is there, with its size; *nbytes grows by what the decoded part will take. */
static int check_part(const struct dataset *ds, enum dataset_part part, double *nbytes,
                      struct err *e)
{
    const struct split_part *p = get_part(ds, part);
    double npixels = (double)ds->width * ds->height;

    for (size_t i = 0; i < p->count; i++) {
        const struct split_item *item = &p->items[i];
        if (check_file(ds, item->image, item, e) || check_file(ds, item->mask, item, e))
            return -1;
        *nbytes += npixels * (ds->channels + 1) *
                   (is_size(ds, item->width, item->height) ? 1 : (double)sizeof(float));
    }
    return 0;
}

static struct split *split_of_all(const struct dataset_config *config, struct err *e)
{
    struct split_config all = {.dir = config->dir, .val_fraction = 1,
                               .soft_masks = config->soft_masks};

    return split_create(&all, e);
}

struct dataset *dataset_open(const struct dataset_config *config, struct err *e)
{
    struct dataset *ds = calloc(1, sizeof *ds);
    double nbytes = 0;

    if (!ds) {
        err_set(e, ERR_INTERNAL, "no memory for the data set");
        return NULL;
    }
    ds->height = config->height;
    ds->width = config->width;
    ds->channels = config->channels;
    ds->soft_masks = config->soft_masks;
    ds->split = config->split_file ? split_read(config->split_file, e) : split_of_all(config, e);
    if (!ds->split)
        goto fail;
    ds->dir = strdup(config->dir ? config->dir : ds->split->dir);
    ds->samples = calloc(ds->split->train.count + ds->split->val.count, sizeof *ds->samples);
    if (!ds->dir || !ds->samples) {
        err_set(e, ERR_INTERNAL, "no memory for the data set");
        goto fail;
    }
    ds->nsamples = ds->split->train.count + ds->split->val.count;
    for (size_t i = 0; i < ds->nsamples; i++)
        pthread_mutex_init(&ds->samples[i].lock, NULL);
    if (check_part(ds, DATASET_TRAIN, &nbytes, e) || check_part(ds, DATASET_VAL, &nbytes, e))
        goto fail;
    log_info("data: %zu training and %zu validation pairs at %d x %d x %d (height, width, "
             "channels), up to %.1f MiB in memory", ds->split->train.count, ds->split->val.count,
             ds->height, ds->width, ds->channels, nbytes / 0x1p20);
    return ds;
fail:
    dataset_close(ds);
    return NULL;
}

static void plane_free(struct plane *p)
{
    free(p->bytes);
    free(p->numbers);
    *p = (struct plane){NULL, NULL, 0};
}

void dataset_close(struct dataset *ds)
{
    if (!ds)
        return;
    for (size_t i = 0; i < ds->nsamples; i++) {
        plane_free(&ds->samples[i].image);
        plane_free(&ds->samples[i].mask);
        pthread_mutex_destroy(&ds->samples[i].lock);
    }
    free(ds->samples);
    free(ds->dir);
    split_destroy(ds->split);
    free(ds);
}

/* Numbers of the source's size to the network's; frees src. */
static int plane_resize(const struct dataset *ds, float *src, const struct png_pixels *img,
                        int channels, struct plane *dst, struct err *e)
{
    size_t n = (size_t)ds->height * (size_t)ds->width * (size_t)channels;

    dst->numbers = malloc(n * sizeof *dst->numbers);
    if (dst->numbers)
        resize_pad(src, (int)img->height, (int)img->width, dst->numbers, ds->height, ds->width,
                   channels);
    free(src);
    return dst->numbers ? 0 : err_set(e, ERR_INTERNAL, "no memory for another image");
}

static int make_image(const struct dataset *ds, const struct png_pixels *img, struct plane *dst,
                      struct err *e)
{
    size_t n = (size_t)img->width * img->height * (size_t)ds->channels;

    if (img->bits == 8 && is_size(ds, img->width, img->height)) {
        dst->bytes = malloc(n);
        dst->divisor = 255;
        if (!dst->bytes)
            return err_set(e, ERR_INTERNAL, "no memory for another image");
        picture_to_bytes(img, ds->channels, dst->bytes);
        return 0;
    }
    float *numbers = malloc(n * sizeof *numbers);
    if (!numbers)
        return err_set(e, ERR_INTERNAL, "no memory for another image");
    picture_to_float(img, ds->channels, numbers);
    return plane_resize(ds, numbers, img, ds->channels, dst, e);
}

static int make_mask(const struct dataset *ds, struct png_pixels *img, struct plane *dst,
                     struct err *e)
{
    size_t n = (size_t)img->width * img->height;
    float divisor = (float)mask_divisor(img, ds->split->mask_scale);

    if (img->bits == 8 && is_size(ds, img->width, img->height)) {
        dst->bytes = img->samples;
        dst->divisor = divisor;
        img->samples = NULL; /* moved: one channel of the right size is what dst holds */
        return 0;
    }
    float *numbers = malloc(n * sizeof *numbers);
    if (!numbers)
        return err_set(e, ERR_INTERNAL, "no memory for another mask");
    for (size_t i = 0; i < n; i++)
        numbers[i] = (float)png_pixels_sample(img, i) / divisor;
    return plane_resize(ds, numbers, img, 1, dst, e);
}

static int decode_image(const struct dataset *ds, const struct split_item *item, struct plane *dst,
                        struct err *e)
{
    struct png_pixels img;

    if (load_image(ds->dir, item->image, item->image_sha256, NULL, &img, e))
        return -1;
    int rc = make_image(ds, &img, dst, e);
    png_pixels_free(&img);
    return rc;
}

static int decode_mask(const struct dataset *ds, const struct split_item *item, struct plane *dst,
                       struct err *e)
{
    struct png_pixels img;

    if (load_mask(ds->dir, item->mask, item->mask_sha256, NULL, &img, e))
        return -1;
    int rc = mask_check(&img, item->mask, ds->split->mask_scale, ds->soft_masks, e);
    if (rc == 0)
        rc = make_mask(ds, &img, dst, e);
    png_pixels_free(&img);
    return rc;
}

static int decode_sample(const struct dataset *ds, const struct split_item *item, struct sample *s,
                         struct err *e)
{
    if (decode_image(ds, item, &s->image, e) == 0 && decode_mask(ds, item, &s->mask, e) == 0) {
        s->decoded = true;
        return 0;
    }
    plane_free(&s->image);
    plane_free(&s->mask);
    return -1;
}

static void plane_copy(const struct plane *src, size_t n, float *dst)
{
    if (src->numbers)
        memcpy(dst, src->numbers, n * sizeof *dst);
    else
        for (size_t i = 0; i < n; i++)
            dst[i] = (float)src->bytes[i] / src->divisor;
}

int dataset_get(struct dataset *ds, enum dataset_part part, size_t i, float *image, float *mask,
                struct err *e)
{
    struct sample *s = get_sample(ds, part, i);
    size_t npixels = (size_t)ds->height * (size_t)ds->width;
    int rc = 0;

    pthread_mutex_lock(&s->lock);
    if (!s->decoded)
        rc = decode_sample(ds, &get_part(ds, part)->items[i], s, e);
    pthread_mutex_unlock(&s->lock);
    if (rc)
        return -1;
    plane_copy(&s->image, npixels * (size_t)ds->channels, image);
    plane_copy(&s->mask, npixels, mask);
    return 0;
}
