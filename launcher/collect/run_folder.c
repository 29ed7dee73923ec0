/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/collect.h"

#include <dirent.h>
#include <fnmatch.h>
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>

#include "launcher/collect/collect_internal.h"
#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "src/atomicfile.h"
#include "src/files.h"
#include "src/format/sha256.h"
#include "src/stat.h"

#define MAX_DEPTH 4 /* lightning_logs/version_0/metrics.csv */

/* What programs call their logs; the first name that is there counts. */
static const char *const names[] = {"metrics.csv", "trainer_state.json", "training_log*.txt",
                                    "*.jsonl", "*.csv", "events.out.tfevents.*", NULL};
/* Files and folders of our own, of programs' checkpoints, and of what earlier starts left. */
static const char *const others[] = {"record.jsonl", "images.csv", "checkpoint*", "restart-*",
                                     "source-*", "best", "examples", ".*", NULL};

static const char *given(const char *text)
{
    return text && *text ? text : NULL;
}

struct log_form run_log_form(const struct study *s)
{
    return (struct log_form){
        .file = given(s->log.file), .time = given(s->log.time), .step = given(s->log.step),
        .units = given(s->log.units), .quality = given(s->log.quality),
        .pattern = given(s->log.pattern), .per_step = s->work.per_step,
        .per_run = s->work.per_run, .weak = strcmp(s->work.mode, "weak") == 0,
        .unit = given(s->work.unit), .quality_name = given(s->quality.name),
        .better = s->quality.better};
}

static bool is_one_of(const char *name, const char *const *patterns)
{
    while (*patterns && fnmatch(*patterns, name, 0))
        patterns++;
    return *patterns != NULL;
}

struct search {
    const char *pattern;
    char *dst;
    size_t count; /* of files found */
};

static void search_folder(struct search *s, const char *dir, int depth)
{
    DIR *d = files_list(dir);
    char path[PATH_MAX];
    const struct dirent *entry;
    struct stat st;

    while (d && (entry = readdir(d))) {
        if (is_one_of(entry->d_name, others) ||
            lstat(path_format(path, "%s/%s", dir, entry->d_name), &st))
            continue;
        if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH) {
            search_folder(s, path, depth + 1);
        } else if (S_ISREG(st.st_mode) && fnmatch(s->pattern, entry->d_name, 0) == 0 &&
                   log_file_is_known(path, NULL)) {
            if (s->count++ == 0)
                path_format(s->dst, "%s", path);
        }
    }
    if (d)
        closedir(d);
}

static int find_output(const char *attempt_dir, char dst[PATH_MAX], struct err *e)
{
    struct run_attempt attempt = {.number = 1};

    path_format(attempt.path, "%s", attempt_dir);
    return run_dir_output(&attempt, dst, e);
}

int run_log_find(const char *attempt_dir, const struct log_form *form, char dst[PATH_MAX],
                 struct err *e)
{
    struct err ignored;
    bool stated = false;

    if (form->file) {
        path_format(dst, "%s/%s", attempt_dir, form->file);
        return path_has_file(attempt_dir, form->file)
                   ? 0
                   : err_set(e, ERR_CONFIG, "the program did not write %s (log.file is "
                             "named from $UNETCTL_ATTEMPT_DIR; a file in the folder where the "
                             "program begins is ../%s)", dst, form->file);
    }
    if (form->pattern)
        return find_output(attempt_dir, dst, e);
    path_format(dst, "%s/log.csv", attempt_dir);
    if (path_has_file(attempt_dir, "log.csv"))
        return 0;
    for (int i = 0; names[i]; i++) {
        struct search s = {.pattern = names[i], .dst = dst};
        search_folder(&s, attempt_dir, 0);
        if (s.count > 1)
            return err_set(e, ERR_CONFIG, "%s: there are %zu files like %s: say which is the log, "
                           "log.file in study.yaml", attempt_dir, s.count, names[i]);
        if (s.count == 1)
            return 0;
    }
    if (find_output(attempt_dir, dst, &ignored) == 0 && log_file_is_known(dst, &stated) && stated)
        return 0;
    return err_set(e, ERR_CONFIG, "the program did not write %s/log.csv, nor a log of another "
                   "known form; log.file or log.pattern in study.yaml says what to read",
                   attempt_dir);
}

/* ---- the result of a run ---- */

