/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/proposal.h"

#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/host/path.h"
#include "launcher/report/report_internal.h"
#include "src/atomicfile.h"
#include "src/files.h"
#include "src/log.h"
#include "src/mem.h"
#include "src/plural.h"

#define OUTPUTS (TO_MARKDOWN | TO_LATEX)
#define SCRIPT_MAX (1 << 20)
#define CURVE_STEPS 24 /* the most steps of a curve, about */
#define COUNTS_ASKED 3 /* numbers of GPUs, or of nodes, that centres ask for at least */
#define MOST_VALUES 12
#define AFFINITY "OpenMP affinity: " /* begins the lines that run_file.sh asks for */

enum { NSCRIPTS = 2 };
static const char *const script_names[NSCRIPTS] = {"submit_file.sh", "run_file.sh"};

/* Returns the largest count that the model may predict, or the largest measured one if the model
 * cannot be used. */
static int last_count(const struct report_series *rs)
{
    const struct series *s = &rs->as->series;
    int largest = s->points[s->npoints - 1].gpus;

    return model_is_usable(&rs->as->steady) ? MODEL_FURTHEST * largest : largest;
}

/* The job scripts that stand for all. */
struct scripts {
    const struct result *run; /* NULL: there are none */
    char *texts[NSCRIPTS];
    struct buf affinity; /* where the threads of the first run of each count ran, as OpenMP says */
};

/* Adds a line if the counts, or the nodes, are fewer than centres ask for. */
static void add_few_counts(struct buf *b, const struct series *s)
{
    size_t nodes = 0;
    bool known = true;

    for (size_t i = 0; i < s->npoints; i++) {
        nodes += i == 0 || s->points[i].nodes != s->points[i - 1].nodes;
        known &= s->points[i].nodes > 0;
    }
    if (s->npoints >= COUNTS_ASKED && (!known || nodes >= COUNTS_ASKED))
        return;
    buf_addf(b, "Few counts were measured: %zu of GPUs", s->npoints);
    if (known)
        buf_addf(b, ", %zu of nodes", nodes);
    buf_addf(b, ". Centres ask for at least %d, up to the size that is requested.\n", COUNTS_ASKED);
}

static void add_measurement(struct doc *d, const struct report_series *rs, const char *left_out)
{
    const struct series *s = &rs->as->series;
    struct buf items = {0}, verdict = {0};
    struct table t;

    buf_addf(&verdict, "%s\n%s", rs->words.headline, rs->words.evidence);
    if (s->npoints < 2)
        buf_addf(&verdict, "%s was measured on one number of GPUs, which shows no scaling.\n",
                 rs->label);
    else if (!rs->as->decision.decided)
        buf_add(&verdict, "The runs do not decide yet how many GPUs are worth using.\n");
    doc_paragraph(d, OUTPUTS, &verdict);
    tables_fill_scaling(&t, rs);
    doc_table(d, OUTPUTS, &t);
    if (s->points[0].gpus > 1)
        buf_addf(&items, "Speed-ups are relative to %d GPUs, the smallest feasible number%s\n",
                 s->points[0].gpus, left_out ? "." : ", because: " PROPOSAL_BLANK);
    buf_add(&items, left_out ? left_out : "");
    add_few_counts(&items, s);
    buf_add(&items, rs->words.caveats);
    if (items.length)
        doc_add(d, NODE_PARAGRAPH, OUTPUTS,
                "What the measurement does not show, or what weakens it:");
    doc_list(d, OUTPUTS, "", items.data ? items.data : "");
    d->failed |= items.failed;
    buf_destroy(&items);
}

/* Fills a table of 1.5 and 2 times the largest measured count. */
static void fill_extrapolation(struct table *t, const struct report_series *rs)
{
    const struct series *s = &rs->as->series;
    int base = s->points[0].gpus, largest = s->points[s->npoints - 1].gpus;

    table_init(t, "Extrapolation, not measured: speed-up and efficiency of %s over %d GPU%s that the "
               "model expects, with intervals of %.0f %%.", rs->label, base, plural(base),
               100 * MODEL_LEVEL);
    for (int halves = 3; halves <= 4; halves++) {
        int n = (halves * largest + 1) / 2;
        struct bounds b = model_speedup(&rs->as->steady, base, n);
        double share = (double)base / n;
        table_number(t, "GPUs", n, 0);
        table_number(t, "speed-up", b.expected, 2);
        table_range(t, "its interval", b.low, b.high, 2, "");
        table_number(t, "efficiency", share * b.expected, 2);
        table_range(t, "interval of it", share * b.low, share * b.high, 2, "");
    }
}

