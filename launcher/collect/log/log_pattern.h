/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of a text that a regular expression of PCRE2 matches become rows of a table; its named
 * groups are the columns. */
#ifndef UNETCTL_LAUNCHER_COLLECT_LOG_LOG_PATTERN_H
#define UNETCTL_LAUNCHER_COLLECT_LOG_LOG_PATTERN_H

#include "launcher/collect/log/log_table.h"

/* Appends to t, whose path is set. Returns 0, or -1 with ERR_CONFIG: the pattern is wrong, has no
 * named group, or matches no line. */
int log_pattern_read(const char *text, const char *pattern, struct log_table *t, struct err *e);

#endif
