/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/live/live_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/collect/collect.h"
#include "launcher/report/figures.h"
#include "launcher/report/html.h"
#include "launcher/report/markup/escape.h"
#include "launcher/report/markup/table.h"
#include "launcher/report/report.h"
#include "src/atomicfile.h"
#include "src/clock.h"
#include "src/map.h"
#include "src/mem.h"
#include "src/plural.h"

#define MAX_GROUPS 15 /* of runs with curves: two charts each, and the speed-up */
#define OPEN_RUNS 40  /* up to this number, the table of runs that are done is shown unfolded */
#define MARK "<meta name=\"generator\" content=\"unetctl watch\">\n"

static size_t count_phase(const struct run_summary *s, enum run_phase phase)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nstates; i++)
        n += s->states[i].phase == phase ? s->states[i].runs : 0;
    return n;
}

static void add_begin(struct buf *b, const struct live_page *p, const char *study,
                      const struct run_summary *s)
{
    char date[32], head[200] = MARK;
    bool going = p->again_s > 0, over = !count_phase(s, RUN_ACTIVE) && !count_phase(s, RUN_UNKNOWN);

    clock_date(date);
    if (going)
        snprintf(head, sizeof head, MARK "<meta http-equiv=\"refresh\" content=\"%.0f\">\n",
                 ceil(p->again_s));
    html_add_head(b, head, study, "runs", over ? "all runs have ended" : "the runs so far");
    buf_addf(b, "<p class=\"soft\">Written by unetctl %s on %s.", PACKAGE_VERSION, date);
    if (going)
        buf_addf(b, " Loads itself again every %.0f s.", ceil(p->again_s));
    else if (!over)
        buf_add(b, " unetctl watch was ended, while the jobs continue; it continues this page.");
    buf_add(b, "</p>\n</header>\n<main>\n");
}

/* Adds a tile with a number of runs, if there are any. */
static void add_count(struct buf *b, const char *name, size_t n, const char *more)
{
    char value[32];

    snprintf(value, sizeof value, "%zu", n);
    if (n)
        html_add_tile(b, name, value, more);
}

static void add_tiles(struct buf *b, const struct live_page *p, const struct run_summary *s)
{
    char value[64], more[64];

    buf_add(b, "<dl class=\"tiles\">\n");
    snprintf(more, sizeof more, "of %zu run%s", s->runs, plural((long)s->runs));
    add_count(b, "done", count_phase(s, RUN_GOOD), more);
    snprintf(more, sizeof more, "on %d GPU%s", s->gpus, plural(s->gpus));
    add_count(b, "running", s->running, more);
    add_count(b, "waiting", count_phase(s, RUN_ACTIVE) - s->running, "active, but not running");
    add_count(b, "without a result", count_phase(s, RUN_BAD), "see their reasons below");
    add_count(b, "unknown", count_phase(s, RUN_UNKNOWN), "the scheduler does not say");
    if (p->left_s >= 0) {
        run_summary_format_time(p->left_s, value);
        html_add_tile(b, "time left, about", value, "on as many GPUs as now");
    }
    snprintf(value, sizeof value, "%.3g", s->gpu_hours);
    if (s->gpu_hours > 0)
        html_add_tile(b, "GPU-hours", value, "used so far");
    buf_add(b, "</dl>\n");
}

static void add_state(struct buf *b, const struct live_page *p, const struct status_list *list,
                      const struct run_summary *s)
{
    double percent = s->runs ? 100 * s->done / (double)s->runs : 0;
    char text[512];

    if (list->unreachable)
        escape_format(b, escape_html, "<div class=\"caveats\">\n<p>%s</p>\n</div>\n",
                      list->reason.text);
    run_summary_format(s, text, sizeof text);
    escape_format(b, escape_html, "<section class=\"verdict\">\n<h2>%s</h2>\n",
                  *text ? text : "no runs");
    if (*p->rounds)
        escape_format(b, escape_html, "<p>%s</p>\n", p->rounds);
    buf_addf(b, "<p><progress max=\"100\" value=\"%.1f\" aria-label=\"share that is done\">"
             "</progress> %.0f %% of the training of all runs</p>\n", percent, floor(percent));
    add_tiles(b, p, s);
    buf_add(b, "</section>\n");
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
    table_add_text(t, "run", "%s", s->run.id);
    table_add_text(t, "state", "%s", state_name(s->state));
    table_addf(t, "epochs", "%s", epochs);
    table_addf(t, "time left", "%s", left);
    table_add_text(t, "reason", "%s", *s->reason ? s->reason : "-");
    table_addf(t, "GPUs", "%d", s->layout.gpus);
    table_addf(t, "time", "%s", elapsed);
    table_add_number(t, "loss", p->epoch ? p->loss : NAN, 4);
    table_add_number(t, "quality", p->quality >= 0 ? p->quality : NAN, 4);
    table_add_text(t, "job", "%s", *s->job ? s->job : "-");
    table_add_text(t, "nodes", "%s", *s->nodes ? s->nodes : "-");
}