static void add_extrapolation(struct doc *d, const struct report_series *rs,
                              const struct proposal_facts *f)
{
    const struct series *s = &rs->as->series;
    const struct model *m = &rs->as->steady;
    int largest = s->points[s->npoints - 1].gpus, end = last_count(rs);
    struct buf text = {0};
    struct table t;

    if (end > largest) {
        fill_extrapolation(&t, rs);
        doc_table(d, OUTPUTS, &t);
        buf_add(&text, "Assumptions: ");
        prediction_explain(m, end, &text);
        buf_add(&text, "Program, input, nodes and network stay those of the measurement.\n");
    } else
        buf_addf(&text, "Nothing is predicted beyond %d GPU%s of %s: %s.\n", largest,
                 plural(largest), rs->label,
                 m->ncounts < COUNTS_ASKED ? "a model needs three numbers of GPUs to be checked by"
                                           : "the measured counts contradict the model");
    for (size_t i = 0; i < f->nrequests; i++)
        if (f->requests[i].gpus > end)
            buf_addf(&text, "The request asks for %d GPUs (%s), for which these runs show nothing: "
                     "measure closer to that.\n", f->requests[i].gpus, f->requests[i].name);
    doc_paragraph(d, OUTPUTS, &text);
}

/* Adds what a member of the runs is, each value once. */
static void add_values(struct buf *b, const struct series *s, const char *what, size_t offset,
                       bool text)
{
    size_t n = 0;

    buf_addf(b, "%s: ", what);
    for (size_t i = 0; i < s->nrows; i++) {
        const char *value = (const char *)&s->rows[i] + offset, *other;
        bool before = text && !*value;
        for (size_t k = 0; k < i && !before; k++) {
            other = (const char *)&s->rows[k] + offset;
            before = text ? !strcmp(value, other) : !memcmp(value, other, sizeof(long));
        }
        if (before || ++n > MOST_VALUES)
            continue;
        buf_add(b, n > 1 ? ", " : "");
        if (text)
            buf_add(b, value);
        else
            buf_addf(b, "%ld", *(const long *)(const void *)value);
    }
    buf_add(b, n > MOST_VALUES ? " and others.\n" : n ? ".\n" : PROPOSAL_BLANK ".\n");
}

static void add_method(struct doc *d, const struct report_series *rs,
                       const struct proposal_facts *facts)
{
    const struct series *s = &rs->as->series;
    struct buf text = {0};

    paragraph_describe(&text, rs);
    if (!s->stepped)
        add_values(&text, s, "Length of a run in epochs", offsetof(struct result, epochs), false);
    add_values(&text, s, "Seeds", offsetof(struct result, seed), false);
    buf_addf(&text, "Cluster: %s.\n", *facts->cluster ? facts->cluster : PROPOSAL_BLANK);
    add_values(&text, s, "Nodes", offsetof(struct result, hosts), true);
    add_values(&text, s, "Runs started at", offsetof(struct result, started), true);
    doc_paragraph(d, OUTPUTS, &text);
}

/* Writes the lines of submit_file.sh that ask for resources, and the command that starts the
 * program of run_file.sh on each rank. */
static void shorten(const struct scripts *scripts, struct buf *dst)
{
    static const char *const own[] = {"--comment=", "--chdir=", "--output=", "--open-mode="};
    const char *program = scripts->texts[1] + strlen(scripts->texts[1]);

    while (program > scripts->texts[1] && (program[-1] == '\n' || !*program))
        program--;
    while (program > scripts->texts[1] && program[-1] != '\n')
        program--;
    program += strncmp(program, "$start ", 7) == 0 ? 7 : 0;
    for (const char *line = scripts->texts[0], *end; *line; line = end + (*end == '\n')) {
        const char *file = strstr(line, "/run_file.sh");
        size_t i = 0;
        end = line + strcspn(line, "\n");
        while (i < sizeof own / sizeof *own && strncmp(line, "#SBATCH ", 8) == 0 &&
               strncmp(line + 8, own[i], strlen(own[i])) != 0)
            i++;
        if (line == scripts->texts[0] || i == sizeof own / sizeof *own) {
            buf_addf(dst, "%.*s\n", (int)(end - line), line);
        } else if (file && file < end && end[-1] == '&') {
            const char *bash = memmem(line, (size_t)(file - line), "bash ", 5);
            line += strspn(line, " ");
            buf_addf(dst, "%.*s%.*s\n", bash ? (int)(bash - line) : 0, line,
                     (int)strcspn(program, "\n"), program);
        }
    }
}

