/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/text.h"

#include <math.h>
#include <string.h>

#include "launcher/report/escape.h"
#include "launcher/report/tables.h"

#define CHART_WIDTH 56

void text_wrap(struct buf *b, const char *text, int indent)
{
    size_t column = 0;

    while (*(text += strspn(text, " "))) {
        size_t n = strcspn(text, " ");
        if (column && column + 1 + n > TEXT_COLUMNS) {
            buf_addf(b, "\n%*s", indent, "");
            column = (size_t)indent;
        } else if (column) {
            buf_add(b, " ");
            column++;
        }
        buf_add_bytes(b, text, n);
        column += n;
        text += n;
    }
    buf_add(b, "\n");
}

/* Each line of text, made safe for a terminal and wrapped. */
static void add_lines(struct buf *b, const char *text, const char *before)
{
    while (*text) {
        struct buf line = {0}, safe = {0};
        size_t n = strcspn(text, "\n");
        buf_add(&line, before);
        buf_add_bytes(&line, text, n);
        escape_plain(&safe, line.data ? line.data : "");
        text_wrap(b, safe.data ? safe.data : "", 2);
        buf_destroy(&line);
        buf_destroy(&safe);
        text += n + (text[n] == '\n');
    }
}

void text_encode_verdict(const struct report *r, struct buf *b)
{
    for (size_t i = 0; i < r->nseries; i++) {
        add_lines(b, r->series[i].words, "");
        buf_add(b, "\n");
    }
    if (*r->problems) {
        buf_add(b, "Runs without a result (they are in no number of this report):\n");
        add_lines(b, r->problems, "- ");
        buf_add(b, "\n");
    }
}

/* A bar per count: '#' up to the speed-up, '.' on to the ideal one, '|' where that is. */
static void add_chart(struct buf *b, const struct scaling *s)
{
    double ideal = scaling_ideal(s, s->points[s->npoints - 1].gpus), scale = ideal;

    for (size_t i = 0; i < s->npoints; i++)
        if (s->points[i].speedup_steady > scale)
            scale = s->points[i].speedup_steady;
    buf_add(b, "\nspeed-up in steady epochs (#) up to the ideal (|)\n");
    for (size_t i = 0; i < s->npoints; i++) {
        const struct scaling_point *p = &s->points[i];
        char bar[CHART_WIDTH + 2];
        int mark = (int)lround(scaling_ideal(s, p->gpus) / scale * CHART_WIDTH);
        int length = isnan(p->speedup_steady)
                         ? 0 : (int)lround(p->speedup_steady / scale * CHART_WIDTH);
        memset(bar, ' ', sizeof bar);
        memset(bar, '.', (size_t)mark);
        memset(bar, '#', (size_t)length);
        bar[mark] = '|';
        bar[CHART_WIDTH + 1] = '\0';
        buf_addf(b, "%6d  %s  %.2f\n", p->gpus, bar, p->speedup_steady);
    }
    buf_add(b, "  GPUs\n");
}

void text_encode(const struct report *r, struct buf *b)
{
    struct table t;

    text_encode_verdict(r, b);
    for (size_t i = 0; i < r->nseries; i++) {
        buf_add(b, i ? "\n" : "");
        escape_plain(b, r->series[i].label);
        buf_add(b, ": speed-up by total time, by steady epochs, and their efficiency\n");
        tables_fill_short(&t, &r->series[i].scaling);
        table_encode_text(&t, b);
        b->failed |= t.failed;
        table_destroy(&t);
        add_chart(b, &r->series[i].scaling);
    }
}
