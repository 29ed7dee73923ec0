/* SPDX-License-Identifier: BSD-3-Clause */
/* Templates of scripts: text with {{name}} markers.
 *
 *   {{name}}          the value as it is: code, numbers, ids
 *   {{name|sh}}       one shell word: bare where that is safe, else in single quotes
 *
 * A line with only a marker whose value is empty is left out. A marker without a value, a value
 * that is not optional and has no marker, and "{{" without "}}" are errors, with FILE:LINE.
 *
 * The templates of the reference systems have tags instead: whole words tag_NAME and setup.sh, for
 * values of these names. The quoting of a tag is up to the template, so only values that need no
 * quotes may replace one. */
#ifndef UNETCTL_LAUNCHER_SCRIPT_TEMPLATE_H
#define UNETCTL_LAUNCHER_SCRIPT_TEMPLATE_H

#include <stdbool.h>

#include "src/buf.h"
#include "src/err.h"

struct template_value {
    const char *name; /* NULL ends a list */
    const char *value;
    bool optional;
};

/* Renders text (file: its name in errors) to dst. 0, or -1 with ERR_CONFIG. A value with a
 * newline is refused where it is quoted, as directives cannot have newlines. */
int template_render(const char *file, const char *text, const struct template_value *values,
                    struct buf *dst, struct err *e);

/* The same for templates of users: all values are optional, tags are replaced, and used[i] is
 * set if values[i] was used. An unknown tag_NAME is an error. */
#define TEMPLATE_VALUES_MAX 96
int template_expand(const char *file, const char *text, const struct template_value *values,
                    bool used[TEMPLATE_VALUES_MAX], struct buf *dst, struct err *e);

/* Has the text tags? */
bool template_has_tags(const char *text);

/* The number of lines of text, for errors about something missing. */
size_t template_count_lines(const char *text);

/* Add text as one word of sh. */
void template_quote_sh(struct buf *dst, const char *text);

#endif
