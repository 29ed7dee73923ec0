/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/report.h"

#include <math.h>

#include "launcher/report/report_internal.h"
#include "src/clock.h"

static char *list_problems(const struct report *r)
{
    size_t nproblems = r->nruns - r->ndone, n = 0;
    struct buf b = {0};

    buf_add(&b, r->left_out ? r->left_out : "");
    for (size_t k = 0; k < r->nsources; k++)
        for (size_t i = 0; i < r->sources[k].results.count; i++) {
            const struct result *row = &r->sources[k].results.rows[i];
            if (row->state == RESULT_DONE || n++ >= REPORT_MAX_PROBLEMS)
                continue;
            if (r->nsources > 1)
                buf_addf(&b, "%s: ", r->sources[k].title);
            buf_addf(&b, "%s (%d GPU%s) is %s%s%s\n", row->run, row->gpus, plural(row->gpus),
                     result_state_names[row->state], *row->note ? ": " : "", row->note);
        }
    if (nproblems > REPORT_MAX_PROBLEMS)
        buf_addf(&b, "and %zu more, in results.csv\n", nproblems - REPORT_MAX_PROBLEMS);
    buf_add(&b, r->analysis.notes);
    return buf_steal(&b);
}

static void set_title(struct report *r)
{
    struct buf b = {0};

    for (size_t i = 0; i < r->nsources; i++) {
        buf_addf(&b, "%s%s", i == 0 ? "" : i + 1 == r->nsources ? " and " : ", ",
                 r->sources[i].title);
        r->nruns += r->sources[i].results.count;
        r->ndone += results_count(&r->sources[i].results, RESULT_DONE);
    }
    result_set_text(r->title, sizeof r->title, b.data ? b.data : "");
    buf_destroy(&b);
}

/* Sets dst to the setting ENGINE.key of a series, or to "". */
static void find_setting(const struct series *s, const char *key, struct buf *dst)
{
    const char *text = s->settings;
    size_t n = strlen(s->engine);
    struct setting_text setting;

    buf_add(dst, "");
    while (text && settings_next(&text, &setting)) {
        if (setting.nkey == n + 1 + strlen(key) && strncmp(setting.key, s->engine, n) == 0 &&
            text_begins(setting.key + n + 1, key))
            settings_add_value(dst, &setting);
    }
}

/* Writes the name of a series, which begins with its engine, with that of its program instead if
 * all series have one engine. The script of an interpreter is the first argument that is not an
 * option. */
static void name_series(const struct report *r, const struct series *s, char *dst, size_t size)
{
    struct buf script = {0}, args = {0};
    bool one = true;

    for (size_t k = 0; k < r->analysis.nseries; k++)
        one &= strcmp(r->analysis.series[k].series.engine, s->engine) == 0;
    find_setting(s, "script", &script);
    find_setting(s, "args", &args);
    const char *program = script.data && one ? script.data : "", *slash = strrchr(program, '/');
    const char *base = slash ? slash + 1 : program, *word = args.data ? args.data : "";
    if (strncmp(base, "python", 6) == 0 || strcmp(base, "bash") == 0 || strcmp(base, "sh") == 0) {
        while (*word == '-') {
            word += strcspn(word, " ");
            word += *word == ' ';
        }
        size_t n = strcspn(word, " ");
        while (n && memchr(word, '/', n)) {
            word++;
            n--;
        }
        snprintf(dst, size, "%.*s%s", (int)n, word, n ? s->name + strlen(s->engine) : s->name);
    } else {
        snprintf(dst, size, "%s%s", base, *base ? s->name + strlen(s->engine) : s->name);
    }
    buf_destroy(&script);
    buf_destroy(&args);
}

