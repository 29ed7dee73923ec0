/* SPDX-License-Identifier: BSD-3-Clause */
/* A first look at a data folder, for the defaults and warnings of init and plan. */
#ifndef UNETCTL_LAUNCHER_PLAN_DATA_LOOK_H
#define UNETCTL_LAUNCHER_PLAN_DATA_LOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "launcher/study/study.h"
#include "src/err.h"

struct data_look {
    size_t images, masks; /* image files in images/ and masks/; images of any other layout */
    size_t train, val;    /* where another layout is divided; 0: it is not */
    long classes;         /* of images that have one class each; 0: they have masks */
    bool looked;          /* at the masks; the next say what they hold (unet-train data stats) */
    enum data_meaning { DATA_FOREGROUND, DATA_ONE_CLASS, DATA_CLASSES, DATA_UNSURE } meaning;
    long mask_classes;    /* what data.classes is to be */
    char ignore[12], class_file[4096], masks_text[1024];
    char trouble[1024];   /* why they were not looked at; "" */
    size_t unpaired;      /* images without a mask of the same stem, and the reverse */
    char odd[256];        /* one of these, as images/NAME or masks/NAME */
    size_t strange;       /* other files in the two folders, which are not read */
    char stranger[256];   /* likewise */
    /* Of a sample: some images spread evenly over the sorted names, read by unet-train. */
    size_t sampled, unreadable;
    long width, height; /* the middle one of each */
    long min_width, max_width, min_height, max_height;
    int channels;                /* the most that an image has */
    size_t grey, colour, deep;   /* images with 1 or 2 channels, with more; with 16 bits */
};

/* Count DIR/images and DIR/masks, or what unet-train finds in another layout, and look at some
 * masks. 0, or -1 with ERR_DATA: it is nothing that is read. */
int data_look_count(const char *dir, struct data_look *dst, struct err *e);

/* The same, and read a sample of the images and more masks. Files that cannot be read are only
 * counted; what unet-train warns of is logged. */
int data_look_sample(const char *dir, struct data_look *dst, struct err *e);

/* What stands in the way of a study with these settings, as far as a look shows, or NULL: masks of
 * one class, masks that mean other than what is set, a side without images. */
const char *data_look_complaint(const struct data_look *look, const struct study *s);

#endif
