/* SPDX-License-Identifier: BSD-3-Clause */
/* unetctl report: speed-up, efficiency, quality, and the number of GPUs worth using. */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include <math.h>

#include "launcher/analysis/series.h"
#include "launcher/doctor/doctor.h"
#include "launcher/host/path.h"
#include "launcher/plan/begin.h"
#include "launcher/report/proposal.h"
#include "launcher/report/report.h"
#include "launcher/rounds/sources.h"
#include "launcher/submit/attempt.h"
#include "launcher/submit/submission.h"
#include "src/atomicfile.h"
#include "src/cluster/range.h"

static struct {
    bool as_text, as_rules, as_paragraph;
    struct analysis_options analysis;
    long base;
    double flop;
    struct plan_args args;
    struct cli_list logs_dirs, requests;
    struct log_form_args form_args;
    struct log_form logs_form;
    const char *json_file, *out_dir, *reach, *predict, *proposal, *centre, *best;
    const char *links;
    long gpus_per_node, parameters, norm_sums;
} given = {.analysis = ANALYSIS_OPTIONS_INIT};

static const struct cli_option options[] = {
    WORKSPACE_OPTION_STUDY(given.args),
    {"logs", 0, CLI_LIST, "DIR",
     "read a folder of logs, such as log_N.csv; may be repeated", &given.logs_dirs, 0, 0},
    LOG_FORM_OPTIONS(given.form_args),
    {"output", 'o', CLI_STRING, "DIR",
     "write to this folder (default: STUDY/report, or report)", &given.out_dir, 0, 0},
    {"json", 0, CLI_STRING, "FILE", "write the numbers as JSON to FILE, or - for standard output",
     &given.json_file, 0, 0},
    {"text", 0, CLI_FLAG, NULL, "print the verdict, a table and a chart for a terminal", &given.as_text,
     0, 0},
    {"rules", 0, CLI_FLAG, NULL, "print which of the twelve rules of benchmarking are met, and why",
     &given.as_rules, 0, 0},
    {"paragraph", 0, CLI_FLAG, NULL, "print the methods paragraph of a paper with its numbers",
     &given.as_paragraph, 0, 0},
    {"base", 0, CLI_INT, "N",
     "compute speed-ups over N GPUs, without smaller runs (default: 1)", &given.base, 1,
     SETTINGS_GPUS_MAX},
    {"deadline", 0, CLI_DOUBLE, "SECONDS", "say which number of GPUs trains within this time",
     &given.analysis.deadline_s, 0, 1e9},
    {"target-iou", 0, CLI_DOUBLE, "X",
     "measure the time to this quality (default: what all reach)",
     &given.analysis.score_target, -1e300, 1e300},
    {"reach", 0, CLI_STRING, "X,X..",
     "list the times to these qualities (default: 0.1 ... 0.9)", &given.reach, 0, 0},
    {"target-loss", 0, CLI_DOUBLE, "X",
     "measure the time to this training loss (default: what all reach)",
     &given.analysis.loss_target, 0, 1e9},
    {"train-images", 0, CLI_INT, "N",
     "assume N images per epoch, with repeats, where logs do not say",
     &given.analysis.facts.train_images, 1, 1000000000},
    {"batch-per-gpu", 0, CLI_INT, "N", "assume N images per GPU and step where logs do not say",
     &given.analysis.facts.batch_per_gpu, 1, 1000000},
    {"epoch", 0, CLI_INT, "K",
     "compare epoch K, from 0, as the reference's notebooks do (1)",
     &given.analysis.facts.epoch, 1, 1000000},
    {"keep-remainder", 0, CLI_FLAG, NULL,
     "with --train-images: count the incomplete last batch as trained",
     &given.analysis.facts.keep_remainder, 0, 0},
    {"predict", 0, CLI_STRING, "LIST",
     "predict these numbers of GPUs from measured times", &given.predict, 0, 0},
    {"links", 0, CLI_STRING, "A,B",
     "--predict: links in and between nodes: nvlink2,ib-edr", &given.links, 0, 0},
    {"gpus-per-node", 0, CLI_INT, "N",
     "assume N GPUs per node where results do not say", &given.gpus_per_node, 1, 1024},
    {"parameters", 0, CLI_INT, "N",
     "--predict: assume N parameters where results do not say", &given.parameters, 1,
     1000000000000},
    {"norm-sums", 0, CLI_INT, "N",
     "--predict: sums of synchronised batch norm per step (0)", &given.norm_sums, 0,
     1000000},
    {"watts", 0, CLI_DOUBLE, "W", "assume W watts per GPU for energy where none was measured",
     &given.analysis.facts.watts_per_gpu, 0, 100000},
    {"best", 0, CLI_STRING, "FILE",
     "write study.yaml of the number of GPUs that is chosen to this file",
     &given.best, 0, 0},
    {"proposal", 0, CLI_STRING, "DIR",
     "write the scaling section of an application to this folder", &given.proposal, 0, 0},
    {"for", 0, CLI_STRING, "CENTRE",
     "--proposal: answer what this centre asks, such as csc",
     &given.centre, 0, 0},
    {"request", 0, CLI_LIST, "JOBS",
     "--proposal: request 'NAME: GPUS x RUNS x HOURS'; may be repeated", &given.requests, 0, 0},
    {"flop", 0, CLI_DOUBLE, "N",
     "--proposal: count N floating-point operations per unit of work", &given.flop, 0, 1e30},
    {0}};

