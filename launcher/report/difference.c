/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/difference.h"

#include <math.h>

#include "launcher/report/markup/table.h"
#include "src/plural.h"

/* Adds " (95 % interval 1.20-1.30, simultaneous over 4 comparisons)". */
static void add_family(struct buf *b, const struct comparison *c, const struct interval *i,
                       int decimals)
{
    buf_addf(b, " (95 %% interval %.*f to %.*f", decimals, table_round(i->low, decimals), decimals,
             table_round(i->high, decimals));
    if (c->nfamily > 1)
        buf_addf(b, ", simultaneous over %zu comparisons", c->nfamily);
    buf_add(b, ")");
}

/* Adds "B is 1.25x faster than A (95 % interval ...)" if the interval excludes 1. */
static void add_time_comparison(struct buf *b, const struct analysis_difference *d,
                                const char *label_a, const char *label_b, const struct series *s)
{
    const struct ratio *r = &d->ratio;
    bool turned = r->value < 1;
    struct interval i = r->interval;
    double value = turned ? 1 / r->value : r->value;

    if (turned) {
        i.low = 1 / r->interval.high;
        i.high = 1 / r->interval.low;
    }
    const char *fast = turned ? label_a : label_b, *slow = turned ? label_b : label_a;
    if (d->compare.test == COMPARE_NONE) {
        buf_addf(b, "%s was %.2fx as fast as %s in these runs", fast, value, slow);
        if (i.method == INTERVAL_EPOCHS)
            buf_addf(b, " (%.2f-%.2f by the %ss of single runs)", i.low, i.high,
                     series_interval(s));
        buf_add(b, "; too few runs for a test.");
    } else if (d->compare.significant) {
        buf_addf(b, "%s is %.2fx faster than %s", fast, value, slow);
        add_family(b, &d->compare, &i, 2);
        buf_add(b, ".");
    } else if (i.low > 1 / (1 + d->compare.margin) && i.high < 1 + d->compare.margin) {
        buf_addf(b, "%s and %s are equally fast within %.0f %%", label_a, label_b,
                 100 * d->compare.margin);
        add_family(b, &d->compare, &i, 3);
        buf_add(b, ".");
    } else {
        buf_addf(b, "no difference is shown; %s was %.2fx as fast as %s", fast, value, slow);
        add_family(b, &d->compare, &i, 2);
        buf_add(b, ".");
    }
}

static void add_quality_comparison(struct buf *b, const struct comparison *c, const char *label_a,
                                   const char *label_b, const struct series *s)
{
    int decimals = s->decimals;

    buf_addf(b, "%s %.*f, %s %.*f; ", label_b, decimals, c->b, label_a, decimals, c->a);
    if (c->test == COMPARE_NONE) {
        buf_add(b, "too few runs for a test.");
    } else if (c->test == COMPARE_IMAGES) {
        buf_addf(b,
                 "%s over %zu images of these two networks (p %s %.2g), which says nothing of "
                 "other seeds.",
                 c->significant ? "significant" : "not significant", c->nimages,
                 c->p < 0.001 ? "<" : "=", fmax(c->p, 0.001));
    } else {
        buf_addf(b, "%s%.*f",
                 !c->significant ? "no difference is shown: "
                 : c->difference > 0 ? "higher by " : "lower by ", decimals,
                 table_round(c->significant ? fabs(c->difference) : c->difference, decimals));
        struct interval i = c->interval;
        if (c->significant && c->difference < 0)
            i.low = -c->interval.high, i.high = -c->interval.low;
        add_family(b, c, &i, decimals);
        buf_add(b, s->lower ? "; lower is better." : ".");
    }
}

void difference_describe(struct buf *b, const struct analysis_difference *d, const char *label_a,
                         const char *label_b, const struct series *s)
{
    buf_addf(b, "With %d GPU%s, %s: ", d->gpus, plural(d->gpus),
             series_quantity_name(s, d->quantity));
    if (d->why_not)
        buf_addf(b, "%s.", d->why_not);
    else if (d->quantity == QUANTITY_QUALITY)
        add_quality_comparison(b, &d->compare, label_a, label_b, s);
    else
        add_time_comparison(b, d, label_a, label_b, s);
}
