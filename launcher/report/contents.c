/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/report/report.h"

#include <math.h>

#include "launcher/host/path.h"
#include "launcher/report/report_internal.h"
#include "src/atomicfile.h"

#define FIRST_CAVEATS 3
#define MAX_PICTURE (1 << 20)

static void add_quality_tile(struct doc *doc, const struct series *s, const struct decision *d)
{
    double best = d->best->q[QUANTITY_QUALITY].mean, base = d->base->q[QUANTITY_QUALITY].mean;

    if (d->best == d->base && isfinite(best))
        doc_tile(doc, TO_HTML, s->quality, "%.*f\tbase case", s->decimals, best);
    else if (isfinite(best))
        doc_tile(doc, TO_HTML, s->quality, "%.*f\t%s; %.*f with %d GPU%s", s->decimals, best,
                 quality_state_name(&d->quality[d->best - s->points], s), s->decimals, base,
                 d->base->gpus, plural(d->base->gpus));
}

/* Adds GPU-hours or, where the cost of a whole run is unknown, units of work per second. */
static void add_cost_tile(struct doc *d, const struct series *s, const struct series_point *best,
                          const struct series_point *base)
{
    char name[48], value[32], from[32];

    if (isfinite(best->gpu_hours) && isfinite(base->gpu_hours)) {
        doc_tile(d, TO_HTML, "GPU-hours", "%.3g\ta run; %.3g in the base case", best->gpu_hours,
                 base->gpu_hours);
    } else if (isfinite(best->q[QUANTITY_RATE].median)) {
        double rate = series_rate(s, base->q[QUANTITY_RATE].median, name, sizeof name);
        snprintf(from, sizeof from, rate < 1000 ? "%.3g" : "%.0f", rate);
        rate = series_rate(s, best->q[QUANTITY_RATE].median, name, sizeof name);
        snprintf(value, sizeof value, rate < 1000 ? "%.3g" : "%.0f", rate);
        doc_tile(d, TO_HTML, name, "%s\t%s in the base case", value, from);
    }
}

static void add_speedup_tile(struct doc *doc, const struct series *s, const struct decision *d)
{
    static const char name[] = "speed-up", times[] = "\303\227";
    const struct ratio *r = &d->speedup;
    char speed[64], bounds[SERIES_BOUNDS];

    if (d->best != d->base && *series_describe_bounds(s, r, 2, bounds))
        doc_tile(doc, TO_HTML, name, "%.2f%s\t%s", r->value, times, bounds);
    else {
        series_describe_speed(s, d->base, speed, sizeof speed);
        doc_tile(doc, TO_HTML, name, "%.2f%s\tof %s", r->value, times, speed);
    }
}

static void add_tiles(struct doc *doc, const struct series *s, const struct decision *d)
{
    double whole = 100 * d->best->efficiency[QUANTITY_TRAINING].value,
           efficiency = 100 * d->efficiency.value;

    doc_begin(doc, ROLE_TILES, TO_HTML, "%s", "");
    doc_tile(doc, TO_HTML,
             d->unlearnt || d->best != d->use  ? "by time, up to"
             : d->decided || d->use != d->base ? "use"
                                               : "undecided",
             "%d GPU%s\tof %d to %d measured", d->best->gpus, plural(d->best->gpus), d->base->gpus,
             s->points[s->npoints - 1].gpus);
    add_speedup_tile(doc, s, d);
    if (isfinite(whole))
        doc_tile(doc, TO_HTML, "efficiency", "%.0f %%\t%.0f %% of the whole %s", efficiency, whole,
                 s->stepped ? "run" : "training");
    else
        doc_tile(doc, TO_HTML, "efficiency", "%.0f %%\tin steady %ss", efficiency,
                 series_interval(s));
    add_quality_tile(doc, s, d);
    add_cost_tile(doc, s, d->best, d->base);
    doc_end(doc);
}

/* Adds the verdict on a series. A page has what it rests on further below. */
static void add_verdict(struct doc *d, const struct report *r, size_t i)
{
    const unsigned lines = TO_TEXT | TO_MARKDOWN;
    const struct report_series *s = &r->series[i];
    struct node *section = doc_begin(d, ROLE_VERDICT, TO_PAGES | TO_TEXT, "%s",
                                     s->words.headline);

    snprintf(section->id, sizeof section->id, "verdict-%zu", i);
    if (s->as->series.npoints > 1)
        add_tiles(d, &s->as->series, &s->as->decision);
    doc_lines(d, lines, s->words.evidence);
    doc_list(d, lines, "But", s->words.caveats);
    for (int k = WORDS_LIMITS; k < WORDS_NPARTS; k++)
        doc_lines(d, lines, s->words.parts[k]);
    doc_end(d);
}

