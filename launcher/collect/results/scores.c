/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/results/scores.h"

#include <stdio.h>
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
    int intersection, pred, truth; /* -1: there is no such column */
};

static int decode_scores_header(char *line, const char *path, const char *column,
                                struct score_columns *l, struct err *e)
{
    char *cells[MAX_COLUMNS];

    *l = (struct score_columns){csv_split(line, ',', cells, MAX_COLUMNS), -1, -1, -1, -1, -1, -1};
    for (int i = 0; i < l->ncolumns; i++) {
        l->image = strcmp(cells[i], "image") == 0 ? i : l->image;
        l->class = strcmp(cells[i], "class") == 0 ? i : l->class;
        l->iou = strcmp(cells[i], column) == 0 ? i : l->iou;
        l->intersection = strcmp(cells[i], "intersection") == 0 ? i : l->intersection;
        l->pred = strcmp(cells[i], "pred") == 0 ? i : l->pred;
        l->truth = strcmp(cells[i], "truth") == 0 ? i : l->truth;
    }
    if (l->image < 0 || l->class < 0 || l->iou < 0)
        return err_set(e, ERR_DATA, "%s:1: there are no columns image, class and %s", path, column);
    return 0;
}

/* Returns the class of this name. A new one comes behind *at, the class of the image's previous
 * row, since an image lists its classes in their order; *at becomes the returned one. NULL if
 * memory ran out. */
static struct score_class *find_class(struct scores *s, const char *name, size_t *at,
                                      struct err *e)
{
    struct score_class *grown;

    for (size_t i = 0; i < s->nclasses; i++)
        if (strncmp(s->classes[i].name, name, sizeof s->classes[i].name - 1) == 0)
            return &s->classes[*at = i];
    grown = reallocarray(s->classes, s->nclasses + 1, sizeof *grown);
    if (!grown) {
        mem_fail(e);
        return NULL;
    }
    s->classes = grown;
    *at = *at < s->nclasses ? *at + 1 : 0;
    memmove(&grown[*at + 1], &grown[*at], (s->nclasses++ - *at) * sizeof *grown);
    grown[*at] = (struct score_class){0};
    snprintf(grown[*at].name, sizeof grown[*at].name, "%s", name);
    return &grown[*at];
}

/* Adds the counts of a row for one class. */
static int add_class(char **cells, const struct score_columns *l, struct scores *s, size_t *at,
                     struct err *e)
{
    if (l->intersection < 0 || l->pred < 0 || l->truth < 0)
        return 0;
    double both = strtod(cells[l->intersection], NULL);
    double either = strtod(cells[l->pred], NULL) + strtod(cells[l->truth], NULL) - both;
    if (!(both >= 0) || !(either >= both) || !(either < 1e18))
        return 0;
    struct score_class *c = find_class(s, csv_text(cells[l->class]), at, e);
    if (!c)
        return -1;
    c->intersection += both;
    c->either += either;
    return 0;
}

/* Adds the image of a row for class "all", or the counts of another row to its class. at: as in
 * find_class. */
static int decode_score(char *line, const struct score_columns *l, const char *path, size_t number,
                        struct scores *s, size_t *at, struct err *e)
{
    char *cells[MAX_COLUMNS], *end;

    if (csv_split(line, ',', cells, MAX_COLUMNS) != l->ncolumns)
        return err_set(e, ERR_DATA, "%s:%zu: the row does not have %d cells", path, number,
                       l->ncolumns);
    if (strcmp(cells[l->class], "all"))
        return add_class(cells, l, s, at, e);
    *at = SIZE_MAX;
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
    size_t number = 1, class = SIZE_MAX;

    if (decode_scores_header(line, path, column, &layout, e))
        return -1;
    for (line = strsep(&next, "\n"); next; line = strsep(&next, "\n"))
        if (decode_score(line, &layout, path, ++number, s, &class, e))
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
    free(s->classes);
    free(s);
}

double scores_class_iou(const struct score_class *c)
{
    return (c->intersection + 1) / (c->either + 1);
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
