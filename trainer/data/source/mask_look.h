/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds out from their pixels what the masks of a set contain (two values, classes, colours, object
 * numbers or grey values), and proposes settings for them (doc/FORMATS.md, "Masks"). */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_MASK_LOOK_H
#define UNETCTL_TRAINER_DATA_SOURCE_MASK_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trainer/data/source/source.h"

#define MASK_LOOK_COLOURS 64

struct mask_look {
    size_t masks;            /* examined */
    int64_t pixels;
    int64_t of_value[65536]; /* pixels by value; in coloured masks, grey pixels */
    unsigned full;           /* the largest value that a sample can have: 255, 65535, 1 */
    int64_t bit_ones;        /* pixels with value 1 in masks of 1 bit */
    bool one_and_full;       /* some mask contains both 1 and the full value */
    size_t coloured;         /* masks with colours */
    struct mask_look_colour {
        uint32_t rgb;
        int64_t pixels;
    } colours[MASK_LOOK_COLOURS]; /* without grey */
    size_t ncolours;         /* above MASK_LOOK_COLOURS: there are more */
    bool palettes_differ;    /* an index has another colour in another file */
    size_t fewest, most;     /* values above 0 in a mask */
    size_t regions, whole;   /* pairs (mask, value above 0); those that are one region */
};

/* Proposed settings for study.yaml. */
struct mask_proposal {
    enum mask_meaning {
        MASK_MEANS_FOREGROUND, /* 0 and 1, or 0 and the full value: nothing to set */
        MASK_MEANS_ONE_CLASS,  /* one value: nothing to learn */
        MASK_MEANS_CLASSES,    /* classes, ignore and class_file are set */
        MASK_MEANS_UNKNOWN     /* text lists the choices */
    } meaning;
    int classes;
    char ignore[12];        /* "" for none */
    char class_file[4096];  /* its content; "" for none */
    char text[1024];        /* what the masks contain, and the proposal or the choices */
};

/* Uses the class names of dir/dataset.json (nnU-Net), if every value has one. */
void mask_look_name(const struct mask_look *look, const char *dir, struct mask_proposal *p);

/* Appends to the error of one mask what the masks of the set contain and the proposal; examines
 * some of the masks. */
void mask_look_explain(struct source *source, struct err *e);

/* Examines up to `most` masks, evenly spaced. ERR_DATA: a mask cannot be read. */
int mask_look_read(struct mask_look *look, struct source *source, size_t most, struct err *e);

void mask_look_propose(const struct mask_look *look, struct mask_proposal *dst);

#endif
