/* SPDX-License-Identifier: BSD-3-Clause */
/* What a data set contains: frequencies of classes, and statistics of images and masks. */
#include "src/base.h"
#include "trainer/data/prepare/prepare.h"

#include "src/stat.h"

static int count_mask(const struct classes *c, const struct pixels *mask, const char *name,
                      struct frequency *f, struct err *e)
{
    size_t n = (size_t)mask->width * mask->height;
    uint8_t *labels = mem_alloc(n, 1, e);
    int64_t seen[256] = {0};
    int rc = labels ? classes_label(c, mask, name, labels, e) : -1;

    for (size_t i = 0; rc == 0 && i < n; i++)
        seen[labels[i]]++;
    free(labels);
    if (rc)
        return rc;
    int64_t counts = (int64_t)n - seen[CLASSES_IGNORE];
    f->masks++;
    f->pixels += counts;
    f->ignored += seen[CLASSES_IGNORE];
    for (int k = 0; k < classes_count(c); k++) {
        f->of_class[k] += seen[k];
        f->images[k] += seen[k] > 0;
        f->within[k] += seen[k] > 0 ? counts : 0;
    }
    return 0;
}

int frequency_count(const char *dir, const struct source_folders *folders, const struct classes *c,
                    struct frequency *f, struct err *e)
{
    enum source_part part = classes_are_coloured(c) ? SOURCE_COLOURS : SOURCE_VALUES;
    struct source *source = source_open(dir, folders, e);
    struct pixels mask;
    int rc = source ? 0 : -1;

    memset(f, 0, sizeof *f);
    if (rc == 0 && source->nclasses)
        rc = err_set(e, ERR_DATA, "%s: this data set has a class per image and no masks to count",
                     dir);
    for (size_t i = 0; rc == 0 && i < source->count; i++) {
        rc = source_decode(source, source->items[i].mask, part, NULL, NULL, &mask, e);
        if (rc)
            break;
        rc = count_mask(c, &mask, source->items[i].mask, f, e);
        pixels_free(&mask);
    }
    source_close(source);
    return rc;
}

void frequency_weights(const struct frequency *f, int nclasses, double *weights)
{
    double shares[CLASSES_MAX];
    size_t n = 0;

    for (int k = 0; k < nclasses; k++)
        if (f->of_class[k] > 0)
            shares[n++] = (double)f->of_class[k] / (double)f->within[k];
    double median = n ? stat_median(shares, n) : 0;
    for (int k = 0; k < nclasses; k++)
        weights[k] = f->of_class[k] ? median * (double)f->within[k] / (double)f->of_class[k] : 0;
}

#define IMAGES 48 /* survey_sample reads at most so many images, as sizes hardly vary */

void survey_destroy(struct survey *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->nclasses; i++)
        free(s->class_names[i]);
    free(s->class_names);
    free(s->shapes);
    free(s);
}

static int count_shape(struct survey *s, const struct pixels *img, struct err *e)
{
    for (size_t i = 0; i < s->nshapes; i++) {
        struct survey_shape *shape = &s->shapes[i];
        if (shape->width == img->width && shape->height == img->height &&
            shape->channels == img->channels && shape->bits == img->bits) {
            shape->count++;
            return 0;
        }
    }
    if (mem_grow(&s->shapes, s->nshapes, &s->capacity, sizeof *s->shapes, e))
        return -1;
    s->shapes[s->nshapes++] =
        (struct survey_shape){img->width, img->height, img->channels, img->bits, 1};
    return 0;
}

static int by_count(const void *a, const void *b)
{
    const struct survey_shape *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->width > y->width) - (x->width < y->width);
}

int survey_otsu(const uint8_t *grey, size_t n)
{
    size_t count[256] = {0};
    double total = 0, below = 0, sum = 0, best = 0;
    int threshold = 255;

    for (size_t i = 0; i < n; i++)
        count[grey[i]]++;
    for (int v = 0; v < 256; v++)
        total += (double)v * (double)count[v];
    for (int t = 0; t < 255; t++) {
        below += (double)count[t];
        sum += (double)t * (double)count[t];
        double above = (double)n - below;
        if (below == 0 || above == 0)
            continue;
        double apart = sum / below - (total - sum) / above;
        double variance = below * above * apart * apart;
        if (variance > best) {
            best = variance;
            threshold = t;
        }
    }
    return threshold;
}