#define MAX_DOCUMENT (1 << 20)
#define EMBEDDED "embedded"
#define SCRIPT_SIZE 64 /* of the hashes of some scripts, joined by + */

/* Returns an integer within min..max, or -1. */
static long bounded_integer(const json_t *o, const char *key, long min, long max)
{
    const json_t *v = json_object_get(o, key);
    json_int_t value = json_integer_value(v);

    return json_is_integer(v) && value >= min && value <= max ? (long)value : -1;
}

/* Returns whether the run is to end at limit.steps or limit.minutes. The record of the embedded
 * trainer says so itself. */
static bool is_limited(const json_t *plan, const char *engine)
{
    const json_t *limit = json_object_get(plan, "limit");

    if (engine && strcmp(engine, EMBEDDED) == 0)
        return false;
    return json_number_value(json_object_get(limit, "steps")) > 0 ||
           json_number_value(json_object_get(limit, "minutes")) > 0;
}

/* Returns the planned epochs, 0 of a program that need not have any, or -1. */
static long planned_epochs(const json_t *plan, const char *engine)
{
    const json_t *train = json_object_get(plan, "train");

    return engine && strcmp(engine, EMBEDDED) && !json_object_get(train, "epochs")
               ? 0
               : bounded_integer(train, "epochs", 1, INT_MAX);
}

/* Returns run.json of the run, or NULL with ERR_CONFIG; r then has what could be read. */
static json_t *read_run_plan(const char *run_dir, const char *name, struct result *r, struct err *e)
{
    char path[PATH_MAX];
    bool good = false;

    path_format(path, "%s/run.json", run_dir);
    json_t *plan = jsonio_read(path, MAX_DOCUMENT, e);
    if (!plan) {
        e->code = ERR_CONFIG;
        return NULL;
    }
    const char *run = json_string_value(json_object_get(plan, "run"));
    const char *engine = json_string_value(json_object_get(plan, "engine"));
    long gpus = bounded_integer(json_object_get(plan, "layout"), "gpus", 1, 1 << 20);
    long nodes = bounded_integer(json_object_get(plan, "layout"), "nodes", 1, 1 << 20);
    r->seed = bounded_integer(plan, "seed", 0, INT_MAX);
    r->epochs = planned_epochs(plan, engine);
    r->limited = is_limited(plan, engine);
    r->asked_steps = bounded_integer(json_object_get(plan, "limit"), "steps", 0, INT_MAX);
    long batch = bounded_integer(json_object_get(plan, "train"), "batch_per_gpu", 1, 1 << 20);
    if (!run || !engine || gpus < 0 || nodes < 0 || r->seed < 0 || r->epochs < 0)
        err_set(e, ERR_CONFIG,
                "%s: run, engine, seed, layout.gpus, layout.nodes or train.epochs is missing or "
                "out of its bounds; run unetctl generate again",
                path);
    else if (strcmp(run, name))
        err_set(e, ERR_CONFIG, "%s: this is the plan of run '%.60s', not of the folder '%.60s'",
                path, run, name);
    else
        good = true;
    result_set_text(r->run, sizeof r->run, name);
    if (engine)
        result_set_text(r->engine, sizeof r->engine, engine);
    r->gpus = gpus > 0 ? (int)gpus : 0;
    r->nodes = nodes > 0 ? (int)nodes : 0;
    r->batch_per_gpu = batch > 0 ? batch : 0;
    long global = bounded_integer(json_object_get(plan, "train"), "global_batch", 1, 1 << 24);
    r->global_batch = global > 0 ? global : r->batch_per_gpu * r->gpus;
    if (good)
        return plan;
    json_decref(plan);
    return NULL;
}

static void set_result_state(struct result *r, enum result_state state, const char *note)
{
    r->state = state;
    result_set_text(r->note, sizeof r->note, note);
}

/* Discards the numbers of a run that ran on another number of GPUs than planned for some time. */
static void set_elastic(struct result *r, const char *worlds)
{
    char note[sizeof r->note], quality[32] = "";

    if (!isnan(r->quality.iou))
        snprintf(quality, sizeof quality, "; IoU %.4f", r->quality.iou);
    snprintf(note, sizeof note, "it ran with %s%s: a result, but no measurement of %d GPU%s",
             worlds, quality, r->gpus, plural(r->gpus));
    result_discard(r, RESULT_ELASTIC, note);
}

