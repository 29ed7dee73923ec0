/* SPDX-License-Identifier: BSD-3-Clause */
/* A summary of a data set: counts, shapes, classes, brightness, mask values, duplicate images, and
 * the score of a plain threshold as a baseline. */
#ifndef UNETCTL_TRAINER_DATA_PREPARE_SURVEY_H
#define UNETCTL_TRAINER_DATA_PREPARE_SURVEY_H

#include <stdint.h>

#include "src/err.h"
#include "trainer/data/image/mask.h"
#include "trainer/data/source/mask_look.h"
#include "trainer/data/source/source.h"

struct survey_shape {
    uint32_t width, height;
    int channels, bits; /* of the image, as a picture (palettes as RGB) */
    size_t count;
};

/* The foreground that a threshold finds, compared to the masks; pixels of the whole set. */
struct survey_baseline {
    int64_t bright_intersection, bright_union; /* foreground: above each image's threshold */
    int64_t dark_intersection, dark_union;     /* foreground: at or below it */
};

struct survey {
    enum source_format format;
    size_t pairs;               /* or images with a class */
    char **class_names;
    int nclasses;               /* 0: there are masks */
    size_t of_class[256];       /* images */
    double mean[3], deviation[3]; /* of all pixels, 0..1; grey images have one channel */
    int channels;               /* of mean and deviation: 3 when any image has colour */
    size_t duplicates;          /* images equal to an earlier one */
    size_t train, val;          /* 0 if the folder is not divided */
    size_t leaks;               /* duplicates of an image on the other side (train, val) */
    struct survey_shape *shapes; /* most frequent first */
    size_t nshapes, capacity;
    size_t sampled;             /* images that were read for shapes */
    enum mask_scale mask_scale;
    struct mask_look masks;
    struct mask_proposal proposal; /* what they mean */
    bool binary;                /* masks of foreground and background: the members below are set */
    int64_t pixels, foreground; /* foreground: more than half of the full value */
    struct survey_baseline native;  /* at the size of each image */
    struct survey_baseline resized; /* at the size of the network; 0 if no size was given */
};

/* Decodes every sample of dir (source.h). height 0: no resized baseline. Masks may hold any
 * values. */
struct survey *survey_create(const char *dir, int height, int width, struct err *e);

/* The same without brightness, duplicates and baselines, from up to `masks` masks and a few
 * images. */
struct survey *survey_sample(const char *dir, size_t masks, struct err *e);
void survey_destroy(struct survey *s);

/* Otsu's threshold (IEEE Trans. SMC 9, 1979): the lowest grey value t that maximizes the variance
 * between the values <= t and those above; 255 for a picture of one value. */
int survey_otsu(const uint8_t *grey, size_t n);

/* Intersection over union of bright or dark foreground, whichever is higher; 1 if the union is
 * empty. */
double survey_iou(const struct survey_baseline *b, bool *dark);

#endif
