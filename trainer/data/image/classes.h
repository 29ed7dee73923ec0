/* SPDX-License-Identifier: BSD-3-Clause */
/* What the values of masks mean, and the text files that say so. */
#pragma once

#include "src/base.h"
#include "trainer/data/image/pixels.h"

/* Reads text files that people write: lists of names, class files. */

/* Returns the text of a regular file of up to limit bytes, without a byte order mark, which the
 * caller frees. NULL with ERR_DATA if it cannot be read, or has a NUL byte: text behind that would
 * be lost. */
char *text_file_read(const char *path, size_t limit, struct err *e);

/* Returns the next line, which is cut off the text at *rest, without a carriage return at its end;
 * NULL at the end of the text. */
char *text_file_line(char **rest);

/* Binary masks, foreground and background.
 *
 * A mask has one channel of values as stored: grey values, palette indices, or RGB with R = G = B;
 * alpha is dropped. All masks of a data set share a scale: foreground is 1 (unit), or the largest
 * value of a sample (full: 2^bits - 1, such as 255 or 65535). A mask of 1 bit fits both. Soft masks
 * may also hold values between, as the share of foreground. */

/* The scale of all masks of a data set; the numbers are those of split.json. MASK_CLASS: the values
 * are class labels. */
enum mask_scale { MASK_CLASS = 0, MASK_UNIT = 1, MASK_FULL = 255 };

/* How the masks of a data set are read: settings of `data`. The strings are borrowed. */
struct mask_options {
    bool soft;   /* masks may hold values between 0 and the full value */
    int classes; /* up to 1: foreground and background; from 2: a class per pixel */
    const char *ignore;     /* mask value to ignore, as text; NULL or "" for none */
    const char *class_file; /* path (classes.h); NULL or "": values are class numbers */
    const char *class_text; /* content of class_file, or NULL to read it */
};

/* Reduces a raw mask to one channel, in place. ERR_DATA if R, G and B differ. */
int mask_flatten(struct pixels *img, const char *name, struct err *e);

struct mask_summary {
    unsigned max;
    bool has_one, has_full; /* some pixel is 1, is the full value; false for masks of 1 bit */
    bool has_other;
    unsigned other; /* the first value that is not 0, 1 or full */
};

/* Summarizes the values of a mask. ignore: the value of pixels to skip, or -1. */
void mask_summarize(const struct pixels *mask, int ignore, struct mask_summary *summary);

/* Returns 0 if the mask's values belong to the scale, and always for soft masks. Otherwise ERR_DATA
 * with the file's name and the value. ignore: the value of pixels to skip, or -1. */
int mask_check(const struct pixels *mask, const char *name, enum mask_scale scale, int ignore,
               bool soft, struct err *e);

/* Returns the divisor that maps the mask's values to 0..1. */
unsigned mask_divisor(const struct pixels *mask, enum mask_scale scale);

/* Sets labels (height x width) to CLASSES_IGNORE where the mask has the value `ignore` (-1: none),
 * to 1 at other values above 0, and elsewhere to 0. */
void mask_label(const struct pixels *mask, int ignore, uint8_t *labels);

/* Maps the values or colours of a mask to class labels (doc/FORMATS.md, "Masks").
 *
 * Without a class file the values 0..count-1 are the labels. A line of a class file has a value and
 * a name (`85 carbide`), a range (`1-255 particle`), or red, green and blue (`128 0 0 building`).
 * The classes are numbered in the order in which their names first appear. A name may be repeated
 * to give a class several values. Pixels of the class `ignore` are excluded from loss and metrics.
 * `#` starts a comment. With count 1 a class file has two names: background and foreground. */

#define CLASSES_MAX 250
#define CLASSES_IGNORE 255 /* the label of pixels that loss and metrics leave out */

struct classes;

/* Decodes options->ignore to *ignore (-1 for none), and sets *dst to the classes of the masks, or
 * to NULL for binary masks. A class file must name options->classes classes, and two of
 * them if that is 1; `ignore` is not counted. The caller destroys *dst. ERR_CONFIG if
 * options->ignore is not a number from 0 to 65535; ERR_DATA, with FILE:LINE for a wrong line, if
 * the class file is wrong. */
int classes_open(const struct mask_options *options, int *ignore, struct classes **dst,
                 struct err *e);
void classes_destroy(struct classes *c);

int classes_count(const struct classes *c);
/* Name of class i; without a class file, i in decimal. */
const char *classes_name(const struct classes *c, int i);

/* Returns the content of the class file, or "" without one. */
const char *classes_text(const struct classes *c);

/* Returns whether the class file lists colours. Its masks must then be decoded as
 * PIXELS_PICTURE. */
bool classes_are_coloured(const struct classes *c);

/* Sets *rgb (0xRRGGBB) to the first colour that the class file has for class i. Returns whether it
 * has one. */
bool classes_colour(const struct classes *c, int i, uint32_t *rgb);

/* Sets labels (height x width) to 0..count-1 or CLASSES_IGNORE. A value or colour without a class
 * is ERR_DATA, whose text has name and the position of the pixel. */
int classes_label(const struct classes *c, const struct pixels *mask, const char *name,
                  uint8_t *labels, struct err *e);

/* Appends the mapping as text, for the key of a cache: equal text means an equal mapping. */
void classes_encode(const struct classes *c, struct buf *dst);