/* Adds one image of n pixels. truth: the mask, 0..1. */
static void add_baseline(struct survey_baseline *b, const uint8_t *grey, const float *truth,
                         size_t n)
{
    int threshold = survey_otsu(grey, n);

    for (size_t i = 0; i < n; i++) {
        int t = truth[i] > 0.5f, bright = grey[i] > threshold;
        b->bright_intersection += t & bright;
        b->bright_union += t | bright;
        b->dark_intersection += t & !bright;
        b->dark_union += t | !bright;
    }
}

static void add_resized_baseline(struct survey *s, const float *grey, const float *truth,
                                 int src_height, int src_width, int height, int width,
                                 float *scratch, uint8_t *bytes)
{
    /* The threshold is determined without the zero padding, which would dominate it. */
    struct resize_fit fit = resize_fit(src_height, src_width, height, width);
    size_t n = (size_t)fit.height * (size_t)fit.width;

    resize_pad(grey, src_height, src_width, scratch, fit.height, fit.width, 1);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(scratch[i] * 255.0f + 0.5f);
    resize_pad(truth, src_height, src_width, scratch, fit.height, fit.width, 1);
    add_baseline(&s->resized, bytes, scratch, n);
}

static int survey_pair(struct survey *s, const struct pixels *image,
                       const struct pixels *mask, int height, int width, struct err *e)
{
    size_t n = (size_t)image->width * image->height, resized = (size_t)height * (size_t)width;
    size_t most = n > resized ? n : resized;
    float *grey = malloc(n * sizeof *grey), *truth = malloc(n * sizeof *truth);
    float *scratch = malloc(most * sizeof *scratch);
    float divisor = (float)mask_divisor(mask, s->mask_scale);
    uint8_t *bytes = malloc(most);
    int rc = grey && truth && scratch && bytes ? 0 : mem_fail(e);

    if (rc == 0) {
        picture_to_float(image, 1, grey);
        for (size_t i = 0; i < n; i++) {
            truth[i] = (float)pixels_sample(mask, i) / divisor;
            bytes[i] = (uint8_t)(grey[i] * 255.0f + 0.5f);
            s->foreground += truth[i] > 0.5f;
        }
        s->pixels += (int64_t)n;
        add_baseline(&s->native, bytes, truth, n);
        if (height)
            add_resized_baseline(s, grey, truth, (int)image->height, (int)image->width, height,
                                 width, scratch, bytes);
    }
    free(bytes);
    free(scratch);
    free(truth);
    free(grey);
    return rc;
}

/* Sums over the pixels of the set, and a key for each image. */
struct sums {
    double value[3], square[3];
    double pixels;
    struct picture_key {
        char hash[65];
        enum source_side side;
    } *keys;
};

/* Reads up to `most` masks, and derives from them s->proposal, s->mask_scale and s->binary.
 * survey_create needs the result before it reads the pairs, because the scale depends on all
 * masks. */
static int survey_masks(struct survey *s, struct source *source, size_t most, struct err *e)
{
    if (mask_stats_read(&s->masks, source, most, e))
        return -1;
    mask_stats_propose(&s->masks, &s->proposal);
    mask_stats_name(&s->masks, source->dir, &s->proposal);
    unsigned max = 0;
    for (unsigned v = 0; v < 65536; v++)
        max = s->masks.of_value[v] ? v : max;
    s->mask_scale = max > 1 ? MASK_FULL : MASK_UNIT;
    s->binary = s->proposal.meaning == MASK_MEANS_FOREGROUND;
    return 0;
}

static void add_brightness(struct survey *s, const struct pixels *image, struct sums *sums)
{
    size_t n = (size_t)image->width * image->height;
    double full = image->bits == 16 ? 65535 : 255;

    if (image->channels >= 3)
        s->channels = 3;
    for (size_t i = 0; i < n; i++)
        for (int c = 0; c < 3; c++) {
            double v = picture_sample(image, i, c, 3) / full;
            sums->value[c] += v;
            sums->square[c] += v * v;
        }
    sums->pixels += (double)n;
}

