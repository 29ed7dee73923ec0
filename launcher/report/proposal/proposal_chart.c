/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/proposal/proposal_chart.h"

#include <math.h>
#include <stdio.h>

#include "src/plural.h"

#define STEPS 24 /* the most steps of a curve, about */

int proposal_chart_end(const struct report_series *rs)
{
    const struct series *s = &rs->as->series;
    int largest = s->points[s->npoints - 1].gpus;

    return model_is_usable(&rs->as->steady) ? MODEL_FURTHEST * largest : largest;
}

/* Adds what the model expects beyond the largest measured count, or its interval. */
static void add_extrapolation(struct chart *c, const struct report_series *rs, int colour,
                              bool band)
{
    const struct series *s = &rs->as->series;
    int from = s->points[s->npoints - 1].gpus, to = proposal_chart_end(rs);

    if (to == from)
        return;
    struct chart_series *dst = chart_add_series(c, band ? CHART_BAND : CHART_LINE, colour,
                                                band ? "extrapolation, 90 %% interval"
                                                     : "extrapolation, expected");
    for (int n = from; n <= to; n += (to - from) / STEPS + 1) {
        struct bounds b = model_speedup(&rs->as->steady, s->points[0].gpus, n);
        chart_add_point(c, dst, n, band ? NAN : b.expected, band ? b.low : NAN,
                        band ? b.high : NAN);
    }
    if (dst)
        dst->dashed = true;
}

static void add_measured(struct chart *c, const struct report_series *rs, size_t i,
                         const char *label)
{
    const struct series *s = &rs->as->series;
    struct chart_series *dst = chart_add_series(c, CHART_MARKS, (int)(i % CHART_COLOURS), "%s",
                                                label);

    if (dst)
        dst->mark = (int)(i % 4);
    for (size_t k = 0; k < s->npoints; k++) {
        const struct ratio *r = series_speedup(s, &s->points[k]);
        bool known = interval_is_known(&r->interval);
        chart_add_point(c, dst, s->points[k].gpus, r->value, known ? r->interval.low : r->least,
                        known ? r->interval.high : r->most);
    }
}

void proposal_chart_make(struct chart *c, const struct report *r)
{
    int base = r->series[0].as->series.points[0].gpus, end = base;

    chart_init(c, "scaling", "Speed-up against the ideal",
               "Speed-up, both axes logarithmic. Marks: measured, with intervals of 95 %% or, of too "
               "few runs, their range. Line: the ideal. Dashed, in its interval of 90 %%: "
               "extrapolated by the model, not measured.");
    snprintf(c->x.label, sizeof c->x.label, "GPUs");
    snprintf(c->y.label, sizeof c->y.label, "speed-up");
    c->x.logarithmic = c->y.logarithmic = true;
    for (size_t i = 0; i < r->nseries; i++) {
        add_extrapolation(c, &r->series[i], (int)(i % CHART_COLOURS), true);
        add_extrapolation(c, &r->series[i], (int)(i % CHART_COLOURS), false);
        add_measured(c, &r->series[i], i, r->nseries > 1 ? r->series[i].label : "measured");
        end = proposal_chart_end(&r->series[i]) > end ? proposal_chart_end(&r->series[i]) : end;
    }
    struct chart_series *ideal = chart_add_series(c, CHART_LINE, CHART_INK, "ideal, over %d GPU%s",
                                                  base, plural(base));
    chart_add_point(c, ideal, base, 1, NAN, NAN);
    chart_add_point(c, ideal, end, (double)end / base, NAN, NAN);
    chart_fit(c, false);
}
