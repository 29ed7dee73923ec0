/* SPDX-License-Identifier: BSD-3-Clause */
/* A first look at a data folder, for the defaults and warnings of init and plan. */
#ifndef UNETCTL_LAUNCHER_DATA_LOOK_H
#define UNETCTL_LAUNCHER_DATA_LOOK_H

#include <stddef.h>

#include "src/err.h"

struct data_look {
    size_t images, masks; /* image files in images/ and masks/; images of any other layout */
    size_t train, val;    /* where another layout is divided; 0: it is not */
    long classes;         /* of images that have one class each; 0: they have masks */
    size_t unpaired;      /* images without a mask of the same stem, and the reverse */
    char odd[256];        /* one of these, as images/NAME or masks/NAME */
    size_t strange;       /* what else is in the two folders: not read, as its name is no image's */
    char stranger[256];   /* likewise */
    /* Of a sample: some images spread evenly over the sorted names, read by unet-train. */
    size_t sampled, unreadable;
    long width, height; /* the middle one of each */
    long min_width, max_width, min_height, max_height;
    int channels;                /* the most that an image has */
    size_t grey, colour, deep;   /* images with 1 or 2 channels, with more; with 16 bits */
};

/* Count DIR/images and DIR/masks; where there is no images/, what unet-train finds: class folders,
 * CIFAR-10, idx, TFRecord. 0, or -1 with ERR_DATA: it is none of these. */
int data_look_count(const char *dir, struct data_look *dst, struct err *e);

/* The same, and read a sample. Files that cannot be read are only counted. */
int data_look_sample(const char *dir, struct data_look *dst, struct err *e);

#endif