static void add_runs(struct buf *b, const struct status_list *list, size_t ndone,
                     const struct results *results)
{
    struct map rows = {0};
    struct table t;

    for (size_t i = 0; i < results->count; i++)
        b->failed |= map_set(&rows, results->rows[i].run, i) != 0;

    buf_add(b, "<h2>Runs</h2>\n");
    for (int done = 0; done < 2; done++) {
        table_init(&t, done ? "Runs that are done." : "Runs that are not done.");
        for (size_t i = 0, k; i < list->count; i++)
            if ((list->runs[i].phase == RUN_GOOD) == done) {
                bool known = map_get(&rows, list->runs[i].run.id, &k) && results->rows[k].curve;
                add_run(&t, &list->runs[i], known ? results->rows[k].curve->n : 0);
            }
        if (done && ndone)
            buf_addf(b, "<details%s><summary>%zu done</summary>\n",
                     ndone <= OPEN_RUNS ? " open" : "", ndone);
        table_append(&t, table_encode_html, b);
    }
    buf_add(b, ndone ? "</details>\n" : "");
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

/* Puts the rows with curves into groups by the label of the runs, at most MAX_GROUPS. rows has room
 * for all; what it then points to belongs to the table. Returns the number of groups. */
static size_t group_rows(const struct results *table, struct figures_group *groups,
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
        struct figures_group *g = &groups[ngroups];
        snprintf(labels[ngroups], RUN_LABEL_SIZE, "%.*s", (int)collect_label_size(r), r->run);
        *g = (struct figures_group){.label = labels[ngroups++], .rows = rows};
        for (size_t k = i; k < table->count; k++)
            if (has_curve(&table->rows[k]) && is_same_label(&table->rows[k], r))
                rows[g->n++] = table->rows[k];
        rows += g->n;
    }
    return ngroups;
}

/* Adds the figures, or why there is no speed-up yet. r may be NULL. */
static int add_figures(struct buf *b, const struct report *r, const char *why_not,
                       const struct results *table, struct err *e)
{
    struct figures_group groups[MAX_GROUPS];
    char labels[MAX_GROUPS][RUN_LABEL_SIZE];
    struct result *rows = mem_zero(table->count + 1, sizeof *rows, e);
    struct figures f;
    int rc = -1;

    if (rows)
        rc = figures_create_live(&f, r, groups, group_rows(table, groups, labels, rows), e);
    if (rc == 0) {
        buf_add(b, f.count ? "<div class=\"figures\">\n" : "");
        for (size_t i = 0; i < f.count; i++)
            html_add_figure(b, &f.list[i], true);
        buf_add(b, f.count ? "</div>\n" : "");
        if (!r)
            escape_format(b, escape_html, "<p class=\"soft\">No speed-up yet: %s.</p>\n", why_not);
        figures_destroy(&f);
    }
    free(rows);
    return rc;
}

int live_page_write(const struct live_page *p, const struct study *study,
                    const struct status_list *list, const struct run_summary *summary,
                    struct err *e)
{
    struct analysis_source source = {.title = ""};
    struct report report;
    struct err why;
    struct buf b = {0};
    char *text = NULL;

    if (atomicfile_check_own(p->file, MARK, e) || collect_runs(study, &source.results, e))
        return -1;
    result_set_text(source.title, sizeof source.title, study->name);
    bool known = report_create(&report, &source, 1, &p->analysis, &why) == 0;
    add_begin(&b, p, study->name, summary);
    add_state(&b, p, list, summary);
    int rc = add_figures(&b, known ? &report : NULL,
                         results_count(&source.results, RESULT_DONE) ? why.text : "no run is done",
                         &source.results, e);
    add_runs(&b, list, count_phase(summary, RUN_GOOD), &source.results);
    buf_add(&b, "</main>\n<footer>Speed-up counts only runs that are done; 'unetctl report' has the "
                "verdict.</footer>\n</body>\n</html>\n");
    if (known)
        report_destroy(&report);
    results_destroy(&source.results);
    if (rc == 0 && !(text = buf_steal(&b)))
        rc = mem_fail(e);
    if (rc == 0)
        rc = atomicfile_write(p->file, text, strlen(text), 0666, e);
    buf_destroy(&b);
    free(text);
    return rc;
}