static void add_scripts(struct doc *d, const struct scripts *scripts)
{
    if (!scripts->run) {
        doc_add(d, NODE_PARAGRAPH, OUTPUTS, "The results have no job script. Attach the one of "
                "a typical run: " PROPOSAL_BLANK);
        return;
    }
    struct buf text = {0};
    shorten(scripts, &text);
    doc_add(d, NODE_PARAGRAPH, OUTPUTS, "What the job of run %s, %d GPU%s, asks for and starts; "
            "the whole scripts are submit_file.sh and run_file.sh beside this file.",
            scripts->run->run, scripts->run->gpus, plural(scripts->run->gpus));
    doc_add(d, NODE_CODE, OUTPUTS, "%s", text.data ? text.data : "");
    d->failed |= text.failed;
    buf_destroy(&text);
}

/* Builds the document. drawn: there is a PDF of the figure. */
static void build(struct doc *d, const struct report *r, const struct proposal_facts *facts,
                  const struct scripts *scripts, struct chart *figure, bool drawn)
{
    struct buf text = {0};
    struct table t;

    doc_init(d);
    snprintf(d->created, sizeof d->created, "%s", r->created);
    snprintf(d->comment, sizeof d->comment, "Blanks (" PROPOSAL_BLANK ") are what unetctl does not "
             "know: fill them in.");
    doc_begin(d, ROLE_PLAIN, OUTPUTS, "Parallel performance of %s", r->title);
    doc_add(d, NODE_PARAGRAPH, OUTPUTS, "What the program computes, how it is parallelised, its "
            "input and its reading and writing of files: " PROPOSAL_BLANK);
    if (facts->centre) {
        centre_fill(&t, &r->series[0], facts);
        doc_table(d, OUTPUTS, &t);
    }
    doc_begin(d, ROLE_PLAIN, OUTPUTS, "Measured scaling");
    for (size_t i = 0; i < r->nseries; i++)
        add_measurement(d, &r->series[i], r->left_out);
    doc_figure(d, OUTPUTS, figure, "%s", "scaling")->value = drawn;
    doc_end(d);
    doc_begin(d, ROLE_PLAIN, OUTPUTS, "Beyond the measurement");
    for (size_t i = 0; i < r->nseries; i++)
        add_extrapolation(d, &r->series[i], facts);
    doc_end(d);
    doc_begin(d, ROLE_PLAIN, OUTPUTS, "How it was measured");
    for (size_t i = 0; i < r->nseries; i++)
        add_method(d, &r->series[i], facts);
    doc_end(d);
    doc_begin(d, ROLE_PLAIN, OUTPUTS, "Requested resources");
    proposal_request_describe(&text, &r->series[0], facts);
    doc_paragraph(d, OUTPUTS, &text);
    proposal_request_fill(&t, &r->series[0], facts);
    doc_table(d, OUTPUTS, &t);
    doc_add(d, NODE_PARAGRAPH, OUTPUTS, "Storage of the input data, and of what is kept: "
            PROPOSAL_BLANK);
    doc_end(d);
    doc_begin(d, ROLE_PLAIN, OUTPUTS, "Appendix: job script");
    add_scripts(d, scripts);
    doc_end(d);
    doc_end(d);
    doc_add(d, NODE_PARAGRAPH, TO_MARKDOWN, "Made by unetctl %s on %s.", PACKAGE_VERSION,
            r->created);
}

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

/* Adds the lines that OpenMP printed in a run (templates/command/run_file.sh). */
static void read_affinity(struct scripts *scripts, const char *dir, int gpus)
{
    char pattern[PATH_MAX], line[4096];
    size_t before = scripts->affinity.length;
    glob_t found;

    if (glob(path_format(pattern, "%s/attempt-*/*.out", dir), 0, NULL, &found))
        return;
    for (size_t i = 0; i < found.gl_pathc && scripts->affinity.length == before; i++) {
        FILE *f = files_stream(found.gl_pathv[i], "r", FILES_TEXT_MAX);
        while (f && fgets(line, sizeof line, f))
            if (strncmp(line, AFFINITY, strlen(AFFINITY)) == 0)
                buf_addf(&scripts->affinity, "%d GPU%s: %s", gpus, plural(gpus),
                         line + strlen(AFFINITY));
        if (f)
            fclose(f);
    }
    globfree(&found);
}

