/* SPDX-License-Identifier: BSD-3-Clause */
/* What is in a data folder: counts, shapes, classes, brightness, mask values, pictures that occur
 * twice, and how far a mere threshold gets. */
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

/* Pixels of a threshold's foreground against the truth, over the whole set. */
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
    size_t duplicates;          /* pictures that an earlier one equals */
    size_t train, val;          /* where the folder is divided; 0: it is not */
    size_t leaks;               /* of these, on another side (train, validation) than the equal */
    struct survey_shape *shapes; /* most frequent first */
    size_t nshapes;
    size_t sampled;             /* of these, images that were looked at */
    enum mask_scale mask_scale;
    struct mask_look masks;
    struct mask_proposal proposal; /* what they mean */
    bool binary;                /* there is foreground, and the next are known */
    int64_t pixels, foreground; /* foreground: more than half of the full value */
    struct survey_baseline native;  /* at the size of each image */
    struct survey_baseline resized; /* as the network sees them; zero when no size was given */
};

/* Decodes every sample of dir (source.h). height 0: no resized baseline. Any mask values will do:
 * this is for looking at a set before using it. */
struct survey *survey_create(const char *dir, int height, int width, struct err *e);

/* A quick look at up to so many masks, spread evenly, and the sizes of a few images. */
struct survey *survey_sample(const char *dir, size_t masks, struct err *e);
void survey_destroy(struct survey *s);

/* The better one of bright and dark, intersection over union; *dark says which. 1 if the union is
 * empty. */
double survey_iou(const struct survey_baseline *b, bool *dark);

#endif
