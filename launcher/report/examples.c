/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/examples.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/host/path.h"
#include "launcher/report/markup/escape.h"
#include "src/atomicfile.h"
#include "src/plural.h"
#include "src/text.h"

#define MAX_PICTURE (1 << 20)

static void add_base64(struct buf *b, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        unsigned long v = (unsigned long)bytes[i] << 16;
        v |= i + 1 < n ? (unsigned long)bytes[i + 1] << 8 : 0;
        v |= i + 2 < n ? bytes[i + 2] : 0;
        char four[4] = {digits[v >> 18], digits[v >> 12 & 63],
                        i + 1 < n ? digits[v >> 6 & 63] : '=', i + 2 < n ? digits[v & 63] : '='};
        buf_add_bytes(b, four, 4);
    }
}

/* Returns the run whose pictures are shown, or NULL if none has some. */
static const struct result *find_run(const struct analysis_series *as)
{
    const struct series *s = &as->series;
    const struct series_point *best = as->decision.best;

    for (size_t i = 0; best && i < best->nruns; i++)
        if (best->rows[i].examples)
            return &best->rows[i];
    for (size_t i = 0; i < s->nrows; i++)
        if (s->rows[i].examples)
            return &s->rows[i];
    return NULL;
}

/* Adds the picture of a row of examples.csv: its name, the image's name and its IoU. */
static void add_example(struct buf *b, const char *dir, char *line)
{
    static const char *const known[] = {"best", "median", "worst", "random"};
    char *cells[3], path[PATH_MAX];
    bool listed = false;
    struct err ignored;
    size_t size;

    if (csv_split(line, ',', cells, 3) != 3)
        return;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        listed |= strcmp(cells[0], known[i]) == 0;
    char *png = listed ? atomicfile_read(path_format(path, "%s/%s.png", dir, cells[0]),
                                         MAX_PICTURE, &size, &ignored)
                       : NULL;
    if (png && size > 4 && memcmp(png, "\x89PNG", 4) == 0) {
        char name[200];
        snprintf(name, sizeof name, "%s: %.120s, IoU %.4f", cells[0], csv_text(cells[1]),
                 strtod(cells[2], NULL));
        escape_format(b, escape_html, "<figure><img alt=\"%s\" src=\"data:image/png;base64,", name);
        add_base64(b, (const unsigned char *)png, size);
        escape_format(b, escape_html, "\"><figcaption>%s</figcaption></figure>\n", name);
    }
    free(png);
}

static void add_examples(struct buf *b, const struct result *run, const char *label)
{
    char path[PATH_MAX], count[48];
    struct err ignored;
    size_t size;
    char *text = atomicfile_read(path_format(path, "%s/examples.csv", run->examples), MAX_PICTURE,
                                 &size, &ignored);
    char *next = text;

    if (!text)
        return;
    snprintf(count, sizeof count, "%d GPU%s", run->gpus, plural(run->gpus));
    escape_format(b, escape_html, "<h3>Examples of %s with %s</h3>\n<p class=\"soft\">Validation "
                  "images of %s: left the true mask over the image, right the predicted one.</p>\n"
                  "<div class=\"examples\">\n", label, count, run->run);
    for (char *line = strsep(&next, "\n"); line; line = strsep(&next, "\n"))
        add_example(b, run->examples, line);
    buf_add(b, "</div>\n");
    free(text);
}

void examples_add(struct buf *b, const struct report *r)
{
    for (size_t i = 0; i < r->nseries; i++) {
        const struct result *run = find_run(r->series[i].as);
        if (run)
            add_examples(b, run, r->series[i].label);
    }
}
