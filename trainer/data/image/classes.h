/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps the values or colours of a mask to class labels (doc/FORMATS.md, "Masks").
 *
 * Without a class file the values 0..count-1 are the labels. A line of a class file has a value and
 * a name (`85 carbide`), a range (`1-255 particle`), or red, green and blue (`128 0 0 building`).
 * The classes are numbered in the order in which their names first appear. A name may be repeated
 * to give a class several values. Pixels of the class `ignore` are excluded from loss and metrics.
 * `#` starts a comment. With count 1 a class file has two names: background and foreground. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_CLASSES_H
#define UNETCTL_TRAINER_DATA_IMAGE_CLASSES_H

#include <stdbool.h>

#include "src/buf.h"
#include "trainer/data/image/mask.h"
#include "trainer/data/image/pixels.h"

#define CLASSES_MAX 250
#define CLASSES_IGNORE 255 /* the label of pixels that loss and metrics leave out */

struct classes;

/* Decodes options->ignore to *ignore (-1 for none), and sets *dst to the classes of the masks, or
 * to NULL for binary masks (mask.h). A class file must name options->classes classes, and two of
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

#endif
