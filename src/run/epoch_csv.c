/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/run/epoch_csv.h"

#include <math.h>

#include "src/atomicfile.h"

#define NCOLUMNS 6

static const char *const column_names[NCOLUMNS] = {"time_per_epoch", "loss",      "lr",
                                                   "training_time",  "test_time", "iou"};

struct csv_reader {
    const char *name;
    size_t line; /* its number, from 1 */
    struct err *e;
};

#define refuse(r, ...) \
    (err_set((r)->e, ERR_DATA, __VA_ARGS__), err_prefix((r)->e, "%s:%zu", (r)->name, (r)->line))

/* Reads a plain decimal number. strtod alone would also accept blanks, hexadecimal, "nan" and
 * "inf". */
static int read_cell(const struct csv_reader *r, const char *text, size_t n, const char *column,
                     double *dst)
{
    char *end;

    if (n == 0)
        return refuse(r, "%s is empty", column);
    if (strspn(text, "0123456789+-.eE") < n || text[0] == 'e' || text[0] == 'E')
        return refuse(r, "%s is '%.*s', not a number", column, n < 40 ? (int)n : 40, text);
    double v = strtod(text, &end);
    if (end != text + n)
        return refuse(r, "%s is '%.*s', not a number", column, n < 40 ? (int)n : 40, text);
    if (!isfinite(v))
        return refuse(r, "%s is '%.*s', too large", column, n < 40 ? (int)n : 40, text);
    *dst = v;
    return 0;
}

static int check_row(const struct csv_reader *r, const struct epoch_row *row,
                     const struct epoch_row *first)
{
    if (row->time_per_epoch < 0 || row->training_time < 0 || row->test_time < 0)
        return refuse(r, "a time is negative");
    if (row->iou < 0 || row->iou > 1)
        return refuse(r, "iou is %g, outside 0..1", row->iou);
    if (row->training_time != first->training_time || row->test_time != first->test_time ||
        row->iou != first->iou)
        return refuse(r, "training_time, test_time or iou differs from the first row; they belong "
                      "to the whole run, so two runs are mixed here");
    return 0;
}

/* Reads line[0..n), which does not include the newline. */
static int read_row(const struct csv_reader *r, const char *line, size_t n, size_t epoch,
                    struct epoch_row *row)
{
    double *const columns[NCOLUMNS] = {&row->time_per_epoch, &row->loss,      &row->lr,
                                       &row->training_time,  &row->test_time, &row->iou};
    const char *end = line + n;
    char want[32];
    size_t length = (size_t)snprintf(want, sizeof want, "%zu,", epoch);

    if (n < length || strncmp(line, want, length) != 0)
        return refuse(r, "the row does not begin with epoch %zu", epoch);
    line += length;
    for (int i = 0; i < NCOLUMNS; i++) {
        const char *comma = memchr(line, ',', (size_t)(end - line));
        const char *stop = comma ? comma : end;
        if (!comma && i < NCOLUMNS - 1)
            return refuse(r, "the row is cut short after %s", column_names[i]);
        if (comma && i == NCOLUMNS - 1)
            return refuse(r, "the row has more than %d columns", NCOLUMNS + 1);
        if (read_cell(r, line, (size_t)(stop - line), column_names[i], columns[i]))
            return -1;
        line = stop + 1;
    }
    return 0;
}

static size_t count_lines(const char *text, size_t n)
{
    size_t lines = 0;

    for (const char *p = text; (p = memchr(p, '\n', n - (size_t)(p - text))); p++)
        lines++;
    return lines;
}

static int check_header(const struct csv_reader *r, const char *text, size_t n)
{
    size_t length = strlen(EPOCH_CSV_HEADER);

    if (n == 0)
        return refuse(r, "the file is empty");
    if (n > 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        return refuse(r, "it begins with a byte order mark: another program saved it");
    if (n > length && memcmp(text, EPOCH_CSV_HEADER, length) == 0 && text[length] == '\r')
        return refuse(r, "its lines end in CR LF: another program saved it");
    if (n <= length || memcmp(text, EPOCH_CSV_HEADER, length) != 0 || text[length] != '\n')
        return refuse(r, "the header is not '" EPOCH_CSV_HEADER "'; another file, or several ranks "
                      "wrote over each other");
    return 0;
}

int epoch_csv_decode(const char *text, size_t n, const char *name, struct epoch_csv *dst,
                     struct err *e)
{
    struct csv_reader r = {name, 1, e};

    if (check_header(&r, text, n))
        return -1;
    size_t nrows = count_lines(text, n) - 1, length;
    struct epoch_row *rows = calloc(nrows + 1, sizeof *rows);
    if (!rows)
        return err_set(e, ERR_INTERNAL, "%s: out of memory", name);
    const char *line = text + strlen(EPOCH_CSV_HEADER) + 1, *end = text + n;
    for (size_t i = 0; i < nrows; i++, line += length + 1) {
        r.line++;
        length = (size_t)((const char *)memchr(line, '\n', (size_t)(end - line)) - line);
        if (read_row(&r, line, length, i, &rows[i]) || check_row(&r, &rows[i], &rows[0]))
            goto bad;
    }
    r.line++;
    if (line != end) {
        refuse(&r, "the last line has no newline; the file was cut");
        goto bad;
    }
    if (nrows == 0) {
        refuse(&r, "there is a header but no epoch");
        goto bad;
    }
    *dst = (struct epoch_csv){rows, nrows};
    return 0;
bad:
    free(rows);
    return -1;
}

static int check_finite(const struct epoch_row *row, size_t epoch, const char *path, struct err *e)
{
    const double v[NCOLUMNS] = {row->time_per_epoch, row->loss,      row->lr,
                                row->training_time,  row->test_time, row->iou};

    for (int i = 0; i < NCOLUMNS; i++)
        if (!isfinite(v[i]))
            return err_set(e, ERR_DATA, "%s not written: %s of epoch %zu is %f", path,
                           column_names[i], epoch, v[i]);
    return 0;
}

int epoch_csv_write(const char *path, const struct epoch_row *rows, size_t count, struct err *e)
{
    for (size_t i = 0; i < count; i++)
        if (check_finite(&rows[i], i, path, e))
            return -1;
    struct atomicfile *a = atomicfile_open(path, 0666, e);
    if (!a)
        return -1;
    FILE *f = atomicfile_stream(a);
    fprintf(f, "%s\n", EPOCH_CSV_HEADER);
    for (size_t i = 0; i < count; i++)
        fprintf(f, "%zu,%.6f,%.6f,%.6f,%.6f,%.6f,%.6f\n", i, rows[i].time_per_epoch, rows[i].loss,
                rows[i].lr, rows[i].training_time, rows[i].test_time, rows[i].iou);
    return atomicfile_commit(a, e);
}

void epoch_csv_destroy(struct epoch_csv *c)
{
    if (!c)
        return;
    free(c->rows);
    *c = (struct epoch_csv){NULL, 0};
}
