/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/proposal/proposal.h"

#include <errno.h>
#include <fts.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "launcher/host/path.h"
#include "launcher/report/figures.h"
#include "launcher/report/proposal/proposal_text.h"
#include "launcher/report/report_folder.h"
#include "src/atomicfile.h"
#include "src/files.h"
#include "src/log.h"
#include "src/mem.h"
#include "src/plural.h"

#define SCRIPT_MAX (1 << 20)
#define CURVE_STEPS 24 /* the most steps of a curve, about */

static const char *const script_names[PROPOSAL_NSCRIPTS] = {"submit_file.sh", "run_file.sh"};

/* Returns the bytes of the files in a folder and below. */
static double measure_folder(const char *dir)
{
    char *paths[] = {(char *)dir, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    double bytes = 0;

    for (const FTSENT *f; fts && (f = fts_read(fts));)
        bytes += f->fts_info == FTS_F ? (double)f->fts_statp->st_size : 0;
    if (fts)
        fts_close(fts);
    return bytes;
}

/* Reads the scripts of a run of the count that the verdict presents, and the size of that run. */
static void read_run(struct proposal_text *text, struct proposal_facts *facts)
{
    const struct report_series *rs = &text->report->series[0];
    const struct series_point *p =
        rs->as->series.npoints > 1 ? rs->as->decision.best : rs->as->series.points;
    char dir[PATH_MAX], path[PATH_MAX];
    struct err ignored;
    size_t n;

    if (!*facts->study_dir)
        return;
    path_format(dir, "%s/runs/%s", facts->study_dir, p->rows[0].run);
    facts->run_bytes = measure_folder(dir);
    text->run = &p->rows[0];
    for (int i = 0; i < PROPOSAL_NSCRIPTS; i++) {
        path_format(path, "%s/%s", dir, script_names[i]);
        text->scripts[i] = atomicfile_read(path, SCRIPT_MAX, &n, &ignored);
        if (!text->scripts[i])
            text->run = NULL;
    }
}

/* Adds what the model expects beyond the largest measured count, or its interval. */
static void add_extrapolation(struct chart *c, const struct report_series *rs, int colour,
                              bool band)
{
    const struct series *s = &rs->as->series;
    int from = s->points[s->npoints - 1].gpus, to = proposal_request_end(rs);

    if (to == from)
        return;
    struct chart_series *dst = chart_add_series(c, band ? CHART_BAND : CHART_LINE, colour,
                                                band ? "extrapolation, 90 %% interval"
                                                     : "extrapolation, expected");
    for (int n = from; n <= to; n += (to - from) / CURVE_STEPS + 1) {
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

/* Makes the figure, whose axes are logarithmic. */
static void make_chart(struct chart *c, const struct report *r)
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
        end = proposal_request_end(&r->series[i]) > end ? proposal_request_end(&r->series[i]) : end;
    }
    struct chart_series *ideal = chart_add_series(c, CHART_LINE, CHART_INK, "ideal, over %d GPU%s",
                                                  base, plural(base));
    chart_add_point(c, ideal, base, 1, NAN, NAN);
    chart_add_point(c, ideal, end, (double)end / base, NAN, NAN);
    chart_fit(c, false);
}

static int write_files(struct proposal_text *text, struct figures *figures, const char *dir,
                       struct err *e)
{
    if (path_make_folder(dir, e) || figures_draw(figures, dir, e))
        return -1;
    if (*figures->why_not)
        log_warn("no PDF of the figure: %s", figures->why_not);
    text->drawn = !*figures->why_not;
    for (int i = 0; text->run && i < PROPOSAL_NSCRIPTS; i++)
        if (path_write(dir, script_names[i], mem_text(text->scripts[i], e), e))
            return -1;
    return path_write(dir, "proposal.tex", proposal_text_encode(text, true), e) ||
                   path_write(dir, "proposal.md", proposal_text_encode(text, false), e) ||
                   report_folder_write_results(text->report, dir, e)
               ? -1
               : 0;
}

int proposal_write(const struct report *r, struct proposal_facts *facts, const char *dir,
                   struct err *e)
{
    struct figures figures = {.count = 1};
    struct proposal_text text = {.report = r, .facts = facts, .figure = figures.list};
    int rc = -1;

    files_own(dir);
    if (files_rmdir(dir) && errno != ENOENT)
        return err_errno(e, ERR_CONFIG, errno, "report: --proposal %s: name a new folder, since the "
                         "blanks of an earlier proposal may have been filled in", dir);
    read_run(&text, facts);
    make_chart(figures.list, r);
    if (figures.list->failed)
        mem_fail(e);
    else
        rc = write_files(&text, &figures, dir, e);
    figures_destroy(&figures);
    for (int i = 0; i < PROPOSAL_NSCRIPTS; i++)
        free(text.scripts[i]);
    return rc;
}