/* Adds the most severe caveats of all series, each once, at most FIRST_CAVEATS. */
static void add_first_caveats(struct doc *d, const struct report *r)
{
    const char *shown[FIRST_CAVEATS];
    struct buf lines = {0};
    size_t nshown = 0;

    for (size_t n = 0; n < FIRST_CAVEATS; n++)
        for (size_t i = 0; i < r->nseries && nshown < FIRST_CAVEATS; i++) {
            const struct decision *decision = &r->series[i].as->decision;
            bool known = n >= decision->ncaveats;
            for (size_t k = 0; k < nshown && !known; k++)
                known = strcmp(shown[k], decision->caveats[n].text) == 0;
            if (known)
                continue;
            if (r->nseries > 1)
                buf_addf(&lines, "%s: ", r->series[i].label);
            buf_addf(&lines, "%s\n", shown[nshown++] = decision->caveats[n].text);
        }
    doc_list(d, TO_HTML, "But", lines.data ? lines.data : "")->role = ROLE_CAVEATS;
    d->failed |= lines.failed;
    buf_destroy(&lines);
}

/* Begins a section that a page shows only when the reader opens it. */
static struct node *begin_folded(struct doc *d, enum node_role role, unsigned outputs,
                                 const char *title)
{
    struct node *section = doc_begin(d, role, outputs, "%s", title);

    section->fold = FOLD_CLOSED;
    return section;
}

/* Adds the first thing to measure next of each series, and the short table of its counts. */
static void add_next(struct doc *d, const struct report *r)
{
    struct buf lines = {0};
    struct table t;

    for (size_t i = 0; i < r->nseries; i++) {
        const char *advice = r->series[i].words.parts[WORDS_ADVICE];
        if (*advice)
            buf_addf(&lines, "%s%s%.*s\n", r->nseries > 1 ? r->series[i].label : "",
                     r->nseries > 1 ? ": " : "", (int)strcspn(advice, "\n"), advice);
    }
    doc_list(d, TO_HTML, "Next", lines.data ? lines.data : "")->role = ROLE_CAVEATS;
    d->failed |= lines.failed;
    buf_destroy(&lines);
    for (size_t i = 0; i < r->nseries; i++) {
        tables_fill_short(&t, &r->series[i]);
        doc_table(d, TO_HTML, &t);
    }
}

static void add_grounds(struct doc *d, const struct report *r, size_t i)
{
    static const struct {
        int part;
        const char *title;
    } grounds[] = {{WORDS_EVIDENCE, "Quality, and what is undecided"}, {WORDS_LIMITS, "Limits"},
                   {WORDS_MODELS, "Models"}, {WORDS_COSTS, "Costs"},
                   {WORDS_ADVICE, "What to measure next"}, {WORDS_CAVEATS, "What weakens it"}};
    size_t ncaveats = 0;
    char title[512];

    for (size_t k = 0; k < r->nseries; k++)
        ncaveats += r->series[k].as->decision.ncaveats;
    snprintf(title, sizeof title, "What the verdict%s%s rests on", r->nseries > 1 ? " on " : "",
             r->nseries > 1 ? r->series[i].label : "");
    begin_folded(d, ROLE_GROUNDS, TO_HTML, title);
    for (size_t k = 0; k < sizeof grounds / sizeof grounds[0]; k++) {
        if (grounds[k].part == WORDS_CAVEATS && ncaveats <= FIRST_CAVEATS)
            continue;
        doc_begin(d, ROLE_PLAIN, TO_HTML, "%s", grounds[k].title);
        doc_lines(d, TO_HTML, r->series[i].words.parts[grounds[k].part]);
        doc_end(d);
    }
    doc_end(d);
}

/* Adds what weakens the verdicts, what they rest on, and what they do not cover. */
static void add_reasons(struct doc *d, const struct report *r)
{
    const unsigned outputs = TO_PAGES | TO_TEXT;

    add_first_caveats(d, r);
    add_next(d, r);
    for (size_t i = 0; i < r->nseries; i++)
        if (r->series[i].as->series.npoints > 1)
            add_grounds(d, r, i);
    doc_add(d, NODE_SENTENCE, outputs, "Rule: %s", r->rule)->role = ROLE_NOTE;
    if (*r->differences) {
        struct node *section = doc_begin(d, ROLE_VERDICT, outputs, "Side by side");
        section->untitled = TO_TEXT;
        strcpy(section->id, "differences");
        doc_lines(d, outputs, r->differences);
        doc_end(d);
    }
    strcpy(doc_begin(d, ROLE_LEFT_OUT, outputs, "Left out, and in no number of this report")->id,
           "problems");
    doc_list(d, outputs, "", r->problems);
    doc_end(d);
}

