/* SPDX-License-Identifier: BSD-3-Clause */
/* File names: their parts, and a name as one line of text. A name may contain a newline, an escape
 * sequence or bytes that are not UTF-8, none of which may break a table or a terminal. */
#ifndef UNETCTL_SRC_TEXT_FILENAME_H
#define UNETCTL_SRC_TEXT_FILENAME_H

#include <stdbool.h>
#include <stddef.h>

#define FILENAME_TEXT_SIZE 512

/* Writes name to dst: printable ASCII and valid UTF-8 unchanged, a backslash doubled, the bytes of
 * control characters and any others as \xNN. A name that does not fit ends in "...". size is at
 * least 4. Returns dst. */
const char *filename_escape(const char *name, char *dst, size_t size);

bool filename_is_utf8(const char *name);

/* Returns the part of path after its last slash. */
const char *filename_base(const char *path);

/* Returns the length of name without its last suffix: 3 for "a.b.png". ".keep" has no suffix. */
size_t filename_stem(const char *name);

/* Returns whether name ends in one of these suffixes, in any case. */
#define FILENAME_IMAGES "png tif tiff jpg jpeg bmp"
bool filename_is_image(const char *name);

#endif
