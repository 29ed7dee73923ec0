/* SPDX-License-Identifier: BSD-3-Clause */
/* The class of each value or colour of a mask (doc/FORMATS.md, "Masks").
 *
 * Without a file the values are the classes 0..count-1. A file has lines of a value and a name: `85
 * carbide`, of several values: `1-255 particle`, or of red, green and blue: `128 0 0 building`. Its
 * names are classes 0, 1, 2 in the order of their first line; a repeated name adds a value to its
 * class; the name `ignore` means pixels that do not count. `#` starts a comment. With a count of 1
 * a file has two names, background and foreground. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_CLASSES_H
#define UNETCTL_TRAINER_DATA_IMAGE_CLASSES_H

#include <stdbool.h>

#include "src/buf.h"
#include "trainer/data/image/pixels.h"

#define CLASSES_MAX 250
#define CLASSES_IGNORE 255 /* the label of a pixel that does not count */

struct classes;

/* Do masks hold labels, rather than 0 and the full value? */
bool classes_wanted(int count, const char *file);

/* count: the number of classes, which a file must have (up to 1: two); ignore: the value of ignored
 * pixels, or -1; file: NULL or "" for none; text: its content, NULL to read it. ERR_DATA with
 * FILE:LINE. */
struct classes *classes_create(int count, int ignore, const char *file, const char *text,
                               struct err *e);
void classes_destroy(struct classes *c);

int classes_count(const struct classes *c);
const char *classes_name(const struct classes *c, int i); /* its number without a file */

/* The content of the file, or "". */
const char *classes_text(const struct classes *c);

/* Do masks hold colours (three numbers in the file)? Then they are decoded as pictures. */
bool classes_are_coloured(const struct classes *c);

/* The label of each pixel of a mask: 0..count-1 or CLASSES_IGNORE. ERR_DATA, with name and
 * position, for a value or colour without a class. */
int classes_label(const struct classes *c, const struct pixels *mask, const char *name,
                  uint8_t *labels, struct err *e);

/* Adds the mapping as text, equal for equal meanings, for the key of a cache. */
void classes_encode(const struct classes *c, struct buf *dst);

#endif
