/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON documents in files and on standard output, and members that may be absent. */
#ifndef UNETCTL_LAUNCHER_HOST_JSONIO_H
#define UNETCTL_LAUNCHER_HOST_JSONIO_H

#include <jansson.h>

#include "src/err.h"

/* Prints root (released; NULL: no memory, or a text that is not UTF-8) and a newline on stdout,
 * with digits significant digits. what: its name in the error. 0, or -1 with ERR_INTERNAL. */
int jsonio_print(json_t *root, int digits, const char *what, struct err *e);

/* Reads a file of at most limit bytes. NULL with ERR_DATA, and FILE:LINE where it is not JSON. */
json_t *jsonio_read(const char *path, size_t limit, struct err *e);

/* A member's value; "" and 0 where it is absent or of another type. */
const char *jsonio_text(const json_t *o, const char *key);
long long jsonio_integer(const json_t *o, const char *key);

#endif