static void add_remarks(struct survey *s, const struct pixels *image, const char *name)
{
    struct remarks_picture p = remarks_look(image, REMARKS_IMAGE);

    remarks_add(&s->remarks, &p, name);
}

static void count_side(struct survey *s, const struct source_item *item)
{
    s->train += item->side == SOURCE_TRAIN;
    s->val += item->side == SOURCE_VAL;
}

static int survey_one(struct survey *s, struct source *source, size_t i, int height, int width,
                      struct sums *sums, struct err *e)
{
    const struct source_item *item = &source->items[i];
    enum source_part part = s->masks.coloured ? SOURCE_COLOURS : SOURCE_VALUES;
    struct pixels image, mask;

    if (source_decode_pair(source, item, part, NULL, NULL, &image, &mask, e))
        return -1;
    int rc = count_shape(s, &image, e);
    if (rc == 0 && item->mask && s->binary)
        rc = survey_pair(s, &image, &mask, height, width, e);
    if (rc == 0 && !item->mask)
        s->of_class[item->label]++;
    if (rc == 0) {
        add_brightness(s, &image, sums);
        add_remarks(s, &image, item->image);
    }
    pixels_hash(&image, sums->keys[i].hash);
    sums->keys[i].side = item->side;
    count_side(s, item);
    pixels_free(&mask);
    pixels_free(&image);
    return rc;
}

static int count_copies(struct survey *s, const struct picture_key *keys, size_t n, struct err *e)
{
    struct map all = {0}, val = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        s->duplicates += map_get(&all, keys[i].hash, NULL);
        if (map_set(&all, keys[i].hash, i) ||
            (keys[i].side == SOURCE_VAL && map_set(&val, keys[i].hash, i)))
            rc = mem_fail(e);
    }
    for (size_t i = 0; i < n; i++)
        s->leaks += keys[i].side == SOURCE_TRAIN && map_get(&val, keys[i].hash, NULL);
    map_destroy(&val);
    map_destroy(&all);
    return rc;
}

static void take_classes(struct survey *s, struct source *source)
{
    s->pairs = source->count;
    s->format = source->format;
    s->class_names = source->class_names;
    s->nclasses = source->nclasses;
    source->class_names = NULL;
    source->nclasses = 0;
}

static int finish_survey(struct survey *s, struct source *source, struct sums *sums, struct err *e)
{
    s->sampled = source->count;
    qsort(s->shapes, s->nshapes, sizeof *s->shapes, by_count);
    for (int c = 0; c < 3; c++) {
        s->mean[c] = sums->value[c] / sums->pixels;
        double variance = sums->square[c] / sums->pixels - s->mean[c] * s->mean[c];
        s->deviation[c] = variance > 0 ? sqrt(variance) : 0;
    }
    return count_copies(s, sums->keys, source->count, e);
}

/* Grey values of a sample of images, and how far the values of their masks explain them. */
struct greys {
    double mean[IMAGES], deviation[IMAGES];
    size_t n;
    struct moments {
        double n[256], sum[256], square; /* by the mask's value, and of all squares */
    } stored, scaled;                    /* scaled: each image to mean 0 and deviation 1 */
};

static void add_moment(struct moments *m, unsigned class, double v)
{
    m->n[class]++;
    m->sum[class] += v;
    m->square += v * v;
}

/* Returns the share of the variance that the classes explain (eta squared). */
static double explained_share(const struct moments *m)
{
    double n = 0, sum = 0, between = 0;

    for (int k = 0; k < 256; k++) {
        n += m->n[k];
        sum += m->sum[k];
        between += m->n[k] > 0 ? m->sum[k] * m->sum[k] / m->n[k] : 0;
    }
    double total = m->square - sum * sum / n;
    return total > 0 ? (between - sum * sum / n) / total : 0;
}

