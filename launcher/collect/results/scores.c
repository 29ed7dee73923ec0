/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/results/scores.h"

#include <stdlib.h>
#include <string.h>

#include "src/atomicfile.h"
#include "src/hash.h"
#include "src/mem.h"
#include "src/text/csv.h"

#define MAX_FILE ((size_t)64 << 20)
#define MAX_COLUMNS 32

struct score_columns {
    int ncolumns, image, class, iou;
};

static int decode_scores_header(char *line, const char *path, const char *column,
                                struct score_columns *l, struct err *e)
{
    char *cells[MAX_COLUMNS];

    *l = (struct score_columns){csv_split(line, ',', cells, MAX_COLUMNS), -1, -1, -1};
    for (int i = 0; i < l->ncolumns; i++) {
        l->image = strcmp(cells[i], "image") == 0 ? i : l->image;
        l->class = strcmp(cells[i], "class") == 0 ? i : l->class;
        l->iou = strcmp(cells[i], column) == 0 ? i : l->iou;
    }
    if (l->image < 0 || l->class < 0 || l->iou < 0)
        return err_set(e, ERR_DATA, "%s:1: there are no columns image, class and %s", path, column);
    return 0;
}

/* Adds the image of a row for class "all"; other rows are ignored. */
static int decode_score(char *line, const struct score_columns *l, const char *path, size_t number,
                        struct scores *s, struct err *e)
{
    char *cells[MAX_COLUMNS], *end;

    if (csv_split(line, ',', cells, MAX_COLUMNS) != l->ncolumns)
        return err_set(e, ERR_DATA, "%s:%zu: the row does not have %d cells", path, number,
                       l->ncolumns);
    if (strcmp(cells[l->class], "all"))
        return 0;
    double iou = strtod(cells[l->iou], &end);
    if (!*cells[l->iou] || *end || !(iou >= 0 && iou <= 1))
        return err_set(e, ERR_DATA, "%s:%zu: '%.40s' is not in 0..1", path, number, cells[l->iou]);
    s->rows[s->count++] = (struct score){hash_text(HASH_BEGIN, csv_text(cells[l->image])), iou};
    return 0;
}

static int compare_scores(const void *a, const void *b)
{
    const struct score *x = a, *y = b;

    return (x->image > y->image) - (x->image < y->image);
}

static int decode_scores(char *text, const char *path, const char *column, struct scores *s,
                         struct err *e)
{
    char *next = text, *line = strsep(&next, "\n");
    struct score_columns layout;
    size_t number = 1;

    if (decode_scores_header(line, path, column, &layout, e))
        return -1;
    for (line = strsep(&next, "\n"); next; line = strsep(&next, "\n"))
        if (decode_score(line, &layout, path, ++number, s, e))
            return -1;
    if (!line || *line || s->count == 0)
        return err_set(e, ERR_DATA, "%s:%zu: %s", path, number + 1,
                       s->count ? "the last line has no newline; the file was cut"
                                : "there is no image");
    qsort(s->rows, s->count, sizeof *s->rows, compare_scores);
    for (size_t i = 1; i < s->count; i++)
        if (s->rows[i].image == s->rows[i - 1].image)
            return err_set(e, ERR_DATA, "%s: an image appears twice", path);
    return 0;
}

struct scores *scores_read(const char *path, const char *column, struct err *e)
{
    size_t size, nlines = 1;
    char *text = atomicfile_read(path, MAX_FILE, &size, e);
    struct scores *s = NULL;

    if (!text)
        return NULL;
    for (size_t i = 0; i < size; i++)
        nlines += text[i] == '\n';
    s = mem_zero(1, sizeof *s, e);
    if (s)
        s->rows = mem_zero(nlines, sizeof *s->rows, e);
    if (s && s->rows && strlen(text) != size)
        err_set(e, ERR_DATA, "%s: holds binary data", path);
    else if (s && s->rows && decode_scores(text, path, column, s, e) == 0)
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

size_t scores_match(const struct scores *a, const struct scores *b, double *iou_a, double *iou_b)
{
    size_t n = 0;

    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        const struct score *x = &a->rows[i], *y = &b->rows[j];
        if (x->image == y->image) {
            iou_a[n] = x->iou;
            iou_b[n++] = y->iou;
        }
        i += x->image <= y->image;
        j += y->image <= x->image;
    }
    return n;
}