static const struct result *find_run(const struct analysis_series *as)
{
    const struct series *s = &as->series;
    const struct series_point *best = as->decision.best;

    for (size_t i = 0; best && i < best->nruns; i++)
        if (best->rows[i].examples)
            return &best->rows[i];
    for (size_t i = 0; i < s->nrows; i++)
        if (s->rows[i].examples)
            return &s->rows[i];
    return NULL;
}

/* Adds the picture of a row of examples.csv: its name, the image's name and its IoU. */
static void add_example(struct doc *d, const char *dir, char *line)
{
    static const char *const known[] = {"best", "median", "worst", "random"};
    char *cells[3], path[PATH_MAX];
    bool listed = false;
    struct err ignored;
    size_t size;

    if (csv_split(line, ',', cells, 3) != 3)
        return;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        listed |= strcmp(cells[0], known[i]) == 0;
    char *png = listed ? atomicfile_read(path_format(path, "%s/%s.png", dir, cells[0]),
                                         MAX_PICTURE, &size, &ignored)
                       : NULL;
    if (png && size > 4 && memcmp(png, "\x89PNG", 4) == 0)
        buf_add_bytes(&doc_add(d, NODE_PICTURE, TO_HTML, "%s: %.120s, IoU %.4f", cells[0],
                               csv_text(cells[1]), strtod(cells[2], NULL))->png, png, size);
    free(png);
}

/* Adds the pictures that a trainer wrote (logs/SCHEMA.md, "examples/") of one run of each series:
 * of its first one with the advised number of GPUs or, if that has none, of another. A picture
 * that cannot be read, or is larger than MAX_PICTURE, is omitted. */
static void add_examples(struct doc *d, const struct report *r)
{
    for (size_t i = 0; i < r->nseries; i++) {
        const struct result *run = find_run(r->series[i].as);
        char path[PATH_MAX];
        struct err ignored;
        size_t size;
        char *text = run ? atomicfile_read(path_format(path, "%s/examples.csv", run->examples),
                                           MAX_PICTURE, &size, &ignored)
                         : NULL;
        char *next = text;
        if (!text)
            continue;
        doc_begin(d, ROLE_PLAIN, TO_HTML, "Examples of %s with %d GPU%s", r->series[i].label,
                  run->gpus, plural(run->gpus));
        doc_add(d, NODE_SENTENCE, TO_HTML, "Validation images of %s: left the true mask over "
                "the image, right the predicted one.", run->run)->role = ROLE_NOTE;
        doc_begin(d, ROLE_PICTURES, TO_HTML, "%s", "");
        for (char *line = strsep(&next, "\n"); line; line = strsep(&next, "\n"))
            add_example(d, run->examples, line);
        doc_end(d);
        doc_end(d);
        free(text);
    }
}

static void add_figures(struct doc *d, const struct report *r, struct figures *f)
{
    begin_folded(d, ROLE_PLAIN, TO_PAGES, "Learning");
    figures_add(d, f, FIGURES_LEARNING);
    add_examples(d, r);
    doc_end(d);
    begin_folded(d, ROLE_PLAIN, TO_PAGES, "Time and cost");
    figures_add(d, f, FIGURES_TIME);
    doc_add(d, NODE_SENTENCE, TO_HTML, "Point at a mark to see its value, or open the values "
            "below it. figures/ has the same figures as SVG with their numbers as CSV%s%s.",
            *f->why_not ? "; there are no PDF and PNG files of them: " : ", and as PDF and PNG",
            f->why_not)->role = ROLE_NOTE;
    doc_end(d);
}

static void add_numbers(struct doc *d, const struct report *r)
{
    begin_folded(d, ROLE_PLAIN, TO_PAGES | TO_TEXT | TO_LATEX, "Numbers")->untitled =
        TO_TEXT | TO_LATEX;
    tables_add(d, r);
    doc_end(d);
}

/* The rules are terms, because a table would leave their sentences little width on a phone. */
static void add_rules(struct doc *d, const struct report *r)
{
    const unsigned outputs = TO_PAGES | TO_TEXT;
    char name[200];

    begin_folded(d, ROLE_PLAIN, outputs, "Rules of scientific benchmarking")->untitled = TO_TEXT;
    doc_add(d, NODE_SENTENCE, TO_PAGES, "The twelve rules of Hoefler and Belli (\"Scientific "
            "benchmarking of parallel computing systems\", SC 2015), as this report meets "
            "them.")->role = ROLE_NOTE;
    doc_begin(d, ROLE_TERMS, outputs, "%s", "");
    for (int i = 0; i < RULES_COUNT; i++) {
        const struct rule *rule = &r->analysis.rules[i];
        snprintf(name, sizeof name, "%d. %s: %s", rule->number, rule_state_names[rule->state],
                 rule->text);
        doc_term(d, outputs, name, rule->why);
    }
    doc_end(d);
    doc_end(d);
}

