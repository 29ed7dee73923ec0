/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/report/proposal/proposal_text.h"

#include <stddef.h>
#include <string.h>

#include "launcher/report/markup/escape.h"
#include "launcher/report/paragraph.h"
#include "launcher/report/prediction_report.h"
#include "launcher/report/tables.h"
#include "src/plural.h"

#define COUNTS_ASKED 3 /* numbers of GPUs, or of nodes, that centres ask for at least */
#define MOST_VALUES 12

/* A document in one of both forms. Texts are plain, and are escaped here. */
struct document {
    struct buf *b;
    bool latex;
    escape_f *escape;
    table_encode_f *table;
};

static void add_heading(const struct document *d, const char *title)
{
    escape_format(d->b, d->escape, d->latex ? "\\subsection{%s}\n\n" : "### %s\n\n", title);
}

/* Adds a paragraph of lines, and destroys it. */
static void add_paragraph(const struct document *d, struct buf *text)
{
    if (text->length) {
        escape_lines(d->b, d->escape, text->data, "", "\n");
        buf_add(d->b, "\n");
    }
    d->b->failed |= text->failed;
    buf_destroy(text);
}

static void add_sentence(const struct document *d, const char *sentence)
{
    escape_format(d->b, d->escape, "%s\n\n", sentence);
}

/* Adds each line as an item, and destroys the list. */
static void add_items(const struct document *d, struct buf *lines)
{
    if (lines->length) {
        buf_add(d->b, d->latex ? "\\begin{itemize}\n" : "");
        escape_lines(d->b, d->escape, lines->data, d->latex ? "\\item " : "- ", "\n");
        buf_add(d->b, d->latex ? "\\end{itemize}\n\n" : "\n");
    }
    d->b->failed |= lines->failed;
    buf_destroy(lines);
}

/* Adds a line as it is, but for '?' where the document's fonts lack a character, and a blank that
 * keeps a line from ending the environment. */
static void escape_verbatim(struct buf *b, const char *line)
{
    struct buf plain = {0};

    escape_plain(&plain, line);
    for (const char *p = plain.data ? plain.data : ""; *p; p++)
        buf_addf(b, "%c%s", *p & 0x80 ? '?' : *p,
                 strncmp(p, "\\end{verbatim}", 14) == 0 ? " " : "");
    b->failed |= plain.failed;
    buf_destroy(&plain);
}

static void add_script(const struct document *d, const char *script)
{
    buf_add(d->b, d->latex ? "{\\scriptsize\n\\begin{verbatim}\n" : "");
    escape_lines(d->b, d->latex ? escape_verbatim : escape_plain, script, d->latex ? "" : "    ",
                 "\n");
    buf_add(d->b, d->latex ? "\\end{verbatim}\n}\n\n" : "\n");
}

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
    buf_addf(b, ". Centres ask for at least %d, up to the size that is requested.\n",
             COUNTS_ASKED);
}

/* Adds the verdict, what weakens it, and the table. */
static void add_measurement(const struct document *d, const struct report_series *rs)
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
    add_paragraph(d, &verdict);
    tables_fill_scaling(&t, rs);
    table_append(&t, d->table, d->b);
    if (s->points[0].gpus > 1)
        buf_addf(&items, "Speed-ups are relative to %d GPUs, the smallest feasible number, because: "
                 PROPOSAL_BLANK "\n", s->points[0].gpus);
    add_few_counts(&items, s);
    buf_add(&items, rs->words.caveats);
    if (items.length)
        add_sentence(d, "What the measurement does not show, or what weakens it:");
    add_items(d, &items);
}

static void add_figure(const struct document *d, const struct proposal_text *text)
{
    const struct chart *c = text->figure;

    if (!d->latex)
        escape_format(d->b, d->escape, "![%s](scaling.svg)\n\n*%s*\n\n", c->title, c->caption);
    else if (text->drawn)
        escape_format(d->b, d->escape, "\\begin{figure}[htbp]\n\\centering\n"
                      "\\includegraphics{scaling}\n\\caption{%s}\n\\end{figure}\n\n", c->caption);
    else
        buf_add(d->b, "% There is no scaling.pdf: make it from scaling.svg, and include it here.\n\n");
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
        table_addf(t, "GPUs", "%d", n);
        table_addf(t, "speed-up", "%.2f", b.expected);
        table_addf(t, "its interval", "%.2f..%.2f", b.low, b.high);
        table_addf(t, "efficiency", "%.2f", share * b.expected);
        table_addf(t, "interval of it", "%.2f..%.2f", share * b.low, share * b.high);
    }
}