/* Reads the scripts of a run of the count that the verdict presents, and the size of that run. */
static void read_run(struct scripts *scripts, const struct report *r, struct proposal_facts *facts)
{
    const struct analysis_series *as = r->series[0].as;
    const struct series_point *p = as->series.npoints > 1 ? as->decision.best : as->series.points;
    char dir[PATH_MAX], path[PATH_MAX];
    struct err ignored;
    size_t n;

    if (!*facts->study_dir)
        return;
    for (size_t i = 0; i < as->series.npoints; i++)
        read_affinity(scripts, path_format(dir, "%s/runs/%s", facts->study_dir,
                                           as->series.points[i].rows[0].run),
                      as->series.points[i].gpus);
    facts->has_affinity = scripts->affinity.length > 0;
    path_format(dir, "%s/runs/%s", facts->study_dir, p->rows[0].run);
    facts->run_bytes = measure_folder(dir);
    scripts->run = &p->rows[0];
    for (int i = 0; i < NSCRIPTS; i++) {
        path_format(path, "%s/%s", dir, script_names[i]);
        scripts->texts[i] = atomicfile_read(path, SCRIPT_MAX, &n, &ignored);
        scripts->run = scripts->texts[i] ? scripts->run : NULL;
    }
    facts->has_scripts = scripts->run != NULL;
}

/* Adds what the model expects beyond the largest measured count, or its interval. */
static void draw_extrapolation(struct chart *c, const struct report_series *rs, int colour,
                               bool band)
{
    const struct series *s = &rs->as->series;
    int from = s->points[s->npoints - 1].gpus, to = last_count(rs);

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
    dst->dashed = true;
}

static void make_chart(struct chart *c, const struct report *r)
{
    int base = r->series[0].as->series.points[0].gpus, end = base;
    struct chart_series *s;

    chart_init(c, "scaling", "Speed-up against the ideal",
               "Speed-up, both axes logarithmic. Marks: measured, with intervals of 95 %% or, of too "
               "few runs, their range. Line: the ideal. Dashed, in its interval of 90 %%: "
               "extrapolated by the model, not measured, if no limit begins.");
    snprintf(c->x.label, sizeof c->x.label, "%s", gpus_title(r->series[0].as->series.fake_gpus));
    snprintf(c->y.label, sizeof c->y.label, "speed-up");
    c->x.logarithmic = c->y.logarithmic = true;
    for (size_t i = 0; i < r->nseries; i++) {
        draw_extrapolation(c, &r->series[i], (int)(i % CHART_COLOURS), true);
        draw_extrapolation(c, &r->series[i], (int)(i % CHART_COLOURS), false);
        s = chart_add_series(c, CHART_MARKS, (int)(i % CHART_COLOURS), "%s",
                             r->nseries > 1 ? r->series[i].label : "measured");
        s->mark = (int)(i % 4);
        figures_add_ratios(c, s, &r->series[i].as->series, series_speedup);
        end = last_count(&r->series[i]) > end ? last_count(&r->series[i]) : end;
    }
    s = chart_add_series(c, CHART_LINE, CHART_INK, "ideal, over %d GPU%s", base, plural(base));
    chart_add_point(c, s, base, 1, NAN, NAN);
    chart_add_point(c, s, end, (double)end / base, NAN, NAN);
    chart_fit(c, false);
}

static int write_files(const struct report *r, const struct proposal_facts *facts,
                       const struct scripts *scripts, struct figures *figures, const char *dir,
                       struct err *e)
{
    struct doc d;

    if (path_make_folder(dir, e) || figures_draw(figures, dir, e))
        return -1;
    if (*figures->why_not)
        log_warn("no PDF of the figure: %s", figures->why_not);
    for (int i = 0; scripts->run && i < NSCRIPTS; i++)
        if (path_write(dir, script_names[i], mem_text(scripts->texts[i], e), e))
            return -1;
    if (facts->has_affinity &&
        path_write(dir, "affinity.txt", mem_text(scripts->affinity.data, e), e))
        return -1;
    build(&d, r, facts, scripts, figures->list, !*figures->why_not);
    int rc = path_write(dir, "proposal.tex", doc_encode(&d, latex_write), e) ||
                     path_write(dir, "proposal.md", doc_encode(&d, markdown_write), e) ||
                     folder_write_results(r, dir, e)
                 ? -1
                 : 0;
    doc_destroy(&d);
    return rc;
}

int proposal_write(const struct report *r, struct proposal_facts *facts, const char *dir,
                   struct err *e)
{
    struct figures figures = {.count = 1};
    struct scripts scripts = {0};
    int rc = -1;

    files_own(dir);
    if (files_rmdir(dir) && errno != ENOENT)
        return err_errno(e, ERR_CONFIG, errno, "report: --proposal %s: name a new folder, since the "
                         "blanks of an earlier proposal may have been filled in", dir);
    read_run(&scripts, r, facts);
    make_chart(figures.list, r);
    if (figures.list->failed)
        mem_fail(e);
    else
        rc = write_files(r, facts, &scripts, &figures, dir, e);
    figures_destroy(&figures);
    for (int i = 0; i < NSCRIPTS; i++)
        free(scripts.texts[i]);
    buf_destroy(&scripts.affinity);
    return rc;
}
