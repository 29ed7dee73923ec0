/* SPDX-License-Identifier: BSD-3-Clause */
/* Regular expressions of PCRE2 whose named groups say what they find. */
#pragma once

#include "src/base.h"

struct pcre2_real_code_8; /* PCRE2's pcre2_code */

/* Compiles pattern. Sets *dst, unless dst is NULL, to what pcre2_code_free destroys. Returns 0, or
 * -1 with ERR_CONFIG: it is wrong, or has no named group. */
int pattern_compile(const char *pattern, struct pcre2_real_code_8 **dst, struct err *e);