/* Returns the part of text after the study's folder: notes name files relative to it. */
static const char *from_study(const char *text, const char *study_dir)
{
    size_t n = strlen(study_dir);

    return strncmp(text, study_dir, n) == 0 && text[n] == '/' ? text + n + 1 : text;
}

/* Returns whether both are the same number, one of them rounded to six decimals. */
static bool is_same_number(double a, double b)
{
    return fabs(a - b) <= 2e-6 + 1e-6 * fabs(b);
}

/* Checks that the record belongs to the plan and has its end. */
static int check_record(const struct result *r, const struct run_record *record,
                        const char *record_path, bool resized, struct err *e)
{
    if (strcmp(record->run.run, r->run) || record->run.seed != r->seed ||
        (record->run.gpus != r->gpus && !resized))
        return err_set(e, ERR_DATA, "%s:1: this is the record of run '%.60s' (%d GPU%s, seed %ld)",
                       record_path, record->run.run, record->run.gpus, plural(record->run.gpus),
                       record->run.seed);
    if (!record->done)
        return err_set(e, ERR_DATA, "%s: it has no end line that says done", record_path);
    return 0;
}

/* Checks that the record of a whole training has its epochs, and agrees with log.csv. */
static int check_log(const struct result *r, const struct run_record *record,
                     const char *record_path, const struct result *log, const char *log_path,
                     struct err *e)
{
    size_t n = log->curve->n;

    if ((long)record->nepochs != r->epochs && r->epochs && r->limited != 1 &&
        !(record->stopped_early && (long)record->nepochs < r->epochs))
        return err_set(e, ERR_DATA, "%s: %zu epoch%s, but train.epochs asks for %ld", record_path,
                       record->nepochs, plural((long)record->nepochs), r->epochs);
    if (n != record->nepochs)
        return err_set(e, ERR_DATA, "%s:%zu: %zu epoch%s, but record.jsonl has %zu", log_path,
                       n + 1, n, plural((long)n), record->nepochs);
    for (size_t i = 0; i < n; i++)
        if (!is_same_number(log->curve->seconds[i], record->epochs[i].seconds) ||
            !is_same_number(log->curve->loss[i], record->epochs[i].loss))
            return err_set(e, ERR_DATA,
                           "%s:%zu: time or loss of epoch %zu is not that of record.jsonl",
                           log_path, i + 2, i);
    if (!is_same_number(log->quality.iou, record->run.quality.iou))
        return err_set(e, ERR_DATA, "%s:2: its IoU is %g, that of record.jsonl is %g", log_path,
                       log->quality.iou, record->run.quality.iou);
    return 0;
}

/* Compares the marker with r, and takes from it what a program's log does not say. */
static int check_done(const char *path, struct result *r, struct err *e)
{
    double measured = r->quality.iou;
    size_t n;
    char *text = atomicfile_read(path, MAX_DOCUMENT, &n, e);

    if (!text)
        return -1;
    json_t *done = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    if (jsonio_check_marker(done, e)) {
        json_decref(done);
        return err_prefix(e, "%s", path);
    }
    const json_t *iou = json_object_get(done, "iou");
    if (r->fake_gpus < 0 && json_is_true(json_object_get(done, "fake_gpus")))
        r->fake_gpus = 1;
    bool same = strcmp(jsonio_text(done, "status"), "done") == 0 &&
                (isnan(measured) || !iou || is_same_number(json_number_value(iou), measured));
    json_decref(done);
    return same ? 0 : err_set(e, ERR_DATA, "%s: it disagrees with the end of record.jsonl", path);
}

/* Returns the statistic of the member at this offset over the epochs after the first `warmup`, or
 * NaN if there is no such epoch, a value is unknown or memory ran out. */
static double steady_statistic(const struct run_record *record, size_t warmup, size_t offset,
                               double statistic(const double *values, size_t n))
{
    size_t n = record->nepochs - warmup;
    double *values = calloc(n + 1, sizeof *values), result;

    if (!values)
        return NAN;
    for (size_t i = 0; i < n; i++)
        values[i] = *(const double *)(const void *)((const char *)&record->epochs[i + warmup] +
                                                    offset);
    result = statistic(values, n);
    free(values);
    return result;
}

/* Returns the validation score after epoch i, or NaN if there was no validation. */
static double score_of(const struct run_record *record, size_t i)
{
    const struct run_epoch *epoch = &record->epochs[i];

    return result_by_accuracy(&record->run) ? epoch->val_accuracy : epoch->val_iou;
}

