/* SPDX-License-Identifier: BSD-3-Clause */
/* File names as one line of text: a name may have a newline, an escape sequence or bytes that
 * are not UTF-8, which must not break a table or a terminal. */
#ifndef UNETCTL_SRC_TEXT_FILENAME_H
#define UNETCTL_SRC_TEXT_FILENAME_H

#include <stdbool.h>
#include <stddef.h>

#define FILENAME_TEXT_SIZE 512

/* name into dst: printable ASCII and valid UTF-8 as they are, a backslash doubled, any other byte
 * as \xNN; what does not fit ends in "...". Returns dst. */
const char *filename_escape(const char *name, char *dst, size_t size);

bool filename_is_utf8(const char *name);

/* What follows the last slash of path. */
const char *filename_base(const char *path);

/* Length of name without its last suffix: "a.b.png" -> 3; ".keep" has none. */
size_t filename_stem(const char *name);

/* Does name end in one of these, in any case? */
#define FILENAME_IMAGES "png tif tiff jpg jpeg bmp"
bool filename_is_image(const char *name);

#endif