/* Returns whether only output on stdout is requested, and not the folder of a report. With -o that
 * is written as well, except with --predict. */
static bool is_only_printed(void)
{
    return given.as_text || given.as_rules || given.as_paragraph || given.predict ||
           given.proposal ||
           (given.json_file && strcmp(given.json_file, "-") == 0);
}

/* Replaces the links of n by those that `unetctl doctor --bandwidth` has measured for the study, if
 * it did. */
static int set_measured(const char *study_dir, struct prediction_network *n, struct err *e)
{
    struct prediction_link *dst[BANDWIDTH_KINDS] = {&n->within, &n->between};
    struct bandwidth_link links[BANDWIDTH_KINDS] = {{0}};
    char path[PATH_MAX];

    if (!*study_dir || access(path_format(path, "%s/" BANDWIDTH_FILE, study_dir), F_OK))
        return 0;
    json_t *measured = bandwidth_read(study_dir, e);
    if (!measured)
        return -1;
    bandwidth_links(measured, links);
    json_decref(measured);
    for (int i = 0; i < BANDWIDTH_KINDS; i++)
        if (links[i].bytes_per_s > 0)
            *dst[i] = (struct prediction_link){
                .name = "measured", .what = "by unetctl doctor --bandwidth",
                .bytes_per_s = links[i].bytes_per_s, .latency_s = links[i].latency_s};
    return 0;
}

static int read_sources(struct sources *in, int noperands, char **operands, struct err *e)
{
    int n = noperands + (int)given.logs_dirs.count, rc = 0;

    in->into_study = !given.out_dir && !is_only_printed() && n <= 1;
    if (n == 0)
        return sources_add_study(in, given.args.dir, e);
    for (int i = 0; rc == 0 && i < noperands; i++)
        rc = sources_add(in, operands[i], &given.logs_form, e);
    for (size_t i = 0; rc == 0 && i < given.logs_dirs.count; i++)
        rc = sources_add_logs(in, given.logs_dirs.values[i], &given.logs_form, e);
    return rc;
}

/* Writes the FILE of --json. mark is the text by which an earlier document of this kind is
 * recognised, which may be replaced. */
static int write_json(const char *json, const char *mark, struct err *e)
{
    return atomicfile_check_own(given.json_file, mark, e) ||
                   atomicfile_write(given.json_file, json, strlen(json), 0666, e)
               ? -1
               : 0;
}

static int print_report_json(const struct report *r, struct err *e)
{
    char *json = json_encode_report(r);
    int rc = 0;

    if (!json)
        return err_set(e, ERR_INTERNAL, "out of memory for the report");
    if (strcmp(given.json_file, "-"))
        rc = write_json(json, JSON_REPORT_MARK, e);
    else
        fputs(json, stdout);
    free(json);
    return rc;
}

