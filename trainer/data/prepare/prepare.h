/* SPDX-License-Identifier: BSD-3-Clause */
/* The work of the verbs `data convert`, `data synth` and `data stats`, which are its only callers:
 * it makes data folders, and surveys those that exist. A new folder is complete or is emptied
 * again; a survey changes nothing. convert.c, synth.c and survey.c can be read in any order. */
#pragma once

#include "trainer/data/image/classes.h"
#include "trainer/data/source/mask_stats.h"

/* Converts a data set to PNG files without changing values, except that images (not masks) with a
 * palette become RGB, and those of 1, 2 and 4 bits are scaled to 0..255. The output folder must be
 * new or empty. If the conversion fails, it is emptied again, and removed if it was new. */

struct convert_config {
    /* Any format of source_open; each page of a TIFF file becomes a sample. */
    const char *dir;
    const struct source_folders *folders; /* NULL: found by their names */
    const char *out;          /* a new or an empty folder */
};

/* Writes PNG files to images/ and masks/, or to one folder per class; if the source is divided,
 * below train/ and val/ (samples of neither side: test/). Returns the number of samples written, or
 * 0 on error. */
size_t convert_write(const struct convert_config *config, struct err *e);

/* Draws synthetic images that resemble SEM images of indentation marks, with masks, for training
 * without real data.
 *
 * An image shows grey metal with uneven brightness, grain, noise and an info bar, with scratches
 * and specks as distractors. It has one to three triangular (Berkovich) or rhombic (Knoop, Vickers)
 * marks with facets, ridges and edges. Facets are darker or brighter than the metal equally often,
 * so that a threshold cannot find the marks. All arithmetic uses integers, so that a seed gives the
 * same samples with every compiler and on every machine. */

/* Draws image `index` of the set of this seed and its mask (0 or 255), both [height][width].
 * synth_create counts from 1. -1 if memory is short. */
int synth_draw(uint64_t seed, uint64_t index, int height, int width, uint8_t *image,
               uint8_t *mask, struct err *e);

/* Writes `count` pairs to dir/images/0001.png, dir/masks/0001.png, ... ERR_DATA if dir exists and
 * is not empty. If it fails, dir is emptied, and removed if it was new. */
int synth_create(const char *dir, int count, int height, int width, uint64_t seed, struct err *e);

/* Counts how often each class occurs in the masks of a data set, at the masks' own sizes. */

struct frequency {
    size_t masks;
    int64_t pixels, ignored;       /* ignored: pixels labelled CLASSES_IGNORE, not part of pixels */
    int64_t of_class[CLASSES_MAX]; /* pixels of the class */
    size_t images[CLASSES_MAX];    /* images that contain the class */
    int64_t within[CLASSES_MAX];   /* counted pixels of these images */
};

/* Reads every mask of dir (source.h) and fills f. ERR_DATA if a value has no class or the samples
 * have no masks. */
int frequency_count(const char *dir, const struct source_folders *folders, const struct classes *c,
                    struct frequency *f, struct err *e);

/* Sets weights[0..nclasses-1] by median frequency balancing (Eigen and Fergus 2015,
 * https://arxiv.org/abs/1411.4734, 6.3.2): the frequency of a class is its share of the pixels of
 * the images that contain it, and its weight is the median of all frequencies divided by its own,
 * or 0 if it never occurs. */
void frequency_weights(const struct frequency *f, int nclasses, double *weights);

/* Summarizes a data set: counts, shapes, classes, brightness, mask values, duplicate images, and
 * the score of a plain threshold as a baseline. */

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
    /* Of a sample of images with masks: the range of their means over the median deviation within
     * them; whether that advises to scale each image by itself: it exceeds 2, over 10 or more
     * images, and grey values that are scaled so explain more of the masks than those stored. */
    double image_spread;
    bool scale_each;
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
