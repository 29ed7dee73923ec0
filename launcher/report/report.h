/* SPDX-License-Identifier: BSD-3-Clause */
/* The report: what an analysis says to people and to programs.
 *
 * struct report is the analysis with all that is said of it in words: a label and a verdict for
 * each series, the differences between series, the runs without a result. report_create computes
 * it; nothing that writes it computes anything again. contents.c makes one document of it
 * (document.h), which is then written as a page, as Markdown, as LaTeX and for a terminal, so each
 * sentence and each table exists once. JSON has the numbers, and is written from the struct.
 *
 * The verbs report and collect call this header; live/ makes the page of a study that still runs.
 * Text of the user's files is escaped by the writers. A folder is written whole or not at all.
 *
 * Read verdict.c and methods.c (what is said), contents.c, tables.c and figures.c (what is shown),
 * document.h and one writer, then folder.c, json.c and proposal.c. chart.h is a drawing as data. */
#pragma once

#include "src/base.h"

#include <jansson.h>

#include "launcher/analysis/analysis.h"
#include "launcher/report/document.h"

/* The verdict on a series in words, by kind. All but the headline have one fact per line, or are
 * "". Those of a series of one count are "". */
enum {
    WORDS_HEADLINE, WORDS_EVIDENCE, WORDS_CAVEATS, WORDS_LIMITS, WORDS_MODELS, WORDS_COSTS,
    WORDS_ADVICE, WORDS_NPARTS
};
struct words {
    union {
        char *parts[WORDS_NPARTS];
        struct {
            /* "Use 6 GPUs: 5.8x faster than with 1 GPU ...", at most 25 words and a label */
            char *headline;
            char *evidence; /* why quality holds, or what is undecided and what would decide it */
            char *caveats;  /* what weakens the verdict, the most severe first */
            char *limits, *models, *costs, *advice;
        };
    };
};

struct report_series {
    const struct analysis_series *as;
    const struct analysis_source *source;
    /* unique: its name, the title of its source, or both, with its mode or a number if necessary */
    char label[400];
    struct words words;
};

struct report {
    char title[256];
    char created[32]; /* date and time, ISO 8601 */
    const struct analysis_source *sources;
    size_t nsources;
    size_t nruns, ndone; /* runs of all sources, and those of them with a result */
    struct analysis analysis;
    struct report_series *series; /* one per series of the analysis */
    size_t nseries;
    /* Runs without a result, at most REPORT_MAX_PROBLEMS and then the number of further ones, and
     * the notes of the analysis, one per line, or "". */
    char *problems;
    const char *left_out; /* of these the lines on counts that are known not to run, or NULL */
    char *rule;        /* the rule of the verdicts, in words */
    double efficiency; /* its threshold */
    /* the differences between both series of each pair of the analysis, only at their largest
     * common count, one sentence per line, or "" */
    char *differences;
};

#define REPORT_MAX_PROBLEMS 200

/* sources must live as long as the report. Returns 0, or -1 with the error of analysis_create or
 * if memory ran out. */
int report_create(struct report *r, const struct analysis_source *sources, size_t nsources,
                  const struct analysis_options *options, struct err *e);
void report_destroy(struct report *r);

/* Initialises d as a document of some parts: the verdict of each series with the rule, the
 * differences and the problems; for each series a short table, bars (with two counts or more) and
 * the settings; the twelve rules; the paragraph of methods of each series. figures is NULL for a
 * terminal; otherwise they, all runs and the definitions are parts, too. */
enum { REPORT_VERDICT = 1, REPORT_NUMBERS = 2, REPORT_RULES = 4, REPORT_PARAGRAPHS = 8 };
struct figures;
void report_document(struct doc *d, const struct report *r, unsigned parts,
                     struct figures *figures);

/* Writes all files (doc/FORMATS.md) into dir, which is made if necessary. They are written into a
 * hidden folder within dir and moved when all are complete, so that an error before that leaves
 * dir unchanged. An earlier report in dir is replaced, and its figures are removed. Other files
 * stay; if dir has no report, a file in the way is ERR_CONFIG, and nothing changes. A missing
 * rsvg-convert is a warning and not an error. No link in dir is followed (files.h). Returns 0 or
 * -1. */
int report_write_folder(const struct report *r, const char *dir, struct err *e);

/* Runs, sorted by number of GPUs, whose curves are drawn in the same charts. */
struct report_group {
    const char *label;
    const struct result *rows; /* one or more */
    size_t n;
};

/* Adds the figures of a study that still runs: speed-up (none if r is NULL), and the loss and the
 * quality by epoch of each group. */
void report_add_live_figures(struct doc *d, const struct report *r,
                             const struct report_group *groups, size_t ngroups);

/* Adds what report --predict prints: a table, and the assumptions that it is based on. label is
 * that of the series. */
void report_add_prediction(struct doc *d, const struct prediction *p, const char *label);

/* Return JSON (schema 1, doc/SCHEMAS.md) with a newline, which the caller frees, or NULL if memory
 * ran out: a report; the results of collect; input of Extra-P (4.x), one parameter, gpus, and a
 * value per good run, of the metrics that are known at every count. */
char *json_encode_report(const struct report *r);
char *json_encode_results(const char *study, const struct results *results);
char *json_encode_extra_p(const struct report *r);
#define JSON_REPORT_MARK "\"schema\"" /* identifies files of unetctl (atomicfile_check_own) */

/* Returns the prediction as JSON, or NULL if memory ran out. */
json_t *json_encode_prediction(const struct prediction *p, const char *label);