static int print_text(const struct report *r, const char *written, struct err *e)
{
    unsigned parts = (given.as_text ? REPORT_VERDICT | REPORT_NUMBERS : 0) |
                     (given.as_rules ? REPORT_RULES : 0) |
                     (given.as_paragraph ? REPORT_PARAGRAPHS : 0);
    struct text_form form = text_form_of_stdout();
    struct doc d;
    struct buf b = {0};
    char *text;

    report_document(&d, r, parts || given.proposal ? parts : REPORT_VERDICT, NULL);
    text_write(&d, &form, &b);
    doc_destroy(&d);
    buf_add(&b, b.length && (written || given.proposal) ? "\n" : "");
    if (written)
        buf_addf(&b, "The report is %s/report.html\n", written);
    if (given.proposal)
        buf_addf(&b, "The proposal is %s/proposal.tex, the same in Markdown is proposal.md\n",
                 given.proposal);
    text = buf_steal(&b);
    if (!text)
        return err_set(e, ERR_INTERNAL, "out of memory for the report");
    fputs(text, stdout);
    free(text);
    return 0;
}

static int write_proposal(const struct sources *in, const struct report *r, struct err *e)
{
    struct proposal_request decoded[CLI_LIST_MAX];
    struct proposal_facts facts = {.flop = given.flop, .centre = given.centre, .requests = decoded};

    if (in->count == 1)
        facts.site = in->site;
    if (given.gpus_per_node)
        facts.site.gpus_per_node = (int)given.gpus_per_node;
    for (; facts.nrequests < given.requests.count; facts.nrequests++)
        if (proposal_request_decode(given.requests.values[facts.nrequests],
                                    &decoded[facts.nrequests], e))
            return -1;
    return proposal_write(r, &facts, given.proposal, e);
}

/* Notes the slow nodes that the analysis has found, unless they have a note that no run has
 * cleared. */
static void note_slow_nodes(const char *study_dir, const struct report *r)
{
    struct err ignored; /* the report is worth more than the note */

    for (size_t i = 0; i < r->nseries; i++) {
        const struct disturbance *d = &r->series[i].as->decision.disturbance;
        struct bad_nodes noted;
        bool known = false;
        if (!disturbance_is_slow(d) || bad_nodes_read(study_dir, &noted, &ignored))
            continue;
        for (size_t k = 0; k < noted.count; k++)
            known |= strcmp(noted.nodes[k].name, d->node) == 0;
        if (!known)
            bad_nodes_note(study_dir, d->node, "slow (report)", &ignored);
        bad_nodes_destroy(&noted);
    }
}

/* Writes study.yaml with the settings of the runs that the verdict chooses. */
static int write_best(const struct sources *in, const struct report *r, struct err *e)
{
    const struct decision *d = r->nseries == 1 ? &r->series[0].as->decision : NULL;
    struct plan_args args = {.dir = in->site.study_dir};
    struct buf text = {0};
    struct workspace w;
    struct study study;
    bool ignored;

    if (in->count == 1 && !*in->site.study_dir)
        return err_set(e, ERR_USAGE, "report: --best: a folder of logs has no study.yaml");
    if (in->count != 1 || !d)
        return err_set(e, ERR_USAGE, "report: --best needs one study with one series, and %zu with %zu "
                       "are given", in->count, r->nseries);
    if (!d->use || !d->decided)
        return err_set(e, ERR_STATS, "report: --best: no number of GPUs is chosen: %s",
                       r->series[0].words.headline);
    int rc = workspace_open(&w, &args, e);
    if (rc == 0)
        rc = run_settings_open(&w.plan, d->use->rows[0].run, &study, &ignored, e);
    if (rc >= 0) {
        rc = begin_continue(&study, d->use->gpus, &text, e);
        study_close(&study);
    }
    if (rc == 0)
        rc = text.failed ? mem_fail(e)
                         : atomicfile_write_new(given.best, text.data, text.length, 0666, e);
    buf_destroy(&text);
    workspace_close(&w);
    return rc;
}

static int write_report(const struct sources *in, const struct report *r, struct err *e)
{
    bool json_on_stdout = given.json_file && strcmp(given.json_file, "-") == 0;
    char out[PATH_MAX];
    const char *folder = given.out_dir ? given.out_dir
                         : is_only_printed() ? NULL : sources_folder(in, out);

    if ((folder && report_write_folder(r, folder, e)) ||
        (given.proposal && write_proposal(in, r, e)) || (given.best && write_best(in, r, e)))
        return -1;
    if (in->into_study && *in->site.study_dir)
        note_slow_nodes(in->site.study_dir, r);
    if (given.json_file && print_report_json(r, e))
        return -1;
    return json_on_stdout ? 0 : print_text(r, folder, e);
}