static void add_greys(struct greys *g, const struct pixels *image, const struct pixels *mask)
{
    size_t n = (size_t)image->width * image->height;
    double full = image->bits == 16 ? 65535 : 255, sum = 0, square = 0;
    int channels = image->channels <= 4 ? 1 : image->channels;

    for (size_t i = 0; i < n; i++) {
        double v = picture_sample(image, i, 0, channels) / full;
        sum += v;
        square += v * v;
    }
    double mean = sum / (double)n, variance = square / (double)n - mean * mean;
    double deviation = variance > 0 ? sqrt(variance) : 0;
    for (size_t i = 0; i < n; i++) {
        double v = picture_sample(image, i, 0, channels) / full;
        unsigned class = pixels_sample(mask, i) > 255 ? 255 : pixels_sample(mask, i);
        add_moment(&g->stored, class, v);
        add_moment(&g->scaled, class, deviation > 0 ? (v - mean) / deviation : 0);
    }
    g->mean[g->n] = mean;
    g->deviation[g->n++] = deviation;
}

static void judge_greys(const struct greys *g, struct survey *s)
{
    double median = g->n < 10 ? 0 : stat_median(g->deviation, g->n), low = INFINITY, high = 0;

    for (size_t i = 0; i < g->n; i++) {
        low = fmin(low, g->mean[i]);
        high = fmax(high, g->mean[i]);
    }
    s->image_spread = median > 0 ? (high - low) / median : 0;
    s->scale_each = s->image_spread > 2 &&
                    explained_share(&g->scaled) > explained_share(&g->stored);
}

/* Reads one image of the sample, and if it has one its mask, whose colours are ignored. */
static int sample_one(struct survey *s, struct source *source, const struct source_item *item,
                      struct greys *g, struct err *e)
{
    struct pixels image, mask = {0};
    struct err ignored;

    if (source_decode(source, item->image, SOURCE_IMAGE, NULL, NULL, &image, e))
        return -1;
    add_remarks(s, &image, item->image);
    if (item->mask &&
        source_decode(source, item->mask, SOURCE_VALUES, NULL, NULL, &mask, &ignored) == 0 &&
        mask.width == image.width && mask.height == image.height)
        add_greys(g, &image, &mask);
    int rc = count_shape(s, &image, e);
    pixels_free(&mask);
    pixels_free(&image);
    return rc;
}

static int survey_sample(struct survey *s, struct source *source, size_t masks, struct err *e)
{
    size_t most = masks < IMAGES ? masks : IMAGES, n = source->count < most ? source->count : most;

    struct greys *g = mem_zero(1, sizeof *g, e);
    int rc = g ? 0 : -1;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = sample_one(s, source, &source->items[i * source->count / n], g, e);
    if (rc == 0)
        judge_greys(g, s);
    free(g);
    if (rc)
        return -1;
    s->sampled = n;
    qsort(s->shapes, s->nshapes, sizeof *s->shapes, by_count);
    for (size_t i = 0; i < source->count; i++)
        count_side(s, &source->items[i]);
    return source->nclasses ? 0 : survey_masks(s, source, masks, e);
}

static int survey_all(struct survey *s, struct source *source, int height, int width,
                      struct err *e)
{
    struct sums sums = {.keys = mem_zero(source->count, sizeof *sums.keys, e)};
    int rc = !sums.keys ? -1 : source->nclasses ? 0 : survey_masks(s, source, source->count, e);

    s->channels = 1;
    for (size_t i = 0; rc == 0 && i < source->count; i++)
        rc = survey_one(s, source, i, height, width, &sums, e);
    if (rc == 0)
        rc = finish_survey(s, source, &sums, e);
    free(sums.keys);
    return rc;
}

struct survey *survey_create(const char *dir, const struct source_folders *folders, size_t sample,
                             int height, int width, struct err *e)
{
    struct survey *s = mem_zero(1, sizeof *s, e);
    struct source *source = s ? source_open(dir, folders, e) : NULL;
    int rc = !source ? -1 : sample ? survey_sample(s, source, sample, e)
                                   : survey_all(s, source, height, width, e);

    if (rc == 0)
        take_classes(s, source);
    source_close(source);
    if (rc == 0)
        return s;
    survey_destroy(s);
    return NULL;
}

static double quotient(int64_t intersection, int64_t all)
{
    return all ? (double)intersection / (double)all : 1;
}

double survey_iou(const struct survey_baseline *b, bool *dark)
{
    double bright_iou = quotient(b->bright_intersection, b->bright_union);
    double dark_iou = quotient(b->dark_intersection, b->dark_union);

    *dark = dark_iou > bright_iou;
    return *dark ? dark_iou : bright_iou;
}
