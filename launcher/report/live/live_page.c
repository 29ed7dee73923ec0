/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/live/live_page.h"

#include <math.h>

#include "launcher/collect/collect.h"
#include "launcher/report/report.h"
#include "src/atomicfile.h"
#include "src/clock.h"

#define MAX_GROUPS 15 /* of runs with curves: two charts each, and the speed-up */
#define OPEN_RUNS 40  /* up to this number, the table of runs that are done is shown unfolded */
#define GENERATOR "unetctl watch"
#define MARK "<meta name=\"generator\" content=\"" GENERATOR "\">\n"

static size_t count_phase(const struct run_summary *s, enum run_phase phase)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nstates; i++)
        n += s->states[i].phase == phase ? s->states[i].runs : 0;
    return n;
}

static void begin_page(struct doc *d, const struct live_page *p, const char *study,
                       const struct run_summary *s)
{
    char date[32], more[96] = "";
    bool going = p->again_s > 0, over = !count_phase(s, RUN_ACTIVE) && !count_phase(s, RUN_UNKNOWN);

    doc_init(d);
    clock_date(date);
    if (going)
        snprintf(more, sizeof more, " Loads itself again every %.0f s.", ceil(p->again_s));
    else if (!over)
        snprintf(more, sizeof more,
                 " unetctl watch was ended, while the jobs continue; it continues this page.");
    d->refresh_s = going ? ceil(p->again_s) : 0;
    snprintf(d->generator, sizeof d->generator, GENERATOR);
    snprintf(d->title, sizeof d->title, "%s", study);
    snprintf(d->topic, sizeof d->topic, "runs");
    snprintf(d->heading, sizeof d->heading, over ? "all runs have ended" : "the runs so far");
    snprintf(d->about, sizeof d->about, "Written by unetctl %s on %s.%s", PACKAGE_VERSION, date,
             more);
    snprintf(d->footer, sizeof d->footer, "Speed-up counts only runs that are done; 'unetctl "
             "report' has the verdict.");
}

static void add_tiles(struct doc *d, const struct live_page *p, const struct run_summary *s)
{
    const struct {
        const char *name, *note;
        size_t n;
    } counts[] = {{"waiting", "active, but not running", count_phase(s, RUN_ACTIVE) - s->running},
                  {"without a result", "see their reasons below", count_phase(s, RUN_BAD)},
                  {"unknown", "the scheduler does not say", count_phase(s, RUN_UNKNOWN)}};
    size_t done = count_phase(s, RUN_GOOD);
    char left[64];

    doc_begin(d, ROLE_TILES, TO_HTML, "%s", "");
    if (done)
        doc_tile(d, TO_HTML, "done", "%zu\tof %zu run%s", done, s->runs, plural((long)s->runs));
    if (s->running)
        doc_tile(d, TO_HTML, "running", "%zu\ton %d GPU%s", s->running, s->gpus, plural(s->gpus));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i].n)
            doc_tile(d, TO_HTML, counts[i].name, "%zu\t%s", counts[i].n, counts[i].note);
    if (p->left_s >= 0) {
        run_summary_format_time(p->left_s, left);
        doc_tile(d, TO_HTML, "time left, about", "%s\ton as many GPUs as now", left);
    }
    if (s->gpu_hours > 0)
        doc_tile(d, TO_HTML, "GPU-hours", "%.3g\tused so far", s->gpu_hours);
    doc_end(d);
}

static void add_state(struct doc *d, const struct live_page *p, const struct status_list *list,
                      const struct run_summary *s)
{
    double percent = s->runs ? 100 * s->done / (double)s->runs : 0;
    char text[512];

    if (list->unreachable) {
        doc_begin(d, ROLE_CAVEATS, TO_HTML, "%s", "");
        doc_add(d, NODE_SENTENCE, TO_HTML, "%s", list->reason.text);
        doc_end(d);
    }
    run_summary_format(s, text, sizeof text);
    doc_begin(d, ROLE_VERDICT, TO_HTML, "%s", *text ? text : "no runs");
    if (*p->rounds)
        doc_add(d, NODE_SENTENCE, TO_HTML, "%s", p->rounds);
    doc_add(d, NODE_PROGRESS, TO_HTML, "%.0f %% of the training of all runs",
            floor(percent))->value = percent;
    add_tiles(d, p, s);
    doc_end(d);
}

/* Adds a row. nepochs are those of its log, for runs whose trainer writes no record. */
static void add_run(struct table *t, const struct run_status *s, size_t nepochs)
{
    const struct run_progress *p = &s->progress;
    double left_s = run_summary_left(s), elapsed_s = run_summary_elapsed(s);
    char left[32] = "-", elapsed[32] = "-", epochs[32] = "-";

    if (left_s >= 0)
        run_summary_format_time(left_s, left);
    if (elapsed_s >= 0)
        run_summary_format_time(elapsed_s, elapsed);
    if (p->epochs)
        snprintf(epochs, sizeof epochs, "%d / %d", p->epoch, p->epochs);
    else if (nepochs)
        snprintf(epochs, sizeof epochs, "%zu", nepochs);
    table_text(t, "run", "%s", s->run.id);
    table_text(t, "state", "%s", state_name(s->state));
    table_word(t, "epochs", "%s", epochs);
    table_word(t, "time left", "%s", left);
    table_text(t, "reason", "%s", s->reason);
    table_word(t, "GPUs", "%d", s->layout.gpus);
    table_word(t, "time", "%s", elapsed);
    table_number(t, "loss", p->epoch ? p->loss : NAN, 4);
    table_number(t, "quality", p->quality >= 0 ? p->quality : NAN, 4);
    table_text(t, "job", "%s", s->job);
    table_text(t, "nodes", "%s", s->nodes);
}

