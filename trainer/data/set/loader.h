/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples of an epoch: what they are, their order, their augmentation, and the threads that
 * load them. */
#pragma once

#include "src/settings/settings.h"
#include "trainer/data/set/dataset.h"

/* Divides the images of an epoch between steps and ranks. All functions are pure.
 *
 * An epoch is a permutation of `items` = images x repeat positions, equal on all ranks. It is cut
 * into steps, and each step into one share per device (part). Shares are disjoint and cover
 * positions plan.begin to plan.used for any number of ranks, as all ranks round the same fractions
 * of one order. */

enum shard_remainder {
    SHARD_KEEP, /* every item is used once; steps differ by at most one item */
    SHARD_DROP  /* every step is full; the remaining items are not used */
};

struct shard_plan {
    size_t items;  /* per epoch over all ranks: images x repeat */
    size_t steps;
    size_t used;   /* end of the items that the plan processes, counted from the epoch's first */
    int parts;     /* shares of a step: ranks x devices per rank */
    size_t begin;  /* first item of step 0: 0, or as set by shard_continue */
    enum shard_remainder remainder;
};

struct shard_range {
    size_t begin, end; /* positions in the epoch's order, end excluded */
};

/* Fills the plan of a whole epoch. full: the largest number of items of a step, over all parts.
 * ERR_DATA if there are no images, more than UINT32_MAX items, or with SHARD_DROP no full step. */
int shard_plan(size_t images, size_t repeat, int parts, size_t full, enum shard_remainder remainder,
               struct shard_plan *plan, struct err *e);

/* Changes the plan to the rest of its epoch after the first `begin` items, which were processed
 * with another number of items per step. full: as in shard_plan. The rest may have no steps. */
void shard_continue(struct shard_plan *plan, size_t begin, size_t full);

/* Returns the share of a part (0..parts-1) in a step: at most full / parts items, rounded up;
 * possibly none. */
struct shard_range shard_train(const struct shard_plan *plan, size_t step, int part);

/* Returns the images of the validation set that a part evaluates. */
struct shard_range shard_eval(size_t images, int parts, int part);

/* Sets order[position] of an epoch to image + images * copy: each image occurs as copies
 * 0..repeat-1, in a random order that is a function of the arguments alone. order has images x
 * repeat elements. */
void shard_order(uint64_t seed, size_t epoch, size_t images, size_t repeat, size_t *order);

/* The samples of an epoch: the images of a part, or of a native data set random patches of the
 * network's size.
 *
 * A patch lies within its image. Each image has a part of an epoch like its part of the pixels. A
 * share of the patches is centred, as far as the image's edges allow, in a random pixel of a random
 * class of those that the image has, the first one, the background, left out; the others lie
 * anywhere. What sample i is depends on seed, epoch, the position in the epoch's order, and i. */
struct sampler;

/* Returns the samples of an epoch. patches: of a native set; 0: as many as have the pixels of all
 * images, at least one of each. */
size_t sampler_size(const struct dataset *ds, enum dataset_part part, size_t patches);

/* foreground: the share. ERR_DATA if it is above 0 and no mask has any. ds must outlive the
 * result, which the caller destroys. */
struct sampler *sampler_create(struct dataset *ds, enum dataset_part part, size_t patches,
                               double foreground, struct err *e);
void sampler_destroy(struct sampler *s);

/* Returns the record of sample i at a position of an epoch: that of the data set, or a patch in
 * room, which has room for a record of floats. Thread-safe. */
const struct record *sampler_take(const struct sampler *s, uint64_t seed, size_t epoch,
                                  size_t position, size_t i, struct record *room, struct err *e);

/* Random changes to training images and their masks. The changes to an image are a pure function of
 * (seed, epoch, index), and with augment.six of the copy, and do not depend on threads or ranks.
 *
 * One pass moves pixels by the product of these: quarter turns, flips, a shift, a crop scaled to
 * the full size, a rotation and zoom about the centre, an elastic deformation. Turns, flips and
 * shifts alone move pixels exactly; the others interpolate the image bilinearly and take the
 * nearest pixel of the mask. Pixels outside the image repeat its edge, or mirror it where it is
 * rotated or zoomed. Then the image's values change: noise, blur, multiply, stretch, gamma of the
 * negative, gamma, each with its probability; contrast and brightness last, clipped to 0..1. Bytes
 * of an image become floats where its values may change. */