static void add_runs(struct doc *d, const struct report *r)
{
    begin_folded(d, ROLE_PLAIN, TO_PAGES, "Runs");
    for (size_t i = 0; i < r->nsources; i++)
        tables_add_runs(d, &r->sources[i].results);
    doc_end(d);
}

static bool has_epochs(const struct report *r)
{
    for (size_t i = 0; i < r->nseries; i++)
        if (!r->series[i].as->series.stepped)
            return true;
    return false;
}

/* Returns whether q means what its definition says in some series. Many are about images and
 * epochs. */
static bool is_defined(const struct report *r, enum quantity q)
{
    bool share = false, known = false;

    for (size_t i = 0; i < r->nseries; i++) {
        const struct series *s = &r->series[i].as->series;
        share |= s->is_share;
        for (size_t k = 0; k < s->npoints; k++)
            known |= s->points[k].q[q].count > 0;
    }
    if (q > QUANTITY_ENERGY)
        return known;
    if (q >= QUANTITY_QUALITY && q <= QUANTITY_DICE)
        return share && has_epochs(r);
    return has_epochs(r) || (known && (q == QUANTITY_STARTUP || q == QUANTITY_WHOLE ||
                                       q == QUANTITY_ENERGY));
}

static void add_definitions(struct doc *d, const struct report *r)
{
    static const char *const common[][2] = {
        {"speed-up",
         "Time of the base case, the smallest number of GPUs measured, divided by the time with N. "
         "Times of several runs are summarized first (median), then divided."},
        {"base case", "The smallest number of GPUs measured, or that of --base."},
        {"within reach by time",
         "Numbers of GPUs whose measured efficiency reaches the rule's threshold, while the runs do "
         "not show that it does, or that quality holds."},
        {"efficiency", "Speed-up divided by the ideal, N over the base case's number of GPUs."}};

    begin_folded(d, ROLE_PLAIN, TO_PAGES, "How these numbers are made");
    doc_begin(d, ROLE_TERMS, TO_PAGES, "%s", "");
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        doc_term(d, TO_PAGES, common[i][0], common[i][1]);
    for (enum quantity q = 0; q < QUANTITY_COUNT; q++)
        if (is_defined(r, q))
            doc_term(d, TO_PAGES, quantities[q].name, quantities[q].text);
    if (!has_epochs(r))
        doc_term(d, TO_PAGES, "steady interval",
                 "The median, or as a caveat says the mean, of the times between two rows of a "
                 "run's log after warming up: without the first, and without those after it that "
                 "are slow (change-point rule of doc/SCALING.md). All are for the same work where "
                 "it is known.");
    doc_end(d);
    doc_end(d);
}

void report_document(struct doc *d, const struct report *r, unsigned parts, struct figures *f)
{
    doc_init(d);
    snprintf(d->title, sizeof d->title, "%s", r->title);
    snprintf(d->topic, sizeof d->topic, "scaling report");
    snprintf(d->heading, sizeof d->heading, "how many GPUs are worth it?");
    snprintf(d->about, sizeof d->about, "%zu of %zu runs have a result. Made by unetctl %s on %s.",
             r->ndone, r->nruns, PACKAGE_VERSION, r->created);
    snprintf(d->created, sizeof d->created, "%s", r->created);
    snprintf(d->footer, sizeof d->footer, "The same as text: report.md; for papers: tables.tex and "
             "figures/; for programs: report.json, results.csv and, for Extra-P, extra-p.json.");
    for (size_t i = 0; i < r->nseries && parts & REPORT_VERDICT; i++)
        add_verdict(d, r, i);
    if (f)
        figures_add(d, f, FIGURES_FIRST);
    if (parts & REPORT_VERDICT)
        add_reasons(d, r);
    if (f)
        add_figures(d, r, f);
    if (parts & REPORT_NUMBERS)
        add_numbers(d, r);
    if (parts & REPORT_RULES)
        add_rules(d, r);
    if (f) {
        add_runs(d, r);
        add_definitions(d, r);
    }
    for (size_t i = 0; i < r->nseries && parts & REPORT_PARAGRAPHS; i++) {
        struct buf text = {0};
        paragraph_describe(&text, &r->series[i]);
        doc_paragraph(d, TO_TEXT, &text);
    }
}