static struct curve *curve_of_record(const struct run_record *record, struct err *e)
{
    int columns = CURVE_UNITS;

    for (size_t i = 0; i < record->nepochs; i++)
        columns |= (isnan(score_of(record, i)) ? 0 : CURVE_SCORE) |
                   (isnan(record->epochs[i].val_loss) ? 0 : CURVE_VAL_LOSS) |
                   (isnan(record->epochs[i].train_iou) || result_by_accuracy(&record->run)
                        ? 0
                        : CURVE_TRAIN_SCORE) |
                   (isnan(record->epochs[i].grad_var) ? 0 : CURVE_GRADIENT);
    struct curve *c = curve_create(record->nepochs, columns, e);
    for (size_t i = 0; c && i < record->nepochs; i++) {
        c->seconds[i] = record->epochs[i].seconds;
        c->loss[i] = record->epochs[i].loss;
        c->units[i] = record->epochs[i].images;
        if (c->score)
            c->score[i] = score_of(record, i);
        if (c->val_loss)
            c->val_loss[i] = record->epochs[i].val_loss;
        if (c->train_score)
            c->train_score[i] = record->epochs[i].train_iou;
        if (c->grad_sq) {
            c->grad_sq[i] = record->epochs[i].grad_sq;
            c->grad_var[i] = record->epochs[i].grad_var;
        }
    }
    return c;
}

/* Sets r's measurements from the record, which was checked; what only the plan has remains. */
static int measure_run(struct result *r, const struct run_record *record, struct err *e)
{
    struct result planned = *r;

    *r = record->run;
    memcpy(r->engine, planned.engine, sizeof r->engine);
    r->gpus = planned.gpus;
    r->nodes = planned.nodes;
    r->attempt = planned.attempt;
    if (strcmp(r->engine, EMBEDDED) != 0) /* whose record says whether it ended before its limit */
        r->limited |= planned.limited;
    r->batch_per_gpu = r->batch_per_gpu ? r->batch_per_gpu : planned.batch_per_gpu;
    r->global_batch = r->global_batch ? r->global_batch : planned.global_batch;
    r->curve = curve_of_record(record, e);
    if (!r->curve)
        return -1;
    curve_measure(r->curve, r);
    if (record->run.limited == 1) /* warming up is not scaled to an epoch */
        r->first_epoch_s = r->second_epoch_s = NAN;
    size_t warmup = curve_warmup(r->curve);
    r->comm_s = steady_statistic(record, warmup, offsetof(struct run_epoch, comm_s), stat_median);
    r->data_s = steady_statistic(record, warmup, offsetof(struct run_epoch, data_s), stat_median);
    r->grad_sq = steady_statistic(record, 1, offsetof(struct run_epoch, grad_sq), stat_mean);
    r->grad_var = steady_statistic(record, 1, offsetof(struct run_epoch, grad_var), stat_mean);
    return 0;
}

/* What is known of an attempt besides its measurements. */
struct attempt {
    /* How the number of GPUs changed, in words, or "" if it did not. It is the text of struct
     * run_record.worlds. If the record has none, the text names an attempt whose run.json has
     * another number of GPUs than planned. */
    char worlds[200];
    /* the backend that computed and the number format that it chose; "": unknown */
    char backend[16], dtype[16];
    struct clock_span *starts; /* of its job, and of those whose checkpoints it continued */
    size_t nstarts, capacity, nearlier;
};

/* Reads the starts of an attempt's job, after those of the attempts whose checkpoints it continued.
 * Where one of these has not written its starts, none is known. */
static int read_starts(const char *attempt_dir, const struct result *r, struct attempt *a,
                       struct err *e)
{
    char study_dir[PATH_MAX], dir[PATH_MAX];
    int chain[64], n = 0;

    path_format(study_dir, "%s/../../..", attempt_dir);
    for (int k = r->attempt; k > 0 && n < 64; k = run_dir_checkpoint(study_dir, r->run, k - 1))
        chain[n++] = k;
    while (n-- > 0) {
        a->nearlier = a->nstarts;
        if (run_dir_starts(path_format(dir, "%s/../attempt-%d", attempt_dir, chain[n]), &a->starts,
                           &a->nstarts, &a->capacity, e))
            return -1;
        if (a->nstarts == a->nearlier) {
            a->nstarts = a->nearlier = 0;
            return 0;
        }
    }
    return 0;
}