#define AUGMENT_CELLS 4                     /* cells of the deformation per side */
#define AUGMENT_POINTS (AUGMENT_CELLS + 3)  /* control points of its cubic B-spline */

#define AUGMENT_CHANNELS 64 /* of an image, at most */

enum augment_chance { /* in the order in which they are applied */
    AUGMENT_ROTATE, AUGMENT_ZOOM, AUGMENT_NOISE, AUGMENT_BLUR, AUGMENT_MULTIPLY, AUGMENT_STRETCH,
    AUGMENT_GAMMA_INVERTED, AUGMENT_GAMMA, AUGMENT_CHANCES
};

/* The random changes to one image. */
struct augment_draw {
    int turns; /* quarter turns counterclockwise */
    bool hflip, vflip;
    int down, right; /* shift in pixels */
    float brightness, contrast; /* an offset; a factor around the mean of the channel */
    float zoom, top, left; /* share of each side that the crop keeps; its start, 0..1 - zoom */
    /* Shifts of the control points in pixels. */
    float dx[AUGMENT_POINTS][AUGMENT_POINTS], dy[AUGMENT_POINTS][AUGMENT_POINTS];
    bool applies[AUGMENT_CHANCES];
    /* of each channel; rotation, zoom and noise: the first one's is that of all */
    float value[AUGMENT_CHANCES][AUGMENT_CHANNELS];
    uint64_t noise[3]; /* seed, stream and first index (rng.h) of the noise */
};

/* For config->six: replaces turns and flips by those of the given copy of the image (modulo 6):
 * none, vflip, hflip, or 1 to 3 turns. */
void augment_six(size_t copy, struct augment_draw *dst);

struct augment;

/* Prepares for records with images [height][width][channels] and, if has_masks, masks
 * [height][width]; otherwise a target is a single class, which is copied. Used by one thread at a
 * time. augment_apply does not allocate. ERR_CONFIG for a text that settings_decode_chance refuses.
 * The caller destroys the result. */
struct augment *augment_create(const struct settings_augment *config, int height, int width,
                               int channels, bool has_masks, struct err *e);
void augment_destroy(struct augment *a);

bool augment_is_active(const struct settings_augment *config);

/* Draws the changes to one image. Quarter turns are of images with equal sides only. index: the
 * position of the image in the order of the epoch. */
void augment_draw(const struct augment *a, uint64_t seed, size_t epoch, size_t index,
                  struct augment_draw *dst);

/* Applies the changes. dst has room for a record of floats and does not overlap src. */
void augment_apply(struct augment *a, const struct augment_draw *draw, const struct record *src,
                   struct record *dst);

/* Loads images ahead of the step: threads decode, copy and augment them while the network
 * computes, where a device can read them. The images of a step do not depend on the number of
 * threads. After an error of a sample, loader_next returns -1. */

struct loader_config {
    struct dataset *dataset;      /* borrowed */
    enum dataset_part images;     /* the part of it that is loaded */
    struct shard_plan plan;       /* of a whole epoch */
    int part;                     /* index of this loader's share of each step */
    size_t repeat;                /* copies of each sample in an epoch */
    size_t patches;               /* as in sampler_create */
    double foreground;
    int batch;                    /* largest number of items (copies of images) of a share */
    size_t epochs;
    uint64_t seed;
    struct settings_augment augment;
    int threads;                  /* 0: loader_next loads the images itself */
    const struct device_ops *ops; /* with a device: the batches are in its pinned memory */
    struct device *device;        /* NULL: there is none. Open until loader_destroy */
};

/* The batches that are in memory at a time without a device, each at most of floats. */
#define LOADER_BATCHES 3

struct loader;

/* Starts the threads; the next step is step 0 of epoch 0. The caller destroys the result. */
struct loader *loader_create(const struct loader_config *config, struct err *e);
void loader_destroy(struct loader *l);

/* Makes the given step the next one of loader_next. plan: the steps of this epoch, or NULL for
 * those of the configuration. Returns at once if that step is next already. */
void loader_seek(struct loader *l, size_t epoch, const struct shard_plan *plan, size_t step);

/* Sets *batch to the share of the next step, whose records have height * width * channels and
 * dataset_targets numbers. It is valid until the next call, with a device until the call after
 * DEVICE_SLOTS - 1 more. The last step of an epoch is followed by the first of the next; after the
 * last step of the last epoch only loader_seek or loader_destroy may be called. Does not allocate,
 * unless the data set decodes an image for the first time. */
int loader_next(struct loader *l, struct record_batch *batch, struct err *e);