static void add_runs(struct doc *d, const struct status_list *list, size_t ndone,
                     const struct results *results)
{
    struct map rows = {0};
    struct table t;

    for (size_t i = 0; i < results->count; i++)
        d->failed |= map_set(&rows, results->rows[i].run, i) != 0;
    doc_begin(d, ROLE_PLAIN, TO_HTML, "Runs");
    for (int done = 0; done < 2; done++) {
        table_init(&t, done ? "Runs that are done." : "Runs that are not done.");
        for (size_t i = 0, k; i < list->count; i++)
            if ((list->runs[i].phase == RUN_GOOD) == done) {
                bool known = map_get(&rows, list->runs[i].run.id, &k) && results->rows[k].curve;
                add_run(&t, &list->runs[i], known ? results->rows[k].curve->n : 0);
            }
        if (done)
            doc_begin(d, ROLE_PLAIN, TO_HTML, "%zu done", ndone)->fold =
                ndone <= OPEN_RUNS ? FOLD_OPEN : FOLD_CLOSED;
        doc_table(d, TO_HTML, &t);
    }
    doc_end(d);
    doc_end(d);
    map_destroy(&rows);
}

/* Returns whether the row has a curve of the number of GPUs that it stands for. */
static bool has_curve(const struct result *r)
{
    return r->curve && r->state != RESULT_CORRUPT && r->state != RESULT_ELASTIC;
}

static bool is_same_label(const struct result *a, const struct result *b)
{
    size_t n = collect_label_size(a);

    return n == collect_label_size(b) && memcmp(a->run, b->run, n) == 0;
}

/* Puts the rows with curves into groups by the label of the runs, at most MAX_GROUPS. rows has
 * room for all; what it then points to belongs to the table. Returns the number of groups. */
static size_t group_rows(const struct results *table, struct report_group *groups,
                         char (*labels)[RUN_LABEL_SIZE], struct result *rows)
{
    size_t ngroups = 0;

    for (size_t i = 0; i < table->count && ngroups < MAX_GROUPS; i++) {
        const struct result *r = &table->rows[i];
        bool known = !has_curve(r);
        for (size_t k = 0; k < ngroups; k++)
            known |= is_same_label(r, groups[k].rows);
        if (known)
            continue;
        struct report_group *g = &groups[ngroups];
        snprintf(labels[ngroups], RUN_LABEL_SIZE, "%.*s", (int)collect_label_size(r), r->run);
        *g = (struct report_group){.label = labels[ngroups++], .rows = rows};
        for (size_t k = i; k < table->count; k++)
            if (has_curve(&table->rows[k]) && is_same_label(&table->rows[k], r))
                rows[g->n++] = table->rows[k];
        rows += g->n;
    }
    return ngroups;
}

static void add_figures(struct doc *d, const struct report *r, const char *why_not,
                        const struct results *table)
{
    struct report_group groups[MAX_GROUPS];
    char labels[MAX_GROUPS][RUN_LABEL_SIZE];
    struct result *rows = calloc(table->count + 1, sizeof *rows);

    d->failed |= !rows;
    if (rows)
        report_add_live_figures(d, r, groups, group_rows(table, groups, labels, rows));
    if (!r)
        doc_add(d, NODE_SENTENCE, TO_HTML, "No speed-up yet: %s.", why_not)->role = ROLE_NOTE;
    free(rows);
}

int live_page_write(const struct live_page *p, const struct study *study,
                    const struct status_list *list, const struct run_summary *summary,
                    struct err *e)
{
    struct analysis_source source = {.title = ""};
    struct report report;
    struct doc d;
    struct err why;

    if (atomicfile_check_own(p->file, MARK, e) || collect_runs(study, &source.results, e))
        return -1;
    result_set_text(source.title, sizeof source.title, study->name);
    bool known = report_create(&report, &source, 1, &p->analysis, &why) == 0;
    begin_page(&d, p, study->name, summary);
    add_state(&d, p, list, summary);
    add_figures(&d, known ? &report : NULL,
                results_count(&source.results, RESULT_DONE) ? why.text : "no run is done",
                &source.results);
    add_runs(&d, list, count_phase(summary, RUN_GOOD), &source.results);
    char *text = doc_encode(&d, html_write);
    int rc = text ? atomicfile_write(p->file, text, strlen(text), 0666, e) : mem_fail(e);
    free(text);
    doc_destroy(&d);
    if (known)
        report_destroy(&report);
    results_destroy(&source.results);
    return rc;
}
