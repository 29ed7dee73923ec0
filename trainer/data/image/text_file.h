/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads text files that people write: lists of names, class files. */
#ifndef UNETCTL_TRAINER_DATA_IMAGE_TEXT_FILE_H
#define UNETCTL_TRAINER_DATA_IMAGE_TEXT_FILE_H

#include <stddef.h>

#include "src/err.h"

/* Returns the text of a regular file of up to limit bytes, without a byte order mark, which the
 * caller frees. NULL with ERR_DATA if it cannot be read, or has a NUL byte: text behind that would
 * be lost. */
char *text_file_read(const char *path, size_t limit, struct err *e);

/* Returns the next line, which is cut off the text at *rest, without a carriage return at its end;
 * NULL at the end of the text. */
char *text_file_line(char **rest);

#endif