/* Sets a label that distinguishes series i from the others. */
static void set_label(struct report *r, size_t i)
{
    struct report_series *s = &r->series[i];
    const char *name = s->as->series.name;
    char label[sizeof s->label], own[sizeof s->as->series.name];
    bool alone = true, twice = false; /* others are of its source, and have its name */

    for (size_t k = 0; k < r->analysis.nseries; k++)
        if (k != i && r->analysis.series[k].source == s->as->source) {
            alone = false;
            twice |= strcmp(r->analysis.series[k].series.name, name) == 0;
        }
    name_series(r, &s->as->series, own, sizeof own);
    if (r->nsources == 1)
        snprintf(label, sizeof label, "%s", own);
    else
        snprintf(label, sizeof label, "%s%s%s", s->source->title, alone ? "" : ", ",
                 alone ? "" : own);
    if (twice)
        snprintf(label + strlen(label), sizeof label - strlen(label), ", %s",
                 s->as->series.mode == SERIES_STRONG ? "strong" : "weak");
    result_set_text(s->label, sizeof s->label, label);
    for (size_t k = 0; k < i; k++)
        if (strcmp(r->series[k].label, s->label) == 0)
            snprintf(s->label + strnlen(s->label, sizeof s->label - 24), 24, " (%zu)", i + 1);
}

static int add_report_series(struct report *r, bool deadline, struct err *e)
{
    r->series = mem_zero(r->analysis.nseries, sizeof *r->series, e);
    if (!r->series)
        return -1;
    for (size_t i = 0; i < r->analysis.nseries; i++) {
        struct report_series *s = &r->series[i];
        s->as = &r->analysis.series[i];
        s->source = &r->sources[s->as->source];
        set_label(r, i);
        r->nseries++;
        if (words_compute(&s->words, s->as, r->analysis.nseries > 1 ? s->label : NULL, deadline, e))
            return -1;
    }
    return 0;
}

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

static char *list_differences(const struct report *r)
{
    struct buf b = {0};

    for (size_t i = 0; i < r->analysis.npairs; i++) {
        const struct analysis_pair *p = &r->analysis.pairs[i];
        int largest = p->ndifferences ? p->differences[p->ndifferences - 1].gpus : 0;
        for (size_t k = 0; k < p->ndifferences; k++)
            if (p->differences[k].gpus == largest) {
                difference_describe(&b, &p->differences[k], r->series[p->a].label,
                                    r->series[p->b].label, &r->series[p->a].as->series);
                buf_add(&b, "\n");
            }
    }
    if (r->analysis.nseries > ANALYSIS_PAIRED)
        buf_addf(&b, "Only the first %d of %zu series are compared in pairs.\n", ANALYSIS_PAIRED,
                 r->analysis.nseries);
    return buf_steal(&b);
}

static char *describe_rule(const struct report *r, const struct analysis_options *options)
{
    const char *quality = NULL;
    const struct series *first = NULL; /* the first with a quality, or the first */
    struct buf b = {0};

    for (size_t i = 0; i < r->nseries; i++) {
        const struct series *s = &r->series[i].as->series;
        if (s->has_quality)
            quality = !quality || !strcmp(quality, s->quality) ? s->quality : "quality";
        first = !first || (s->has_quality && !first->has_quality) ? s : first;
    }
    decision_describe_rule(&b, &options->rule, first, quality);
    if (options->design)
        buf_addf(&b, " %s", options->design);
    return buf_steal(&b);
}

int report_create(struct report *r, const struct analysis_source *sources, size_t nsources,
                  const struct analysis_options *options, struct err *e)
{
    *r = (struct report){
        .sources = sources, .nsources = nsources, .efficiency = options->rule.efficiency,
        .left_out = options->left_out};
    set_title(r);
    clock_date(r->created);
    if (analysis_create(&r->analysis, sources, nsources, options, e))
        return -1;
    if (add_report_series(r, options->deadline_s > 0, e))
        goto fail;
    r->rule = describe_rule(r, options);
    r->problems = list_problems(r);
    r->differences = list_differences(r);
    if (r->rule && r->problems && r->differences)
        return 0;
    mem_fail(e);
fail:
    report_destroy(r);
    return -1;
}

void report_destroy(struct report *r)
{
    for (size_t i = 0; i < r->nseries; i++)
        words_destroy(&r->series[i].words);
    free(r->series);
    free(r->rule);
    free(r->problems);
    free(r->differences);
    analysis_destroy(&r->analysis);
    *r = (struct report){0};
}
