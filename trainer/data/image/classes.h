/* SPDX-License-Identifier: BSD-3-Clause */
/* Which value or colour of a mask is which class (doc/FORMATS.md, "Masks").
 *
 * Without a file a mask's values are the classes 0..count-1 themselves. A file has one value per
 * line, with a name behind it: `85 carbide`, several values: `1-255 particle`, or red, green and
 * blue: `128 0 0 building`. Its names are classes 0, 1, 2 in the order in which they appear; a name
 * that comes again adds a value to its class; the name `ignore` stands for pixels that do not
 * count. `#` starts a comment. With a count of 1 a file has two names, background and
 * foreground. */
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

/* count: what the file must have, up to 1: two; ignore: a value that does not count, -1 for none;
 * file: NULL or "" for none; text: what stands in it, NULL to read it. ERR_DATA with FILE:LINE. */
struct classes *classes_create(int count, int ignore, const char *file, const char *text,
                               struct err *e);
void classes_destroy(struct classes *c);

int classes_count(const struct classes *c);
const char *classes_name(const struct classes *c, int i); /* its number without a file */

/* What stands in the file, "" without one. */
const char *classes_text(const struct classes *c);

/* Do masks hold colours (three numbers in the file)? They are then decoded as pictures. */
bool classes_are_coloured(const struct classes *c);

/* Label of each pixel of a mask: 0..count-1 or CLASSES_IGNORE. ERR_DATA for a value or colour that
 * has no class, with name and place. */
int classes_label(const struct classes *c, const struct pixels *mask, const char *name,
                  uint8_t *labels, struct err *e);

/* The whole mapping as text, equal for equal meanings: what a cache's key is made of. */
void classes_encode(const struct classes *c, struct buf *dst);

#endif
