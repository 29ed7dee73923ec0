/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/collect/path.h"
#include "src/clock.h"

static int out_of_memory(struct err *e)
{
    return err_set(e, ERR_INTERNAL, "out of memory for the report");
}

/* What tells a series from the others. */
static void set_label(struct report_series *s, const struct report *r)
{
    char label[sizeof s->label];
    const char *engine, *title = s->source->title;
    size_t row = 0, nengines = 0;

    while ((engine = scaling_next_engine(&s->source->results, &row)))
        nengines++;
    if (r->nsources == 1)
        snprintf(label, sizeof label, "%s", s->scaling.engine);
    else if (nengines == 1)
        snprintf(label, sizeof label, "%s", title);
    else
        snprintf(label, sizeof label, "%s, %s", title, s->scaling.engine);
    result_set_text(s->label, sizeof s->label, label);
    for (size_t i = 0; i < r->nseries; i++)
        if (strcmp(r->series[i].label, s->label) == 0)
            snprintf(s->label + strnlen(s->label, sizeof s->label - 24), 24, " (%zu)", r->nseries + 1);
}

static int add_series(struct report *r, const struct report_source *source, const char *engine,
                      struct err *e)
{
    struct report_series *series = reallocarray(r->series, r->nseries + 1, sizeof *series);
    struct buf words = {0};

    if (!series)
        return out_of_memory(e);
    r->series = series;
    struct report_series *added = &series[r->nseries];
    *added = (struct report_series){.source = source};
    if (scaling_compute(&added->scaling, &source->results, engine, e))
        return -1;
    if (added->scaling.npoints == 0) {
        scaling_destroy(&added->scaling);
        return 0;
    }
    set_label(added, r);
    r->nseries++;
    if (added->scaling.npoints > 1) {
        added->verdict = verdict_compute(&added->scaling);
        verdict_explain(&added->verdict, &added->scaling, &words);
    } else {
        buf_addf(&words, "%s ran on %d GPU%s only: there is nothing to compare it with.\n", added->label,
                 added->scaling.points[0].gpus, added->scaling.points[0].gpus == 1 ? "" : "s");
    }
    added->words = buf_steal(&words);
    return added->words ? 0 : out_of_memory(e);
}

static char *list_problems(const struct report *r)
{
    struct buf b = {0};

    for (size_t k = 0; k < r->nsources; k++)
        for (size_t i = 0; i < r->sources[k].results.count; i++) {
            const struct result *row = &r->sources[k].results.rows[i];
            if (row->state == RESULT_DONE)
                continue;
            if (r->nsources > 1)
                buf_addf(&b, "%s: ", r->sources[k].title);
            buf_addf(&b, "%s (%d GPU%s) is %s: %s\n", row->run, row->gpus, row->gpus == 1 ? "" : "s",
                     result_state_name(row->state), row->note);
        }
    return buf_steal(&b);
}

size_t report_count_runs(const struct report *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->nsources; i++)
        n += r->sources[i].results.count;
    return n;
}

size_t report_count_done(const struct report *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->nsources; i++)
        n += results_count(&r->sources[i].results, RESULT_DONE);
    return n;
}

/* Are there two counts to compare? */
static int check(const struct report *r, struct err *e)
{
    size_t ndone = report_count_done(r), nruns = report_count_runs(r);
    bool compared = false;

    for (size_t i = 0; i < r->nseries; i++) {
        const struct scaling *s = &r->series[i].scaling;
        compared |= s->npoints > 1;
        if (s->npoints > 1 && !isnan(s->points[0].epoch_s.median))
            return 0;
    }
    if (compared)
        return err_set(e, ERR_STATS,
                       "%s: the runs of the base case have one epoch only, which pays for start-up; "
                       "there is no steady epoch to compare. Train for two or more (train.epochs)",
                       r->title);
    if (nruns == 0)
        return err_set(e, ERR_DATA, "%s: there is no run in it", r->title);
    if (r->nseries == 0)
        return err_set(e, ERR_DATA, "%s: none of %zu runs has a result; the first of them, %.*s", r->title,
                       nruns, (int)strcspn(r->problems, "\n"), r->problems);
    return err_set(e, ERR_STATS,
                   "%s: a speed-up compares two numbers of GPUs, and the %zu run%s with a result ran "
                   "on %d GPU%s only; submit more counts, e.g. --gpus 1,2,4",
                   r->title, ndone, ndone == 1 ? "" : "s", r->series[0].scaling.points[0].gpus,
                   r->series[0].scaling.points[0].gpus == 1 ? "" : "s");
}

static void set_title(struct report *r)
{
    struct buf b = {0};

    for (size_t i = 0; i < r->nsources; i++)
        buf_addf(&b, "%s%s", i == 0 ? "" : i + 1 == r->nsources ? " and " : ", ", r->sources[i].title);
    result_set_text(r->title, sizeof r->title, b.data ? b.data : "");
    buf_destroy(&b);
}

int report_create(struct report *r, const struct report_source *sources, size_t nsources, struct err *e)
{
    *r = (struct report){.sources = sources, .nsources = nsources};
    set_title(r);
    clock_date(r->created);
    r->problems = list_problems(r);
    if (!r->problems) {
        out_of_memory(e);
        goto fail;
    }
    for (size_t i = 0; i < nsources; i++) {
        const char *engine;
        size_t row = 0;
        while ((engine = scaling_next_engine(&sources[i].results, &row)))
            if (add_series(r, &sources[i], engine, e))
                goto fail;
    }
    if (check(r, e) == 0)
        return 0;
fail:
    report_destroy(r);
    return -1;
}

void report_destroy(struct report *r)
{
    for (size_t i = 0; i < r->nseries; i++) {
        scaling_destroy(&r->series[i].scaling);
        free(r->series[i].words);
    }
    free(r->series);
    free(r->problems);
    *r = (struct report){0};
}
