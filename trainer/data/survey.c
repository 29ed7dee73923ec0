/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/data/survey.h"

#include <stdlib.h>
#include <string.h>

#include "trainer/data/load.h"
#include "trainer/data/otsu.h"
#include "trainer/data/pairs.h"
#include "trainer/data/picture.h"
#include "trainer/data/resize.h"

void survey_destroy(struct survey *s)
{
    if (s)
        free(s->shapes);
    free(s);
}

static int note_shape(struct survey *s, const struct pixels *img, struct err *e)
{
    for (size_t i = 0; i < s->nshapes; i++) {
        struct survey_shape *shape = &s->shapes[i];
        if (shape->width == img->width && shape->height == img->height &&
            shape->channels == img->channels && shape->bits == img->bits) {
            shape->count++;
            return 0;
        }
    }
    struct survey_shape *shapes = realloc(s->shapes, (s->nshapes + 1) * sizeof *shapes);
    if (!shapes)
        return err_set(e, ERR_INTERNAL, "no memory for the sizes");
    s->shapes = shapes;
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

/* Adds one picture; truth is 0..1. */
static void score(struct survey_baseline *b, const uint8_t *grey, const float *truth, size_t n)
{
    int threshold = otsu_threshold(grey, n);

    for (size_t i = 0; i < n; i++) {
        int t = truth[i] > 0.5f, bright = grey[i] > threshold;
        b->bright_intersection += t & bright;
        b->bright_union += t | bright;
        b->dark_intersection += t & !bright;
        b->dark_union += t | !bright;
    }
}

static void score_resized(struct survey *s, const float *grey, const float *truth, int src_height,
                          int src_width, int height, int width, float *scratch, uint8_t *bytes)
{
    /* Only the picture itself: no one would put a threshold on the padding. */
    struct resize_fit fit = resize_fit(src_height, src_width, height, width);
    size_t n = (size_t)fit.height * (size_t)fit.width;

    resize_pad(grey, src_height, src_width, scratch, fit.height, fit.width, 1);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(scratch[i] * 255.0f + 0.5f);
    resize_pad(truth, src_height, src_width, scratch, fit.height, fit.width, 1);
    score(&s->resized, bytes, scratch, n);
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
    int rc = 0;

    if (grey && truth && scratch && bytes) {
        picture_to_float(image, 1, grey);
        for (size_t i = 0; i < n; i++) {
            truth[i] = (float)pixels_sample(mask, i) / divisor;
            bytes[i] = (uint8_t)(grey[i] * 255.0f + 0.5f);
            s->foreground += truth[i] > 0.5f;
        }
        s->pixels += (int64_t)n;
        score(&s->native, bytes, truth, n);
        if (height)
            score_resized(s, grey, truth, (int)image->height, (int)image->width, height, width,
                          scratch, bytes);
    } else
        rc = err_set(e, ERR_INTERNAL, "no memory for %zu pixels", n);
    free(bytes);
    free(scratch);
    free(truth);
    free(grey);
    return rc;
}

/* First the masks alone: their scale is a matter of the whole set. */
static int survey_masks(struct survey *s, const char *dir, const struct pairs *pairs, struct err *e)
{
    unsigned max = 0;

    for (size_t i = 0; i < pairs->count; i++) {
        struct pixels mask;
        if (load_mask(dir, pairs->items[i].mask, false, NULL, NULL, &mask, e))
            return -1;
        size_t n = (size_t)mask.width * mask.height;
        for (size_t k = 0; k < n; k++) {
            unsigned v = pixels_sample(&mask, k);
            s->mask_values[v]++;
            max = v > max ? v : max;
        }
        pixels_free(&mask);
    }
    s->mask_scale = max > 1 ? MASK_FULL : MASK_UNIT;
    return 0;
}

static int survey_one(struct survey *s, const char *dir, const struct pair *pair, int height,
                      int width, struct err *e)
{
    struct pixels image, mask = {0};

    if (load_image(dir, pair->image, NULL, NULL, &image, e))
        return -1;
    int rc = load_mask(dir, pair->mask, false, NULL, NULL, &mask, e);
    if (rc == 0 && (image.width != mask.width || image.height != mask.height))
        rc = err_set(e, ERR_DATA, "%s: %s has %u x %u pixels but %s %u x %u; they must be equal",
                     dir, pair->image, image.width, image.height, pair->mask, mask.width,
                     mask.height);
    if (rc == 0)
        rc = note_shape(s, &image, e);
    if (rc == 0)
        rc = survey_pair(s, &image, &mask, height, width, e);
    pixels_free(&mask);
    pixels_free(&image);
    return rc;
}

struct survey *survey_create(const char *dir, int height, int width, struct err *e)
{
    struct survey *s = calloc(1, sizeof *s);
    struct pairs pairs = {0};
    int rc = s ? pairs_scan(dir, &pairs, e) : err_set(e, ERR_INTERNAL, "no memory");

    if (rc == 0)
        rc = survey_masks(s, dir, &pairs, e);
    for (size_t i = 0; rc == 0 && i < pairs.count; i++)
        rc = survey_one(s, dir, &pairs.items[i], height, width, e);
    if (rc == 0) {
        s->pairs = pairs.count;
        qsort(s->shapes, s->nshapes, sizeof *s->shapes, by_count);
    }
    pairs_free(&pairs);
    if (rc) {
        survey_destroy(s);
        return NULL;
    }
    return s;
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