/* Notes where the example pictures are, and reads images.csv if it exists. With its scores, counts
 * with a single run each are compared on the same images. */
static int read_attempt_scores(const char *attempt_dir, struct result *r, struct err *e)
{
    char path[PATH_MAX];

    if (path_has_file(attempt_dir, "examples/examples.csv"))
        r->examples = strdup(path_format(path, "%s/examples", attempt_dir));
    if (!path_has_file(attempt_dir, "images.csv"))
        return 0;
    r->scores = scores_read(path_format(path, "%s/images.csv", attempt_dir),
                            result_by_accuracy(r) ? "accuracy" : "iou", e);
    return r->scores ? 0 : -1;
}

/* Sets when and on which nodes the attempt of a program without a record ran, as its job wrote. */
static void set_place(const char *attempt_dir, const struct attempt *a, struct result *r)
{
    char path[PATH_MAX], line[sizeof r->hosts];
    time_t begun = a->nstarts > a->nearlier ? (time_t)a->starts[a->nearlier].begin : 0;
    struct tm t;

    if (path_read_line(path_format(path, "%s/nodes", attempt_dir), line, sizeof line))
        result_set_text(r->hosts, sizeof r->hosts, line);
    if (begun && gmtime_r(&begun, &t))
        strftime(r->started, sizeof r->started, "%Y-%m-%dT%H:%M:%SZ", &t);
}

/* Reads the attempt of an engine whose script writes no record.jsonl: all is in its log. */
static int read_log_only(const char *attempt_dir, const struct log_form *form,
                         const struct attempt *a, struct result *r, struct err *e)
{
    struct log_form own = *form;
    char path[PATH_MAX];
    long epochs = r->epochs;

    own.starts = a->starts;
    own.nstarts = a->nstarts;
    own.nearlier = a->nearlier;
    if (run_log_find(attempt_dir, form, path, e) || log_file_read(path, &own, r, e))
        return -1;
    return r->epochs == epochs || !epochs || r->stepped == 1 || r->limited == 1
               ? 0
               : err_set(e, ERR_DATA, "%s: %ld epoch%s, but train.epochs asks for %ld", path,
                         r->epochs, plural(r->epochs), epochs);
}

/* Writes to worlds which of the attempts `first` to r->attempt was the first with another number of
 * GPUs than planned, or "" if none was. */
static void find_resized(const char *attempt_dir, const struct result *r, int first,
                         char worlds[200])
{
    char path[PATH_MAX];
    struct err ignored;

    *worlds = 0;
    for (int k = first; k <= r->attempt && !*worlds; k++) {
        path_format(path, "%s/../attempt-%d/run.json", attempt_dir, k);
        json_t *own = access(path, F_OK) == 0 ? jsonio_read(path, MAX_DOCUMENT, &ignored) : NULL;
        if (own && bounded_integer(json_object_get(own, "layout"), "gpus", 1, 1 << 20) != r->gpus)
            snprintf(worlds, 200, "another number of GPUs in attempt %d", k);
        json_decref(own);
    }
}

static int read_result(const char *attempt_dir, const struct log_form *form, struct result *r,
                       struct attempt *a, struct err *e)
{
    char record_path[PATH_MAX], log_path[PATH_MAX];
    struct run_record record;
    struct result log;
    int rc = -1;

    if (read_starts(attempt_dir, r, a, e))
        return -1;
    if (strcmp(r->engine, EMBEDDED) != 0 && !path_has_file(attempt_dir, "record.jsonl")) {
        find_resized(attempt_dir, r, 1, a->worlds);
        set_place(attempt_dir, a, r);
        return read_log_only(attempt_dir, form, a, r, e);
    }
    find_resized(attempt_dir, r, r->attempt, a->worlds);
    path_format(record_path, "%s/record.jsonl", attempt_dir);
    path_format(log_path, "%s/log.csv", attempt_dir);
    if (run_record_read(record_path, &record, e))
        return -1;
    memcpy(a->backend, record.backend, sizeof a->backend);
    memcpy(a->dtype, record.dtype, sizeof a->dtype);
    if (*record.worlds)
        memcpy(a->worlds, record.worlds, sizeof a->worlds);
    result_init(&log);
    if (check_record(r, &record, record_path, *a->worlds != 0, e) == 0 &&
        (record.run.limited == 1 ||
         (log_file_read_reference(log_path, &log, e) == 0 &&
          check_log(r, &record, record_path, &log, log_path, e) == 0)))
        rc = measure_run(r, &record, e) || read_attempt_scores(attempt_dir, r, e) ? -1 : 0;
    result_destroy(&log);
    run_record_destroy(&record);
    return rc;
}

