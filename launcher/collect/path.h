/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths put together from parts. */
#ifndef UNETCTL_LAUNCHER_COLLECT_PATH_H
#define UNETCTL_LAUNCHER_COLLECT_PATH_H

#include <limits.h>

#include "src/err.h"

/* Write a path, as printf does. One that does not fit becomes "", which names no file: whoever
 * opens it gets an error, and nobody touches another file. Returns dst. */
const char *path_format(char dst[PATH_MAX], const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Make the folder, and those above it. 0, or -1 with ERR_INTERNAL. */
int path_make_folder(const char *path, struct err *e);

#endif
