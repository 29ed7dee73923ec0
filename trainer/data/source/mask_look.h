/* SPDX-License-Identifier: BSD-3-Clause */
/* What the masks of a set hold, as far as their pixels tell: two values, classes, colours, numbered
 * objects, grey values; and what to set for them (doc/FORMATS.md, "Masks"). */
#ifndef UNETCTL_TRAINER_DATA_SOURCE_MASK_LOOK_H
#define UNETCTL_TRAINER_DATA_SOURCE_MASK_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trainer/data/source/source.h"

#define MASK_LOOK_COLOURS 64

struct mask_look {
    size_t masks;            /* that were looked at */
    int64_t pixels;
    int64_t of_value[65536]; /* pixels by value; of coloured masks those that are grey */
    unsigned full;           /* the largest value that a sample can have: 255, 65535, 1 */
    int64_t bit_ones;        /* pixels that are 1 in masks of 1 bit, where that is the full value */
    bool one_and_full;       /* some mask holds both 1 and the full value */
    size_t coloured;         /* masks with colours */
    struct mask_look_colour {
        uint32_t rgb;
        int64_t pixels;
    } colours[MASK_LOOK_COLOURS]; /* not the grey ones */
    size_t ncolours;         /* more than MASK_LOOK_COLOURS: there are others */
    bool palettes_differ;    /* an index has another colour in another file */
    size_t fewest, most;     /* values above 0 in a mask */
    size_t regions, whole;   /* (mask, value above 0) looked at; those in one piece */
};

/* What study.yaml is to say. */
struct mask_proposal {
    enum mask_meaning {
        MASK_MEANS_FOREGROUND, /* 0 and 1, or 0 and the full value: nothing to set */
        MASK_MEANS_ONE_CLASS,  /* a single value: nothing to learn */
        MASK_MEANS_CLASSES,    /* classes, ignore and class_file are known */
        MASK_MEANS_UNSURE      /* text has the choices */
    } meaning;
    int classes;
    char ignore[12];        /* "" for none */
    char class_file[4096];  /* its text; "" for none */
    char text[1024];        /* what the masks hold, and what is proposed or to be chosen */
};

/* Takes the names of classes from dir/dataset.json, as nnU-Net has it, where each value has one. */
void mask_look_name(const struct mask_look *look, const char *dir, struct mask_proposal *p);

/* Appends to an error of one mask what the set's masks seem to hold and what to set; looks at some
 * of them. */
void mask_look_explain(struct source *source, struct err *e);

/* Reads up to most masks of the source, spread evenly. ERR_DATA: one cannot be read. */
int mask_look_read(struct mask_look *look, struct source *source, size_t most, struct err *e);

void mask_look_propose(const struct mask_look *look, struct mask_proposal *dst);

#endif