static int read_done(const char *attempt_dir, const struct log_form *form, struct result *r,
                     struct attempt *a, struct err *e)
{
    char path[PATH_MAX];

    return read_result(attempt_dir, form, r, a, e) ||
                   check_done(path_format(path, "%s/DONE", attempt_dir), r, e)
               ? -1
               : 0;
}

/* Sets the epochs and the curve of a run that is not done to those that its record, or else its
 * log, has so far; 0 and NULL if both are missing or invalid. */
static void read_so_far(const char *attempt_dir, const struct log_form *form, struct result *r)
{
    char path[PATH_MAX];
    struct run_record record;
    struct result so_far;
    struct err e;

    r->epochs = 0;
    path_format(path, "%s/record.jsonl", attempt_dir);
    if (run_record_read(path, &record, &e) == 0) {
        r->epochs = (long)record.nepochs;
        memcpy(r->quality.metric, record.run.quality.metric, sizeof r->quality.metric);
        r->curve = record.nepochs ? curve_of_record(&record, &e) : NULL;
        run_record_destroy(&record);
        return;
    }
    result_init(&so_far);
    if (strcmp(r->engine, EMBEDDED) != 0 && run_log_find(attempt_dir, form, path, &e) == 0 &&
        log_file_read(path, form, &so_far, &e) == 0) {
        r->curve = so_far.curve;
        r->stepped = so_far.stepped;
        memcpy(r->quality.metric, so_far.quality.metric, sizeof r->quality.metric);
        so_far.curve = NULL;
    }
    result_destroy(&so_far);
}

/* Reads what 'unetctl stage' wrote for rank 0: "SECONDS BYTES FOLDER" of each start. */
static void read_stage(const char *attempt_dir, struct result *r)
{
    char path[PATH_MAX];
    FILE *f = files_stream(path_format(path, "%s/stage", attempt_dir), "r", FILES_TEXT_MAX);
    double seconds, nbytes;

    while (f && fscanf(f, "%lf %lf %*[^\n]", &seconds, &nbytes) == 2)
        if (seconds >= 0 && nbytes >= 0)
            r->stage_s = seconds, r->stage_bytes = nbytes;
    if (f)
        fclose(f);
}

/* Notes that a rank sees more GPUs than the run has on the node, as run_file.sh has written. */
static void note_seen(const char *attempt_dir, struct result *r)
{
    char path[PATH_MAX];
    int seen, given;
    FILE *f = files_stream(path_format(path, "%s/gpus-seen", attempt_dir), "r", FILES_TEXT_MAX);

    if (f && fscanf(f, "%d %d", &seen, &given) == 2)
        snprintf(r->note, sizeof r->note, RESULT_NOTE_SEEN "%d GPUs of its node, and the run was "
                 "given %d there", seen, given);
    if (f)
        fclose(f);
}

static void read_attempt(const char *study_dir, const struct run_attempt *found,
                         const struct log_form *form, struct result *r, struct attempt *a)
{
    char note[sizeof r->note];
    struct err e;

    if (found->marker == RUN_FAILED && path_has_file(found->path, "DONE")) {
        set_result_state(r, RESULT_CORRUPT, "there are both a DONE and a FAILED marker");
    } else if (found->marker == RUN_FAILED) {
        snprintf(note, sizeof note, "exit code %d: %.450s", found->exit_code, found->error);
        set_result_state(r, RESULT_FAILED, note);
    } else if (found->marker != RUN_DONE) {
        set_result_state(r, RESULT_UNFINISHED,
                         "neither DONE nor FAILED: it is still running or was killed");
    } else if (read_done(found->path, form, r, a, &e)) {
        result_discard(r, e.code == ERR_CONFIG ? RESULT_UNREAD : RESULT_CORRUPT,
                       from_study(e.text, study_dir));
    } else if (*a->worlds) {
        set_elastic(r, a->worlds);
    } else {
        set_result_state(r, RESULT_DONE, "");
        note_seen(found->path, r);
        read_stage(found->path, r);
        run_energy_measure(study_dir, r);
        r->starts = (long)a->nstarts;
        r->job_s = a->nstarts ? 0 : NAN;
        for (size_t i = 0; i < a->nstarts; i++)
            r->job_s += a->starts[i].end - a->starts[i].begin;
    }
    if (r->state != RESULT_DONE)
        read_so_far(found->path, form, r);
}