static void add_extrapolation(const struct document *d, const struct report_series *rs,
                              const struct proposal_facts *f)
{
    const struct series *s = &rs->as->series;
    const struct model *m = &rs->as->steady;
    int largest = s->points[s->npoints - 1].gpus, end = proposal_request_end(rs);
    struct buf text = {0};
    struct table t;

    if (end > largest) {
        fill_extrapolation(&t, rs);
        table_append(&t, d->table, d->b);
        buf_add(&text, "Assumptions: ");
        prediction_report_explain(m, series_interval(s), f->gpus_per_node, &text);
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
    add_paragraph(d, &text);
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

static void add_method(const struct document *d, const struct report_series *rs)
{
    const struct series *s = &rs->as->series;
    struct buf text = {0};

    paragraph_describe(&text, rs);
    if (!s->stepped)
        add_values(&text, s, "Length of a run in epochs", offsetof(struct result, epochs), false);
    add_values(&text, s, "Seeds", offsetof(struct result, seed), false);
    add_values(&text, s, "Cluster: " PROPOSAL_BLANK ". Nodes", offsetof(struct result, hosts),
               true);
    add_values(&text, s, "Runs started at", offsetof(struct result, started), true);
    add_paragraph(d, &text);
}

static void add_scripts(const struct document *d, const struct proposal_text *text)
{
    struct buf intro = {0};

    if (text->run)
        buf_addf(&intro, "The scripts of run %s, %d GPU%s, as unetctl generated them: submit_file.sh "
                 "is submitted, and starts run_file.sh once per rank.\n", text->run->run,
                 text->run->gpus, plural(text->run->gpus));
    else
        buf_add(&intro, "The results have no job script. Attach the one of a typical run: "
                PROPOSAL_BLANK "\n");
    add_paragraph(d, &intro);
    for (int i = 0; text->run && i < PROPOSAL_NSCRIPTS; i++)
        add_script(d, text->scripts[i]);
}

static void add_sections(const struct document *d, const struct proposal_text *text)
{
    const struct report *r = text->report;
    struct table t;

    escape_format(d->b, d->escape,
                  d->latex ? "\\section{Parallel performance of %s}\n\n"
                           : "## Parallel performance of %s\n\n", r->title);
    add_sentence(d, "What the program computes, how it is parallelised, its input and its reading "
                 "and writing of files: " PROPOSAL_BLANK);
    add_heading(d, "Measured scaling");
    for (size_t i = 0; i < r->nseries; i++)
        add_measurement(d, &r->series[i]);
    add_figure(d, text);
    add_heading(d, "Beyond the measurement");
    for (size_t i = 0; i < r->nseries; i++)
        add_extrapolation(d, &r->series[i], text->facts);
    add_heading(d, "How it was measured");
    for (size_t i = 0; i < r->nseries; i++)
        add_method(d, &r->series[i]);
    add_heading(d, "Requested resources");
    proposal_request_fill(&t, &r->series[0], text->facts);
    table_append(&t, d->table, d->b);
    add_sentence(d, "Storage of the input data, and of what is kept: " PROPOSAL_BLANK);
    add_heading(d, "Appendix: job script");
    add_scripts(d, text);
}

char *proposal_text_encode(const struct proposal_text *text, bool latex)
{
    struct buf b = {0};
    struct document d = {&b, latex, latex ? escape_latex : escape_markdown,
                         latex ? table_encode_latex : table_encode_markdown};

    if (latex)
        tables_begin_latex(&b, text->report->created);
    buf_addf(&b, latex ? "%% %s\n\n" : "<!-- %s -->\n\n",
             "Blanks (" PROPOSAL_BLANK ") are what unetctl does not know: fill them in.");
    add_sections(&d, text);
    if (!latex)
        buf_addf(&b, "Made by unetctl %s on %s.\n", PACKAGE_VERSION, text->report->created);
    return buf_steal(&b);
}
