/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/log/keras_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/text/csv.h"


#define MAX_COLUMNS 64
#define NONE (-1)

static const char *const time_names[] = {"time_per_epoch", "epoch_time", "epoch_s", "seconds",
                                         "duration",       "time",       NULL};
static const char *const accuracy_names[] = {"val_accuracy", "val_acc", NULL};

struct keras_columns {
    char separator;
    int ncolumns, loss, time, score;
    bool is_iou;
};

struct row {
    double loss, seconds, score;
};

bool keras_log_matches(const char *text)
{
    return strncmp(text, "epoch,", 6) == 0 || strncmp(text, "epoch;", 6) == 0;
}

/* Returns the next line without its LF or CR LF (Python's csv writes CR LF). *next becomes NULL
 * after the last line. */
static char *take_line(char **next)
{
    char *line = strsep(next, "\n"), *end = line + strlen(line);

    if (end > line && end[-1] == '\r')
        end[-1] = '\0';
    return line;
}

static int find_column(char *cells[], int n, const char *const *names)
{
    for (; *names; names++)
        for (int i = 0; i < n; i++)
            if (strcasecmp(cells[i], *names) == 0)
                return i;
    return NONE;
}

static int find_iou(char *cells[], int n)
{
    for (int i = 0; i < n; i++)
        if (strncmp(cells[i], "val_", 4) == 0 &&
            (strcasestr(cells[i], "iou") || strcasestr(cells[i], "io_u") ||
             strcasestr(cells[i], "jaccard")))
            return i;
    return NONE;
}

static int decode_keras_header(char *line, const char *path, struct keras_columns *l, struct err *e)
{
    char *cells[MAX_COLUMNS];
    static const char *const loss_names[] = {"loss", NULL};

    l->separator = line[5];
    l->ncolumns = csv_split(line, l->separator, cells, MAX_COLUMNS);
    if (l->ncolumns < 0)
        return err_set(e, ERR_DATA, "%s:1: more than %d columns, or quotes that do not match", path,
                       MAX_COLUMNS);
    l->loss = find_column(cells, l->ncolumns, loss_names);
    l->time = find_column(cells, l->ncolumns, time_names);
    l->score = find_iou(cells, l->ncolumns);
    l->is_iou = l->score != NONE;
    if (l->score == NONE)
        l->score = find_column(cells, l->ncolumns, accuracy_names);
    return l->loss == NONE ? err_set(e, ERR_DATA, "%s:1: there is no column 'loss'", path) : 0;
}

static int decode_keras_number(const char *cell, const char *what, const char *path, size_t line,
                               double *dst, struct err *e)
{
    char *end;

    *dst = strtod(cell, &end); /* strtod would also accept blanks and hexadecimal */
    if (!*cell || *end || !isfinite(*dst) || strspn(cell, "0123456789+-.eE") < strlen(cell))
        return err_set(e, ERR_DATA, "%s:%zu: %s is '%.40s', not a finite number", path, line, what,
                       cell);
    return 0;
}

static int decode_keras_epoch(char *line, const struct keras_columns *l, const char *path,
                              size_t number, struct row *dst, struct err *e)
{
    char *cells[MAX_COLUMNS];
    double epoch;

    if (csv_split(line, l->separator, cells, MAX_COLUMNS) != l->ncolumns)
        return err_set(e, ERR_DATA, "%s:%zu: the row does not have the %d cells of the header",
                       path, number, l->ncolumns);
    dst->seconds = dst->score = NAN;
    if (decode_keras_number(cells[0], "epoch", path, number, &epoch, e) ||
        decode_keras_number(cells[l->loss], "loss", path, number, &dst->loss, e) ||
        (l->time != NONE &&
         decode_keras_number(cells[l->time], "the time", path, number, &dst->seconds, e)) ||
        (l->score != NONE &&
         decode_keras_number(cells[l->score], "the score", path, number, &dst->score, e)))
        return -1;
    if (epoch != (double)(number - 2))
        return err_set(
            e, ERR_DATA,
            "%s:%zu: this is epoch %g, not %zu: rows are missing, or two runs are mixed", path,
            number, epoch, number - 2);
    if (dst->seconds < 0)
        return err_set(e, ERR_DATA, "%s:%zu: a time is negative", path, number);
    if (dst->score < 0 || dst->score > 1)
        return err_set(e, ERR_DATA, "%s:%zu: the score is %g, outside 0..1", path, number,
                       dst->score);
    return 0;
}

static void measure_curve(const struct curve *c, const struct keras_columns *l, struct result *r)
{
    curve_measure(c, r);
    if (l->time != NONE) {
        r->training_time = 0;
        for (size_t i = 0; i < c->n; i++)
            r->training_time += c->seconds[i];
    }
    if (!c->score)
        return;
    *(l->is_iou ? &r->iou : &r->accuracy) = c->score[c->n - 1];
    result_set_text(r->metric, sizeof r->metric, l->is_iou ? "iou" : "accuracy");
}

int keras_log_decode(char *text, const char *path, struct result *r, struct err *e)
{
    char *next = text, *line;
    size_t number = 1, nlines = 0;
    struct keras_columns layout = {0};

    for (const char *p = text; (p = strchr(p, '\n')); p++)
        nlines++;
    line = take_line(&next);
    if (decode_keras_header(line, path, &layout, e))
        return -1;
    if (nlines < 2)
        return err_set(e, ERR_DATA, "%s:2: there is a header but no epoch", path);
    struct curve *c = curve_create(nlines - 1, layout.score != NONE ? CURVE_SCORE : 0, e);
    if (!c)
        return -1;
    for (line = take_line(&next); next; line = take_line(&next)) {
        struct row row;
        if (decode_keras_epoch(line, &layout, path, ++number, &row, e))
            goto bad;
        c->seconds[number - 2] = row.seconds;
        c->loss[number - 2] = row.loss;
        if (c->score)
            c->score[number - 2] = row.score;
    }
    if (*line) {
        err_set(e, ERR_DATA, "%s:%zu: the last line has no newline; the file was cut", path,
                number + 1);
        goto bad;
    }
    r->curve = c;
    measure_curve(c, &layout, r);
    return 0;
bad:
    curve_destroy(c);
    return -1;
}
