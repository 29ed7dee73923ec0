/* SPDX-License-Identifier: BSD-3-Clause */
/* Templates of scripts: text with {{name}} markers.
 *
 *   {{name}}       the value unchanged: code, numbers, ids
 *   {{name|sh}}    one shell word: in single quotes unless that is unnecessary
 *
 * A line that consists of a marker {{name}} with an empty value is omitted. It is an error,
 * reported with FILE:LINE, if a marker is not among the values, or a "{{" has no "}}".
 *
 * The templates of the reference systems (the programs whose measurements unetctl repeats) have
 * tags instead: the whole words tag_NAME and, where a text has those, setup.sh are replaced by
 * values of these names. A tag may stand inside quotes or outside, so only values that need no
 * quotes may replace one. */
#pragma once

#include "src/base.h"
#include "src/settings/settings.h"

struct template_value {
    const char *name; /* NULL ends a list */
    const char *value;
};

/* Renders text to dst, and with `tags` replaces tags, of which an unknown one is an error; file is
 * its name in errors; used[i] becomes whether values[i] was used. Returns 0, or -1 with ERR_CONFIG.
 * The value of a {{name|sh}} must not contain a newline, because #SBATCH lines cannot. */
#define TEMPLATE_VALUES_MAX 96
int template_expand(const char *file, const char *text, bool tags,
                    const struct template_value *values, bool used[TEMPLATE_VALUES_MAX],
                    struct buf *dst, struct err *e);

/* Returns whether the text has tags tag_NAME. setup.sh alone does not count. */
bool template_has_tags(const char *text);

/* Returns the number of the line in which text ends, for errors about something missing there: 2
 * for "a\n". */
size_t template_count_lines(const char *text);

/* Adds text as one word of sh. */
void template_quote_sh(struct buf *dst, const char *text);

/* Adds text of sh, in which each %s, the only conversion, becomes one word. */
#define template_add_sh(dst, ...) buf_add_escaped(dst, template_quote_sh, __VA_ARGS__)

/* Add lines of sh, and commands that export variables NAME=VALUE. */
void template_add_lines(struct buf *b, const struct setting_lines *list);
void template_add_exports(struct buf *b, const struct setting_lines *list);
