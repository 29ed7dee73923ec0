/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/log/log_table.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/buf.h"
#include "src/mem.h"

#define NAMES_SHOWN 600 /* bytes of the list of columns in an error */

int log_table_column(struct log_table *t, const char *name, struct err *e)
{
    for (size_t i = 0; i < t->ncolumns; i++)
        if (strcmp(t->columns[i].name, name) == 0)
            return (int)i;
    if (t->ncolumns == LOG_COLUMNS_MAX)
        return err_set(e, ERR_DATA, "%s: more than %d columns", t->path, LOG_COLUMNS_MAX);
    if (mem_grow(&t->columns, t->ncolumns, &t->column_capacity, sizeof *t->columns, e))
        return -1;
    char *copy = mem_text(name, e);
    if (!copy)
        return -1;
    t->columns[t->ncolumns] = (struct log_column){.name = copy};
    return (int)t->ncolumns++;
}

int log_table_add_row(struct log_table *t, size_t line, struct err *e)
{
    if (mem_grow(&t->rows, t->nrows, &t->row_capacity, sizeof *t->rows, e))
        return -1;
    t->rows[t->nrows++] = (struct log_row){.line = line, .first = t->ncells};
    return 0;
}

static int add_cell(struct log_table *t, struct log_cell cell, struct err *e)
{
    if (mem_grow(&t->cells, t->ncells, &t->cell_capacity, sizeof *t->cells, e)) {
        free(cell.text);
        return -1;
    }
    t->cells[t->ncells++] = cell;
    t->rows[t->nrows - 1].n++;
    return 0;
}

/* Returns whether text[0..n) is a finite decimal number. strtod alone would also accept blanks,
 * hexadecimal, "nan" and "inf". */
static bool decode_number(const char *text, size_t n, double *value)
{
    char *end;

    if (!n || strspn(text, "0123456789+-.eE") < n)
        return false;
    *value = strtod(text, &end);
    return end == text + n && isfinite(*value);
}

/* Decodes "SS", "SS.sss" or "SS,sss", and what may follow: nothing, Z or +HH:MM. */
static bool decode_seconds(const char *text, double *seconds, double *zone)
{
    char digits[32], sign[2];
    size_t n = strspn(text, "0123456789.,"), hours, minutes = 0;
    int end = 0;

    *zone = 0;
    if (n == 0 || n >= sizeof digits)
        return false;
    memcpy(digits, text, n);
    digits[n] = 0;
    if (strchr(digits, ','))
        *strchr(digits, ',') = '.';
    if (!decode_number(digits, n, seconds) || *seconds > 61)
        return false;
    text += n;
    if (sscanf(text, "%1[+-]%2zu:%2zu%n", sign, &hours, &minutes, &end) == 3 && !text[end]) {
        *zone = (double)(hours * 3600 + minutes * 60) * (*sign == '-' ? -1 : 1);
        return true;
    }
    return !*text || strcmp(text, "Z") == 0;
}

/* Decodes 2026-11-26 21:31:38,123 or 2026-11-26T21:31:38Z. */
static bool decode_date(const char *text, double *value)
{
    struct tm t = {0};
    char between[2];
    double seconds, zone;
    int n = 0;

    if (sscanf(text, "%4d-%2d-%2d%1[T ]%2d:%2d:%n", &t.tm_year, &t.tm_mon, &t.tm_mday, between,
               &t.tm_hour, &t.tm_min, &n) != 6 || !n || !decode_seconds(text + n, &seconds, &zone))
        return false;
    t.tm_year -= 1900;
    t.tm_mon--;
    *value = (double)timegm(&t) + seconds - zone;
    return true;
}

/* Decodes "1:02:03.5". */
static bool decode_duration(const char *text, double *value)
{
    unsigned hours, minutes;
    double seconds, zone;
    int n = 0;

    if (!isdigit((unsigned char)*text) || sscanf(text, "%7u:%2u:%n", &hours, &minutes, &n) != 2 ||
        !n || !decode_seconds(text + n, &seconds, &zone))
        return false;
    *value = hours * 3600. + minutes * 60. + seconds;
    return true;
}

/* Decodes the mean of "[0.9, 0.8]"; numpy's "np.float32(0.9)" is a number, too. */
static bool decode_list(const char *text, double *value)
{
    double sum = 0, one;
    size_t count = 0;

    if (*text != '[')
        return false;
    while (*++text) {
        size_t n = strspn(text, "0123456789+-.eE");
        if (n && strchr(",]) ", text[n]) && !isalnum((unsigned char)text[-1]) &&
            decode_number(text, n, &one)) {
            sum += one;
            count++;
        }
        text += n ? n - 1 : 0;
    }
    *value = sum / (double)count;
    return count > 0;
}

int log_table_set(struct log_table *t, int column, const char *text, struct err *e)
{
    struct log_cell cell = {.column = column};
    char word[256];

    text += strspn(text, " \t");
    size_t n = strlen(text);
    while (n && strchr(" \t\r", text[n - 1]))
        n--;
    if (!n)
        return 0;
    snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), text);
    if (decode_number(text, n, &cell.value) || decode_duration(word, &cell.value) ||
        decode_list(text, &cell.value))
        return add_cell(t, cell, e);
    if (decode_date(word, &cell.value)) {
        t->columns[column].dated = true;
        return add_cell(t, cell, e);
    }
    cell.text = mem_text(word, e);
    return cell.text ? add_cell(t, cell, e) : -1;
}

int log_table_set_number(struct log_table *t, const char *name, double value, struct err *e)
{
    int column = log_table_column(t, name, e);

    if (column < 0)
        return -1;
    return isfinite(value) ? add_cell(t, (struct log_cell){.column = column, .value = value}, e)
                           : log_table_set(t, column, isnan(value) ? "nan" : "inf", e);
}

const struct log_cell *log_table_get(const struct log_table *t, size_t i, int column)
{
    const struct log_row *row = &t->rows[i];

    for (size_t k = row->first; column >= 0 && k < row->first + row->n; k++)
        if (t->cells[k].column == column)
            return &t->cells[k];
    return NULL;
}

int log_table_refuse(const struct log_table *t, size_t i, struct err *e, const char *fmt, ...)
{
    char why[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    return err_set(e, ERR_DATA, "%s:%s%zu: %s", t->path, t->row_word ? t->row_word : "",
                   t->rows[i].line, why);
}

int log_table_ask(const struct log_table *t, struct err *e, const char *fmt, ...)
{
    struct buf names = {0};
    char why[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < t->ncolumns && names.length < NAMES_SHOWN; i++)
        buf_addf(&names, "%s%s", i ? ", " : "", t->columns[i].name);
    err_set(e, ERR_CONFIG, "%s: %s; its columns are %.*s", t->path, why, NAMES_SHOWN,
            names.data ? names.data : "none");
    buf_destroy(&names);
    return -1;
}

void log_table_destroy(struct log_table *t)
{
    for (size_t i = 0; i < t->ncolumns; i++)
        free(t->columns[i].name);
    for (size_t i = 0; i < t->ncells; i++)
        free(t->cells[i].text);
    free(t->columns);
    free(t->rows);
    free(t->cells);
    *t = (struct log_table){0};
}