#define MAX_LEVELS 32

/* Decodes --reach, ascending numbers above 0 and up to 1. Returns their count, 0 without --reach,
 * or -1. */
static int decode_levels(double levels[MAX_LEVELS], struct err *e)
{
    const char *at = given.reach;
    int n = 0;

    while (at && n < MAX_LEVELS) {
        char *end;
        levels[n] = strtod(at, &end);
        if (end == at || (*end && *end != ',') || !isfinite(levels[n]) ||
            (n && levels[n] <= levels[n - 1]))
            return err_set(e, ERR_USAGE, "report: --reach %s: must be ascending numbers, such "
                                         "as 0.5,0.75,0.8", given.reach);
        n++;
        at = *end ? end + 1 : NULL;
    }
    return at ? err_set(e, ERR_USAGE,
                        "report: --reach: more than %d numbers are given", MAX_LEVELS) : n;
}

static int decode_network(const struct sources *in, struct prediction_network *n, struct err *e)
{
    const char *links = given.links, *comma = links ? strchr(links, ',') : NULL;
    char within[24];

    *n = (struct prediction_network){.gpus_per_node = (int)given.gpus_per_node,
                                     .parameters = (double)given.parameters,
                                     .sums = (int)given.norm_sums};
    if (!links)
        return in->count > 1 ? 0 : set_measured(in->site.study_dir, n, e);
    if (!comma || comma - links >= (ptrdiff_t)sizeof within)
        return err_set(e, ERR_USAGE, "report: --links %s: must be two links, within and between "
                       "nodes, such as nvlink2,ib-edr", links);
    snprintf(within, sizeof within, "%.*s", (int)(comma - links), links);
    return prediction_link_decode(within, &n->within, e) ||
                   prediction_link_decode(comma + 1, &n->between, e)
               ? err_prefix(e, "report: --links")
               : 0;
}

static int predict_series(const struct analysis_source *source, const struct series *s,
                          const struct prediction_network *network, const struct range *gpus,
                          struct doc *d, json_t *list, struct err *e)
{
    struct prediction p;
    char label[sizeof s->name + sizeof source->title + 8];

    if (prediction_compute(&p, s, network, gpus->values, gpus->count, e))
        return err_prefix(e, "report: --predict: %s", source->title);
    snprintf(label, sizeof label, "%s of %s", s->name, source->title);
    report_add_prediction(d, &p, label);
    json_array_append_new(list, json_encode_prediction(&p, label));
    prediction_destroy(&p);
    return 0;
}

static int predict_source(const struct analysis_source *source, const struct series_facts *facts,
                          const struct prediction_network *network, const struct range *gpus,
                          struct doc *d, json_t *list, struct err *e)
{
    struct series_list found;
    int rc = 0;

    if (series_list_compute(&found, source->title, &source->results, facts, NULL, e))
        return -1;
    for (size_t i = 0; i < found.count && rc == 0; i++)
        rc = predict_series(source, &found.items[i], network, gpus, d, list, e);
    series_list_destroy(&found);
    return rc;
}

