/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/cluster/range.h"

#define GRAMMAR "write N, N..M or N..M:STEP, joined by commas"

struct item {
    long first, last, step;
};

struct range_reader {
    const char *text, *at;
    int min, max;
    struct err *e;
};

static int refuse_range(const struct range_reader *r, const char *at, const char *why)
{
    return err_set(r->e, ERR_USAGE, "'%.80s', position %zu: %s", r->text,
                   (size_t)(at - r->text) + 1, why);
}

static void skip_blanks(struct range_reader *r)
{
    r->at += strspn(r->at, " \t");
}

/* Reads digits. The value stops growing once it exceeds max, so that any number of digits is
 * safe. */
static int read_count(struct range_reader *r, long min, long max, long *dst)
{
    const char *start = r->at;
    char why[128];
    long v = 0;

    while (*r->at >= '0' && *r->at <= '9') {
        v = v > max ? v : 10 * v + (*r->at - '0');
        r->at++;
    }
    if (r->at == start)
        return refuse_range(r, start, *start == '-' ? "a count cannot be negative"
                                                    : "a whole number is missing here; " GRAMMAR);
    if (v < min || v > max) {
        int digits = r->at - start < 24 ? (int)(r->at - start) : 24;
        snprintf(why, sizeof why, "%.*s is not within %ld..%ld", digits, start, min, max);
        return refuse_range(r, start, why);
    }
    *dst = v;
    return 0;
}

static int read_item(struct range_reader *r, struct item *item)
{
    const char *start;

    skip_blanks(r);
    start = r->at;
    if (read_count(r, r->min, r->max, &item->first))
        return -1;
    item->last = item->first;
    item->step = 1;
    if (strncmp(r->at, "..", 2) == 0) {
        r->at += 2;
        if (read_count(r, r->min, r->max, &item->last))
            return -1;
        if (*r->at == ':') {
            r->at++;
            if (read_count(r, 1, r->max > 1 ? r->max : 1, &item->step))
                return -1;
        }
        if (item->last < item->first)
            return refuse_range(r, start,
                                "the range ends below its start; write the smaller number first");
    }
    skip_blanks(r);
    if (*r->at == '-')
        return refuse_range(r, r->at, "a range is written with two dots: N..M");
    if (*r->at && *r->at != ',')
        return refuse_range(r, r->at, "unexpected character; " GRAMMAR);
    return 0;
}

/* Reads the next item and adds its values. */
static int add_item(struct range_reader *r, struct range *dst, size_t *capacity)
{
    struct item item;

    if (read_item(r, &item))
        return -1;
    for (long value = item.first; value <= item.last; value += item.step) {
        if (dst->count == RANGE_COUNT_MAX)
            return err_set(r->e, ERR_USAGE, "'%.80s' has more than %d values", r->text,
                           RANGE_COUNT_MAX);
        if (mem_grow(&dst->values, dst->count, capacity, sizeof *dst->values, r->e))
            return -1;
        dst->values[dst->count++] = (int)value;
    }
    return 0;
}

static int compare_longs(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

int range_decode(const char *text, int min, int max, struct range *dst, struct err *e)
{
    struct range_reader r = {.text = text, .at = text, .min = min, .max = max, .e = e};
    size_t capacity = 0, count = 1;

    *dst = (struct range){NULL, 0};
    do {
        if (add_item(&r, dst, &capacity)) {
            range_destroy(dst);
            return -1;
        }
    } while (*r.at++);
    qsort(dst->values, dst->count, sizeof *dst->values, compare_longs);
    for (size_t i = 1; i < dst->count; i++)
        if (dst->values[i] != dst->values[count - 1])
            dst->values[count++] = dst->values[i];
    dst->count = count;
    return 0;
}

void range_destroy(struct range *r)
{
    if (!r)
        return;
    free(r->values);
    *r = (struct range){NULL, 0};
}

/* ---- time limits ---- */

long number_take(const char **text, long max)
{
    char *end;

    if (**text < '0' || **text > '9')
        return -1;
    errno = 0;
    long v = strtol(*text, &end, 10);
    *text = end;
    return errno || v > max ? -1 : v;
}

int time_limit_decode(const char *text)
{
    long part[4] = {0}, days = -1;
    int n = 0;

    if (strcasecmp(text, "UNLIMITED") == 0 || strcasecmp(text, "INFINITE") == 0)
        return 0;

    for (;;) {
        if (n == 4 || (part[n++] = number_take(&text, INT_MAX)) < 0)
            return -1;
        if (*text == '-' && n == 1 && days < 0) {
            days = part[0];
            n = 0;
        } else if (*text == 0) {
            break;
        } else if (*text != ':') {
            return -1;
        }
        text++;
    }
    if (n > 3)
        return -1;
    /* After days, the first number is hours. Without days, a single number is minutes, and two
     * are M:S. */
    double seconds = 0;
    if (days >= 0)
        seconds = days * 86400.0 + part[0] * 3600.0 + part[1] * 60.0 + part[2] * (n == 3);
    else if (n == 3)
        seconds = part[0] * 3600.0 + part[1] * 60.0 + part[2];
    else
        seconds = part[0] * 60.0 + part[1] * (n == 2);
    double minutes = (seconds + 59) / 60;
    return minutes >= 1 && minutes <= INT_MAX ? (int)minutes : -1;
}
