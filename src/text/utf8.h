/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UNETCTL_SRC_TEXT_UTF8_H
#define UNETCTL_SRC_TEXT_UTF8_H

#include <stddef.h>

/* The number of bytes of the UTF-8 character at p, in a NUL-terminated text (RFC 3629: shortest
 * form, no surrogates); 0 if it is invalid. */
size_t utf8_size(const char *p);

#endif
