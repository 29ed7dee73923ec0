/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UNETCTL_SRC_TEXT_UTF8_H
#define UNETCTL_SRC_TEXT_UTF8_H

#include <stddef.h>

/* Returns the number of bytes of the UTF-8 character at p, in a NUL-terminated text (1 at the
 * NUL), or 0 if it is invalid (RFC 3629: also if it is not the shortest form, or a surrogate). */
size_t utf8_size(const char *p);

#endif
