/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UNETCTL_SRC_TEXT_UTF8_H
#define UNETCTL_SRC_TEXT_UTF8_H

#include <stddef.h>

/* Bytes of the UTF-8 character at p, which a NUL ends (RFC 3629: shortest form, no surrogates);
 * 0 if it is none. */
size_t utf8_size(const char *p);

#endif