static int print_prediction(const struct doc *d, const json_t *list, struct err *e)
{
    bool json_on_stdout = given.json_file && strcmp(given.json_file, "-") == 0;
    char *json = json_dumps(list, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    struct text_form form = text_form_of_stdout();
    struct buf text = {0};

    text_write(d, &form, &text);
    int rc = text.failed || !json ? err_set(e, ERR_INTERNAL,
                                            "out of memory for the prediction") : 0;
    if (rc == 0 && given.json_file && !json_on_stdout)
        rc = write_json(json, "\"label\"", e);
    if (rc == 0)
        printf("%s\n", json_on_stdout ? json : text.data);
    buf_destroy(&text);
    free(json);
    return rc;
}

/* Prints a prediction, for which, unlike for a report, one measured number of GPUs is enough. */
static int run_prediction(const struct sources *in, const struct series_facts *facts, struct err *e)
{
    struct prediction_network network;
    struct doc d;
    json_t *list;
    struct range gpus;
    int rc = 0;

    if (decode_network(in, &network, e))
        return -1;
    if (range_decode(given.predict, 1, SETTINGS_GPUS_MAX, &gpus, e))
        return err_prefix(e, "report: --predict");
    doc_init(&d);
    list = json_array();
    rc = analysis_check_base(in->list, in->count, facts->base, e);
    for (size_t i = 0; i < in->count && rc == 0; i++)
        rc = predict_source(&in->list[i], facts, &network, &gpus, &d, list, e);
    if (rc == 0)
        rc = print_prediction(&d, list, e);
    doc_destroy(&d);
    json_decref(list);
    range_destroy(&gpus);
    return rc;
}

static int cmd_report_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct sources in = SOURCES_INIT;
    double levels[MAX_LEVELS];
    struct report report;
    int rc = -1, nlevels = decode_levels(levels, e);

    if (nlevels < 0)
        return -1;
    given.analysis.facts.base = (int)given.base;
    given.analysis.levels = levels;
    given.analysis.nlevels = (size_t)nlevels;
    if (((given.requests.count || given.centre) && !given.proposal) ||
        (given.proposal && given.predict))
        return err_set(e, ERR_USAGE,
                       given.proposal ? "report: --proposal has predictions of its own: type "
                       "it without --predict" : "report: --request and --for need --proposal DIR");
    if (given.centre && centre_check(given.centre, e))
        return -1;
    if (given.args.dir && (noperands || given.logs_dirs.count))
        return err_set(e, ERR_USAGE,
                       "report: -C names one study; for several, type 'unetctl report A B'");
    if (log_form_decode(&given.form_args, &given.logs_form, e) ||
        read_sources(&in, noperands, operands, e)) {
        sources_destroy(&in);
        return -1;
    }
    sources_apply(&in, &given.analysis);
    if (given.predict) {
        rc = run_prediction(&in, &given.analysis.facts, e);
    } else if (report_create(&report, in.list, in.count, &given.analysis, e) == 0) {
        rc = write_report(&in, &report, e);
        report_destroy(&report);
    }
    sources_destroy(&in);
    return rc;
}

const struct cli_command cmd_report = {
    .name = "report",
    .args = "[STUDY|DIR]...",
    .summary = "report speed-up, efficiency, quality, and how many GPUs are worth it",
    .details =
        "Collects the study, then writes STUDY/report: report.html (a self-contained page),\n"
        "report.md, report.json, tables.tex, results.csv, input for Extra-P, and figures/ as SVG,\n"
        "CSV and, where rsvg-convert is installed, PDF and PNG. A folder with a study.yaml is a\n"
        "study; others are read from results.csv, or from logs of N GPUs, log_N.csv or\n"
        "log_ENGINE_N.csv, also .json, .jsonl, .txt, .log, .tfevents. --column time=NAME names a\n"
        "column, --column pattern='(?<time>...)' reads lines. Several sources are compared, with\n"
        "tests of their differences. --text, --rules, --paragraph and --json - write no folder,\n"
        "unless -o names one. Only a report that goes into STUDY/report changes the study.\n"
        "The verdict comes first: the fastest number of GPUs that is shown to have an efficiency\n"
        "of 0.80 (report.efficiency) and to hold its quality within 0.01 (quality.margin), or what\n"
        "is undecided, and the runs that would decide.\n"
        "--predict 2..14:2 prints low, expected and high times for numbers of GPUs that were not\n"
        "run, from the measured times; where batch, parameters and links are known, one measured\n"
        "number is enough. Links are those that doctor --bandwidth has measured, or published\n"
        "figures (nvlink1..4, pcie3..5, opa100, ib-fdr, -edr, -hdr, -ndr, eth10, eth25, eth100).\n"
        "--proposal DIR writes the scaling section of an application for computing time into a\n"
        "new folder, with blanks, ____, for what is unknown. --for csc, gcs, idris, nersc,\n"
        "eurohpc, archer2, nhr or incite begins with what that centre asks (doc/PROPOSAL.md).\n"
        "Exit code: 0; 7 if no run has a result; 8 if there are not two numbers of GPUs to\n"
        "compare, or no base case. Runs without a result are listed in the report and excluded\n"
        "from its numbers.\n"
        "Example: unetctl report -C demo --text\n",
    .options = options,
    .max_operands = -1,
    .run = cmd_report_run,
};
