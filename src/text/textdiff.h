/* SPDX-License-Identifier: BSD-3-Clause */
/* What changed from one text to another, as `diff -u` prints it. */
#ifndef UNETCTL_SRC_TEXT_TEXTDIFF_H
#define UNETCTL_SRC_TEXT_TEXTDIFF_H

#include "src/buf.h"
#include "src/err.h"

/* Add the unified diff with 3 lines of context, headed by the two names, to dst; nothing where the
 * texts are equal. `patch` makes the new text of the old one with it. 0, or -1 with ERR_DATA for
 * texts of more than 4096 lines that differ (compared line by line, quadratic in memory). */
int textdiff_unified(const char *old_text, const char *new_text, const char *old_name,
                     const char *new_name, struct buf *dst, struct err *e);

#endif
