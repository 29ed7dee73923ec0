/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/scores.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/collect/csv.h"
#include "src/atomicfile.h"

#define MAX_FILE ((size_t)64 << 20)
#define HEADER "image,intersection,union"

/* FNV-1a, 64 bits. */
static uint64_t hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3;
    return h;
}

static bool get_count(const char *text, int64_t *dst)
{
    char *end;

    errno = 0;
    *dst = strtoll(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno;
}

static int decode_row(char *line, const char *path, size_t number, struct score *dst, struct err *e)
{
    char *cells[4];

    if (csv_split(line, cells, 4) != 3)
        return err_set(e, ERR_DATA, "%s:%zu: the row has not 3 cells", path, number);
    if (!get_count(cells[1], &dst->intersection) || !get_count(cells[2], &dst->union_) ||
        dst->intersection > dst->union_)
        return err_set(e, ERR_DATA, "%s:%zu: '%.40s' of '%.40s' are no counts of pixels", path, number,
                       cells[1], cells[2]);
    dst->image = hash(cells[0]);
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct score *x = a, *y = b;

    return (x->image > y->image) - (x->image < y->image);
}

static int decode(char *text, const char *path, struct scores *s, struct err *e)
{
    char *next = text, *line = strsep(&next, "\n");
    size_t number = 1;

    if (!next || strcmp(line, HEADER))
        return err_set(e, ERR_DATA, "%s:1: the header is not '" HEADER "'", path);
    for (line = strsep(&next, "\n"); next; line = strsep(&next, "\n"))
        if (decode_row(line, path, ++number, &s->rows[s->count++], e))
            return -1;
    if (*line || s->count == 0)
        return err_set(e, ERR_DATA, "%s:%zu: %s", path, number + 1,
                       s->count ? "the last line has no newline; the file was cut" : "there is no image");
    qsort(s->rows, s->count, sizeof *s->rows, compare);
    for (size_t i = 1; i < s->count; i++)
        if (s->rows[i].image == s->rows[i - 1].image)
            return err_set(e, ERR_DATA, "%s: an image stands there twice", path);
    return 0;
}

struct scores *scores_read(const char *path, struct err *e)
{
    size_t size, nlines = 1;
    char *text = atomicfile_read(path, MAX_FILE, &size, e);
    struct scores *s = NULL;

    if (!text)
        return NULL;
    for (size_t i = 0; i < size; i++)
        nlines += text[i] == '\n';
    s = calloc(1, sizeof *s);
    if (s)
        s->rows = calloc(nlines, sizeof *s->rows);
    if (!s || !s->rows)
        err_set(e, ERR_INTERNAL, "%s: out of memory", path);
    else if (strlen(text) != size)
        err_set(e, ERR_DATA, "%s: holds binary data", path);
    else if (decode(text, path, s, e) == 0)
        goto out;
    scores_destroy(s);
    s = NULL;
out:
    free(text);
    return s;
}

void scores_destroy(struct scores *s)
{
    if (!s)
        return;
    free(s->rows);
    free(s);
}

double scores_iou(const struct score *s)
{
    return (double)(s->intersection + 1) / (double)(s->union_ + 1);
}

size_t scores_match(const struct scores *a, const struct scores *b, double *iou_a, double *iou_b)
{
    size_t n = 0;

    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const struct score *x = &a->rows[i], *y = &b->rows[j];
        if (x->image == y->image) {
            iou_a[n] = scores_iou(x);
            iou_b[n++] = scores_iou(y);
        }
        i += x->image <= y->image;
        j += y->image <= x->image;
    }
    return n;
}
