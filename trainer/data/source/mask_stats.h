/* SPDX-License-Identifier: BSD-3-Clause */
/* What the images and masks of a set contain, for messages and for proposals of settings. */
#pragma once

#include "trainer/data/source/source.h"

/* What decoders found in the images, or the masks, of a set, said once per set: the flags of
 * pixels.h, and images that use little of their range. */

enum remarks_role { REMARKS_IMAGE, REMARKS_MASK };

/* What one picture has to say. */
struct remarks_picture {
    unsigned flags;        /* enum pixels_flag */
    float lowest, highest; /* of its samples, where 1 is the largest that they could be */
    int bits;              /* as pixels_bits; of masks those of a sample in memory */
};

/* low and high are only determined for images. */
struct remarks_picture remarks_look(const struct pixels *img, enum remarks_role role);

struct remarks {
    enum remarks_role role;
    struct remark {
        size_t count;
        char first[256]; /* name of the first file */
    } of_flag[PIXELS_NFLAGS];
    size_t pictures;
    float lowest, highest;
    int bits;
    struct remark flat, deep; /* images of 8 bits, and of more */
};

void remarks_add(struct remarks *r, const struct remarks_picture *p, const char *name);

/* Logs a warning for each flag that some picture has, for images whose values all lie within a
 * tenth of the range, and for images of 8 bits beside deeper ones that do not use theirs. set: the
 * folder. */
void remarks_log(const struct remarks *r, const char *set);

const char *remarks_text(enum remarks_role role, enum pixels_flag flag);

/* Determines from the pixels what the masks of a data set contain (two values, classes, colours,
 * object numbers or grey values), and proposes settings for them (doc/FORMATS.md, "Masks"). */

#define MASK_STATS_COLOURS 64

struct mask_stats {
    size_t masks;            /* number of masks examined */
    int64_t pixels;
    int64_t of_value[65536]; /* pixels by value; in coloured masks only grey pixels */
    int64_t flat[65536];     /* of these, pixels whose eight neighbours have the same value */
    unsigned full;           /* the largest value that a sample can have: 2^bits - 1 */
    int64_t bit_ones;        /* pixels of value 1 in masks of 1 bit; they are in of_value[full] */
    bool one_and_full;       /* some mask contains both 1 and the full value */
    size_t coloured;         /* number of masks with colours; all if palettes_differ */
    struct mask_stats_colour {
        uint32_t rgb;
        int64_t pixels, flat;
    } colours[MASK_STATS_COLOURS]; /* grey is counted in of_value */
    size_t ncolours;               /* larger than MASK_STATS_COLOURS if there are more */
    bool palettes_differ;    /* an index has different colours in two of the first masks; then all
                              * masks are read as colours */
    size_t fewest, most;     /* number of values above 0 in a mask without colours: smallest and
                              * largest */
    struct remarks remarks;
    /* In the first masks: pairs of a mask and a value above 0; those of one connected region. */
    size_t regions, single;
};

/* Settings for study.yaml that fit the masks. */
struct mask_proposal {
    enum mask_meaning {
        MASK_MEANS_FOREGROUND, /* values 0 and 1, or 0 and the full value: the presets fit */
        MASK_MEANS_ONE_CLASS,  /* a single value: there is nothing to learn */
        MASK_MEANS_CLASSES,    /* classes; the settings are below */
        MASK_MEANS_UNKNOWN     /* undecided; text lists the choices */
    } meaning;
    int classes;
    char ignore[12];        /* data.ignore, or "" */
    char class_file[4096];  /* content of data.class_file, or "" */
    char text[1024];        /* what the masks contain, and the proposal or the choices */
};

/* Replaces a proposal of classes, or an undecided one, by the classes of dir/dataset.json (nnU-Net)
 * if the file names all values. Does nothing for coloured masks. */
void mask_stats_name(const struct mask_stats *stats, const char *dir, struct mask_proposal *p);

/* Examines some masks and appends what they contain, and the proposal, to the text of an error. */
void mask_stats_explain(struct source *source, struct err *e);

/* Examines up to `most` masks, evenly spaced over the set. ERR_DATA if a mask cannot be read. */
int mask_stats_read(struct mask_stats *stats, struct source *source, size_t most, struct err *e);

/* Decides by rules of thumb what the masks mean. */
void mask_stats_propose(const struct mask_stats *stats, struct mask_proposal *dst);
