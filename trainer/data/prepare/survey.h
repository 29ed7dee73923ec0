/* SPDX-License-Identifier: BSD-3-Clause */
/* Summarizes a data set: counts, shapes, classes, brightness, mask values, duplicate images, and
 * the score of a plain threshold as a baseline. */
#ifndef UNETCTL_TRAINER_DATA_PREPARE_SURVEY_H
#define UNETCTL_TRAINER_DATA_PREPARE_SURVEY_H

#include <stdint.h>

#include "src/err.h"
#include "trainer/data/image/mask.h"
#include "trainer/data/source/mask_stats.h"
#include "trainer/data/source/remarks.h"
#include "trainer/data/source/source.h"

struct survey_shape {
    uint32_t width, height;
    int channels, bits; /* of the image, decoded as PIXELS_PICTURE */
    size_t count;
};

/* Compares the foreground that a threshold finds with the masks; counts pixels of the whole set. */
struct survey_baseline {
    int64_t bright_intersection, bright_union; /* foreground is above each image's threshold */
    int64_t dark_intersection, dark_union;     /* foreground is at or below it */
};

struct survey {
    enum source_format format;
    size_t pairs;               /* samples, with masks or classes */
    char **class_names;
    int nclasses;               /* 0 if samples have masks */
    size_t of_class[256];       /* images of each class */
    double mean[3], deviation[3]; /* per channel over all pixels, 0..1 */
    int channels;               /* of mean and deviation: 3 if any image has colour, else 1 */
    size_t duplicates;          /* images that equal an earlier one */
    size_t train, val;          /* 0 if the folder is not divided */
    size_t leaks;               /* training images that are also validation images */
    struct survey_shape *shapes; /* the most frequent first */
    size_t nshapes, capacity;
    size_t sampled;             /* images read to count the shapes */
    enum mask_scale mask_scale;
    struct remarks remarks;     /* on the images */
    struct mask_stats masks;
    struct mask_proposal proposal; /* what the masks mean */
    /* Masks are foreground and background. Then survey_create sets the members below. */
    bool binary;
    int64_t pixels, foreground; /* foreground: pixels above half of the foreground's value */
    struct survey_baseline native;  /* at the size of each image */
    struct survey_baseline resized; /* at the size of the network; 0 if no size was given */
};

/* Decodes every sample of dir (source.h). height, width: the network's size, or 0 for no resized
 * baseline. Masks may hold any values. sample: only so many masks and a few images are read, and
 * brightness, duplicates, of_class and baselines are left out; pairs, train and val count the whole
 * set. 0: all. The caller destroys the result; NULL on error. */
struct survey *survey_create(const char *dir, const struct source_folders *folders, size_t sample,
                             int height, int width, struct err *e);
void survey_destroy(struct survey *s);

/* Returns Otsu's threshold (IEEE Trans. SMC 9, 1979): the lowest grey value t that maximizes the
 * variance between the values up to t and those above, or 255 for an image of one value. */
int survey_otsu(const uint8_t *grey, size_t n);

/* Returns the intersection over union of bright or of dark foreground, whichever is higher; *dark
 * says which, false if they are equal. An empty union gives 1. */
double survey_iou(const struct survey_baseline *b, bool *dark);

#endif
