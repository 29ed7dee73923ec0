/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/collect/path.h"
#include "src/clock.h"

static int out_of_memory(struct err *e)
{
    return err_set(e, ERR_INTERNAL, "out of memory for the report");
}

static int add_engine(struct report *r, const char *engine, struct err *e)
{
    struct report_engine *engines = reallocarray(r->engines, r->nengines + 1, sizeof *engines);
    struct buf words = {0};

    if (!engines)
        return out_of_memory(e);
    r->engines = engines;
    struct report_engine *added = &engines[r->nengines];
    *added = (struct report_engine){0};
    if (scaling_compute(&added->scaling, r->results, engine, e))
        return -1;
    if (added->scaling.npoints == 0) {
        scaling_destroy(&added->scaling);
        return 0;
    }
    r->nengines++;
    if (added->scaling.npoints > 1) {
        added->verdict = verdict_compute(&added->scaling);
        verdict_explain(&added->verdict, &added->scaling, &words);
    } else {
        buf_addf(&words, "%s ran on %d GPU%s only: there is nothing to compare it with.\n", engine,
                 added->scaling.points[0].gpus, added->scaling.points[0].gpus == 1 ? "" : "s");
    }
    added->words = buf_steal(&words);
    return added->words ? 0 : out_of_memory(e);
}

static char *list_problems(const struct results *results)
{
    struct buf b = {0};

    for (size_t i = 0; i < results->count; i++) {
        const struct result *row = &results->rows[i];
        if (row->state != RESULT_DONE)
            buf_addf(&b, "%s (%d GPU%s) is %s: %s\n", row->run, row->gpus, row->gpus == 1 ? "" : "s",
                     result_state_name(row->state), row->note);
    }
    return buf_steal(&b);
}

/* Are there two counts to compare? */
static int check(const struct report *r, struct err *e)
{
    size_t ndone = results_count(r->results, RESULT_DONE);
    bool compared = false;

    for (size_t i = 0; i < r->nengines; i++) {
        const struct scaling *s = &r->engines[i].scaling;
        compared |= s->npoints > 1;
        if (s->npoints > 1 && !isnan(s->points[0].epoch_s.median))
            return 0;
    }
    if (compared)
        return err_set(e, ERR_STATS,
                       "%s: the runs of the base case have one epoch only, which pays for start-up; "
                       "there is no steady epoch to compare. Train for two or more (train.epochs)",
                       r->title);
    if (r->results->count == 0)
        return err_set(e, ERR_DATA, "%s: there is no run in it", r->title);
    if (r->nengines == 0)
        return err_set(e, ERR_DATA, "%s: none of %zu runs has a result; the first of them, %.*s", r->title,
                       r->results->count, (int)strcspn(r->problems, "\n"), r->problems);
    return err_set(e, ERR_STATS,
                   "%s: a speed-up compares two numbers of GPUs, and the %zu run%s with a result ran "
                   "on %d GPU%s only; submit more counts, e.g. --gpus 1,2,4",
                   r->title, ndone, ndone == 1 ? "" : "s", r->engines[0].scaling.points[0].gpus,
                   r->engines[0].scaling.points[0].gpus == 1 ? "" : "s");
}

int report_create(struct report *r, const char *title, const char *logs_dir,
                  const struct results *results, struct err *e)
{
    const char *engine;
    size_t row = 0;

    *r = (struct report){.results = results};
    result_set_text(r->title, sizeof r->title, title);
    path_format(r->logs_dir, "%s", logs_dir);
    clock_date(r->created);
    r->problems = list_problems(results);
    if (!r->problems) {
        out_of_memory(e);
        goto fail;
    }
    while ((engine = scaling_next_engine(results, &row)))
        if (add_engine(r, engine, e))
            goto fail;
    if (check(r, e) == 0)
        return 0;
fail:
    report_destroy(r);
    return -1;
}

void report_destroy(struct report *r)
{
    for (size_t i = 0; i < r->nengines; i++) {
        scaling_destroy(&r->engines[i].scaling);
        free(r->engines[i].words);
    }
    free(r->engines);
    free(r->problems);
    *r = (struct report){0};
}