/* Sets the device of a program's run to the models of the GPUs that were beside its ranks, each
 * once, which the sampler of energy notes in the file gpus as lines UUID,MODEL. */
static void read_models(const char *attempt_dir, struct result *r)
{
    char path[PATH_MAX], line[256];
    FILE *f = *r->device ? NULL
                         : files_stream(path_format(path, "%s/gpus", attempt_dir), "r",
                                        FILES_TEXT_MAX);
    struct buf all = {0};

    while (f && fgets(line, sizeof line, f)) {
        char *model = strchr(line, ',');
        line[strcspn(line, "\n")] = 0;
        if (model && model[1] && (!all.data || !strstr(all.data, model + 1)))
            buf_addf(&all, "%s%s", all.length ? " + " : "", model + 1);
    }
    if (f)
        fclose(f);
    if (all.data && !all.failed)
        result_set_text(r->device, sizeof r->device, all.data);
    buf_destroy(&all);
}

/* Writes the hash of what the run executed, 8 digits: that of the attempt's source.sha256, and with
 * "+" those of the attempts whose checkpoint it continued, if they differ; "" if none has one. */
static void find_script(const char *study_dir, const char *name, int attempt,
                        char dst[SCRIPT_SIZE])
{
    char path[PATH_MAX], hex[65], *text;
    struct err ignored;
    size_t size;

    *dst = 0;
    for (; attempt > 0; attempt = run_dir_checkpoint(study_dir, name, attempt - 1)) {
        path_format(path, "%s/runs/%s/attempt-%d/source.sha256", study_dir, name, attempt);
        if (!(text = atomicfile_read(path, FILES_TEXT_MAX, &size, &ignored)))
            continue;
        sha256_bytes(text, size, hex);
        free(text);
        hex[8] = 0;
        size_t n = strlen(dst);
        if (!strstr(dst, hex) && n + 10 < SCRIPT_SIZE)
            snprintf(dst + n, SCRIPT_SIZE - n, "%s%.8s", n ? "+" : "", hex);
    }
}

int run_folder_read(const char *study_dir, const char *name, const struct log_form *form,
                    struct result *r, struct err *e)
{
    char run_dir[PATH_MAX];
    struct run_attempt found;
    struct attempt attempt = {0};
    char script[SCRIPT_SIZE];

    path_format(run_dir, "%s/runs/%s", study_dir, name);
    json_t *plan = read_run_plan(run_dir, name, r, e);
    if (!plan || run_dir_attempt(study_dir, name, &found, e)) {
        json_decref(plan);
        set_result_state(r, RESULT_CORRUPT, from_study(e->text, study_dir));
        r->epochs = 0;
        return -1;
    }
    r->attempt = found.number;
    if (found.number == 0) {
        set_result_state(r, RESULT_NOT_STARTED, "generated, but never started");
        r->epochs = 0;
    } else {
        read_attempt(study_dir, &found, form, r, &attempt);
        read_models(found.path, r);
    }
    find_script(study_dir, name, found.number, script);
    if (*attempt.dtype) /* train.dtype auto was resolved by the run */
        json_object_set_new(json_object_get(plan, "train"), "dtype", json_string(attempt.dtype));
    r->settings = result_settings_encode(plan, attempt.backend, r->device, script);
    free(attempt.starts);
    json_decref(plan);
    return 0;
}

int run_folder_check(const char *run_dir, int attempt, const struct log_form *form, struct err *e)
{
    const char *slash = strrchr(run_dir, '/');
    char attempt_dir[PATH_MAX];
    struct attempt a = {0};
    struct result r;

    result_init(&r);
    json_t *plan = read_run_plan(run_dir, slash ? slash + 1 : run_dir, &r, e);
    if (!plan)
        return -1;
    r.attempt = attempt;
    path_format(attempt_dir, "%s/attempt-%d", run_dir, attempt);
    int rc = read_result(attempt_dir, form, &r, &a, e);
    result_destroy(&r);
    free(a.starts);
    json_decref(plan);
    return rc;
}
