/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/collect.h"

#include <dirent.h>

#include "launcher/collect/collect_internal.h"
#include "launcher/host/path.h"
#include "launcher/status/status.h"
#include "launcher/study/plan.h"
#include "src/atomicfile.h"
#include "src/cluster/range.h"
#include "src/files.h"
#include "src/parallel.h"

struct scan {
    scan_f *read;
    const void *arg;
    struct dirent **entries;
    struct result *rows;
};

static int scan_entry(void *arg, size_t i, struct err *e)
{
    const struct scan *s = arg;

    result_init(&s->rows[i]);
    s->read(s->arg, s->entries[i]->d_name, &s->rows[i]);
    return 0;
}

int scan_folder(struct results *table, const char *dir, scan_f *read, const void *arg,
                struct err *e)
{
    struct scan scan = {.read = read, .arg = arg};
    int n = files_scan(dir, &scan.entries, files_are_shown, alphasort);

    if (n < 0)
        return err_errno(e, ERR_DATA, errno, "can't read the folder %s", dir);
    scan.rows = mem_zero((size_t)n, sizeof *scan.rows, e);
    int rc = scan.rows ? parallel_many((size_t)n, scan_entry, &scan, e) : -1;
    *table = (struct results){.rows = scan.rows, .capacity = (size_t)n};
    for (int i = 0; i < n; i++) {
        if (rc == 0 && *scan.rows[i].run)
            table->rows[table->count++] = scan.rows[i];
        else if (scan.rows)
            result_destroy(&scan.rows[i]);
        free(scan.entries[i]);
    }
    free(scan.entries);
    return rc;
}

/* ---- runs without a marker ---- */

/* Sets the state, and the note to "WHAT: REASON", or to WHAT if there is no reason. */
static void set_unfinished_state(struct result *r, enum result_state state, const char *what,
                                 const char *reason)
{
    char note[sizeof r->note];

    snprintf(note, sizeof note, "%s%s%.400s", what, *reason ? ": " : "", reason);
    r->state = state;
    result_set_text(r->note, sizeof r->note, note);
}

void unfinished_decide(struct result *r, const struct run_status *status)
{
    const char *reason = status->reason;
    char what[64];

    if (status->phase == RUN_ACTIVE && status->state == STATE_PENDING) {
        set_unfinished_state(r, RESULT_PENDING, "its job is waiting", reason);
    } else if (status->phase == RUN_ACTIVE) {
        set_unfinished_state(r, RESULT_RUNNING,
                             status->state == STATE_ENDED    ? "its job has ended"
                             : status->state == STATE_UNSEEN ? "its job is not seen"
                                                             : "its job is running", reason);
    } else if (status->phase == RUN_PLANNED) {
        set_unfinished_state(r, RESULT_NOT_STARTED, "generated, but never started", reason);
    } else if (status->phase == RUN_GOOD) {
        set_unfinished_state(r, RESULT_RUNNING, "it finished just now: collect again", "");
    } else if (status->phase == RUN_UNKNOWN || *status->damage) { /* of the plan, not of the job */
        set_unfinished_state(r, RESULT_UNFINISHED, "neither DONE nor FAILED",
                             status->phase == RUN_BAD && *status->damage ? status->damage : reason);
    } else if (status->state == STATE_CANCELLED) {
        set_unfinished_state(r, RESULT_CANCELLED, "its job was cancelled", reason);
    } else {
        snprintf(what, sizeof what, "its job ended as %s", state_name(status->state));
        set_unfinished_state(r, RESULT_KILLED, what, reason);
    }
}

/* Sets the state of each RESULT_UNFINISHED row. The scheduler is queried only if there is such a
 * row; if it is unreachable, rows stay unfinished with a note. */
static void unfinished_resolve(struct workspace *w, struct results *table)
{
    struct status_list list;
    struct err e;

    if (results_count(table, RESULT_UNFINISHED) == 0 || status_list_collect(w, &list, &e))
        return;
    for (size_t i = 0; i < table->count; i++)
        for (size_t k = 0; k < list.count; k++)
            if (table->rows[i].state == RESULT_UNFINISHED &&
                strcmp(table->rows[i].run, list.runs[k].run.id) == 0) {
                unfinished_decide(&table->rows[i], &list.runs[k]);
                break;
            }
    status_list_destroy(&list);
}

/* ---- studies ---- */

#define MAX_LOG (64 << 20)
#define MAX_WANTED 100000

/* The runs of one label (plan_label), such as of a variant. */
struct wanted_label {
    char text[RUN_LABEL_SIZE], engine[sizeof ((struct result *)0)->engine];
};

/* The runs that the study asks for: labels x gpus x the seeds 1..nseeds, at most MAX_WANTED in all.
 * One that is submitted in rounds asks for none. */
struct wanted_runs {
    struct wanted_label *labels;
    size_t nlabels, capacity;
    const int *gpus;
    size_t ngpus;
    long nseeds;
};

static void read_run(const void *arg, const char *name, struct result *r)
{
    const struct study *study = arg;
    struct log_form form = run_log_form(study);
    struct err why; /* ignored: the row's note says it */
    char dir[PATH_MAX];

    path_format(dir, "%s/runs/%s", study->dir, name);
    if (!path_has_file(dir, "run.json") && !path_has_file(dir, "attempt-1"))
        return; /* it belongs to no run; without a name the row is left out */
    result_set_text(r->run, sizeof r->run, name);
    run_folder_read(study->dir, name, &form, r, &why);
}

/* Makes the models of GPUs a setting of the runs of programs, where not all ran on the same, so
 * that each is a series of its own. The embedded engine's runs always have it. */
static int split_models(struct results *table, struct err *e)
{
    const char *first = NULL;
    bool differ = false;

    for (size_t i = 0; i < table->count; i++) {
        const struct result *r = &table->rows[i];
        if (strcmp(r->engine, "embedded") == 0 || !*r->device)
            continue;
        first = first ? first : r->device;
        differ |= strcmp(first, r->device) != 0;
    }
    for (size_t i = 0; differ && i < table->count; i++) {
        struct result *r = &table->rows[i];
        struct buf b = {0};
        if (strcmp(r->engine, "embedded") == 0 || !*r->device || !r->settings)
            continue;
        buf_add(&b, r->settings);
        settings_add(&b, "device", r->device);
        if (b.failed) {
            buf_destroy(&b);
            return mem_fail(e);
        }
        free(r->settings);
        r->settings = buf_steal(&b);
    }
    return 0;
}

static int scan_runs(const struct study *study, struct results *table, struct err *e)
{
    char dir[PATH_MAX];

    path_format(dir, "%s/runs", study->dir);
    if (access(dir, F_OK) && errno == ENOENT)
        return 0;
    return scan_folder(table, dir, read_run, study, e) ? -1 : split_models(table, e);
}

/* Adds the names of the runs in table to dst, and if it is given that they all have one label,
 * their plans as GPUS/SEED. */
static int index_runs(const struct results *table, bool one_label, struct map *dst, struct err *e)
{
    char plan[64];

    for (size_t i = 0; i < table->count; i++) {
        const struct result *r = &table->rows[i];
        snprintf(plan, sizeof plan, "%d/%ld", r->gpus, r->seed);
        if (map_set(dst, r->run, i) || (one_label && map_set(dst, plan, i)))
            return mem_fail(e);
    }
    return 0;
}

/* Adds a row for each wanted run of a label that is not in known. A run is known by its name or, if
 * only one label is wanted, by its plan, as with another engine. */
static int list_missing(const struct wanted_runs *wanted, const struct wanted_label *label,
                        const struct map *known, struct results *dst, struct err *e)
{
    char plan[64];

    for (size_t i = 0; i < wanted->ngpus; i++)
        for (long seed = 1; seed <= wanted->nseeds; seed++) {
            struct result r;
            result_init(&r);
            r.gpus = wanted->gpus[i];
            r.seed = seed;
            r.state = RESULT_MISSING;
            snprintf(r.run, sizeof r.run, RUN_ID_FORMAT, label->text, r.gpus, seed);
            snprintf(plan, sizeof plan, "%d/%ld", r.gpus, seed);
            if (map_get(known, plan, NULL) || map_get(known, r.run, NULL))
                continue;
            result_set_text(r.engine, sizeof r.engine, label->engine);
            result_set_text(r.note, sizeof r.note,
                            "study.yaml asks for it, but it was never submitted");
            if (results_add(dst, &r, e))
                return -1;
        }
    return 0;
}

size_t collect_label_size(const struct result *r)
{
    char tail[64];
    size_t n = strlen(r->run),
           ntail = (size_t)snprintf(tail, sizeof tail, RUN_ID_FORMAT, "", r->gpus, r->seed);

    return n > ntail && strcmp(r->run + n - ntail, tail) == 0 ? n - ntail : n;
}

static int add_label(struct wanted_runs *wanted, const char *text, size_t n, const char *engine,
                     struct err *e)
{
    for (size_t i = 0; i < wanted->nlabels; i++)
        if (strlen(wanted->labels[i].text) == n && memcmp(wanted->labels[i].text, text, n) == 0)
            return 0;
    if (mem_grow(&wanted->labels, wanted->nlabels, &wanted->capacity, sizeof *wanted->labels, e))
        return -1;
    struct wanted_label *label = &wanted->labels[wanted->nlabels++];
    result_set_text(label->engine, sizeof label->engine, engine);
    snprintf(label->text, sizeof label->text, "%.*s", (int)n, text);
    return 0;
}

/* Lists the labels of the study's variants, or its own. If no run whose plan can be read has one of
 * them, as after --vary, those that such runs have are listed instead. */
static int list_labels(const struct plan *p, const struct results *table, struct wanted_runs *dst,
                       struct err *e)
{
    char label[RUN_LABEL_SIZE];
    bool some = true;
    int rc = 0;

    for (size_t k = 0; k < table->count; k++)
        some &= !table->rows[k].gpus;
    for (size_t i = 0; rc == 0 && i < (p->nvariants ? p->nvariants : 1); i++) {
        const struct study *s = p->nvariants ? &p->variants[i].study : &p->study;
        const struct engine *engine = engine_find(s->engine, e);
        if (!engine)
            return -1;
        plan_label(s, engine, label);
        rc = add_label(dst, label, strlen(label),
                       p->nvariants ? engine->name : table->count ? table->rows->engine : "", e);
        for (size_t k = 0; k < table->count; k++)
            some |= strlen(label) == collect_label_size(&table->rows[k]) &&
                    memcmp(table->rows[k].run, label, strlen(label)) == 0;
    }
    dst->nlabels = some ? dst->nlabels : 0;
    for (size_t k = 0; rc == 0 && !some && k < table->count; k++)
        if (table->rows[k].gpus)
            rc = add_label(dst, table->rows[k].run, collect_label_size(&table->rows[k]),
                           table->rows[k].engine, e);
    return rc;
}

static int add_missing(const struct workspace *w, struct results *table, struct err *e)
{
    struct wanted_runs wanted = {
        .nseeds = path_has_file(w->ledger.dir, "rounds.json") ? 0
                      : plan_seeds(&w->plan.study)};
    struct map known = {0};
    struct range counts;

    if (range_decode(w->plan.study.gpus, 1, SETTINGS_GPUS_MAX, &counts, e)) {
        e->code = ERR_CONFIG;
        return err_prefix(e, "%s: gpus", w->plan.study.file);
    }
    for (size_t i = 0; i < counts.count; i++)
        if (!plan_refusal(&w->plan.study, counts.values[i]))
            counts.values[wanted.ngpus++] = counts.values[i];
    wanted.gpus = counts.values;
    int rc = list_labels(&w->plan, table, &wanted, e);
    if (rc == 0 && wanted.nseeds > MAX_WANTED / (long)(wanted.nlabels * counts.count + 1))
        rc = err_set(e, ERR_CONFIG, "%zu counts with %ld seeds each are more than %d runs",
                     wanted.nlabels * counts.count, wanted.nseeds, MAX_WANTED);
    if (rc == 0)
        rc = index_runs(table, wanted.nlabels == 1, &known, e);
    for (size_t i = 0; rc == 0 && i < wanted.nlabels; i++)
        rc = list_missing(&wanted, &wanted.labels[i], &known, table, e);
    map_destroy(&known);
    free(wanted.labels);
    range_destroy(&counts);
    return rc;
}

/* Names the copy of a run's log (log_file.h): log_4.csv, as in the reference systems, if the engine
 * is the embedded one and the run has the study's label; with another label, the label is in the
 * name, and with another engine, the engine. In the sorted table the first row of a label and
 * number of GPUs is that of its first seed, which the name leaves out. */
static void name_log(const struct results *table, size_t i, const char *label,
                     char dst[LOG_NAME_SIZE])
{
    const struct result *r = &table->rows[i];
    char own[sizeof r->run];
    size_t n = collect_label_size(r);
    bool first = true;

    for (const struct result *p = r; first && p-- > table->rows && p->gpus == r->gpus &&
                                     strcmp(p->engine, r->engine) == 0;)
        first = collect_label_size(p) != n || memcmp(p->run, r->run, n) != 0;
    snprintf(own, sizeof own, "%.*s", (int)n, r->run);
    log_name_encode(dst,
                    strcmp(own, label) != 0 ? own : r->engine,
                    r->gpus, r->seed, first);
}

/* Derives the name of the scores from that of the log: images_4.csv for log_4.csv. */
static void name_images(const char *log, char dst[LOG_NAME_SIZE])
{
    snprintf(dst, LOG_NAME_SIZE, "images_%.110s", log + strlen("log_"));
}

/* Writes the path of the log of a run's attempt, or of where log.csv would be. */
static void find_source(const struct study *study, const struct result *r, char dst[PATH_MAX])
{
    struct log_form form = run_log_form(study);
    char dir[PATH_MAX];
    struct err ignored;

    path_format(dir, "%s/runs/%s/attempt-%d", study->dir, r->run, r->attempt);
    if (strcmp(r->engine, "embedded") == 0 || path_has_file(dir, "record.jsonl") ||
        run_log_find(dir, &form, dst, &ignored))
        path_format(dst, "%s/log.csv", dir);
}

/* Names the copy of a run's log with the ending of its form; "" if it has none, as one that ended
 * at its limit may not. */
static void name_copy(const struct study *study, const struct results *table, size_t i,
                      const char *label, char dst[LOG_NAME_SIZE])
{
    char source[PATH_MAX];

    find_source(study, &table->rows[i], source);
    *dst = 0;
    if (access(source, F_OK))
        return;
    name_log(table, i, label, dst);
    log_name_set_end(dst, source);
}

static void sort_table(struct results *table)
{
    results_sort(table);
    suspects_discard_repeated(table);
    suspects_mark_copied(table);
}

/* Copies the hash of what the run executed. */
static void get_script(const struct result *r, char dst[80])
{
    const char *text = r->settings ? r->settings : "";
    struct setting_text s;

    for (*dst = 0; !*dst && settings_next(&text, &s);)
        if (s.nkey == 6 && strncmp(s.key, "script", 6) == 0)
            snprintf(dst, 80, "%.*s", (int)s.nvalue, s.value);
}

static char *read_sources(const struct study *study, const struct result *r)
{
    char path[PATH_MAX];
    struct err ignored;
    size_t size;

    path_format(path, "%s/runs/%s/attempt-%d/source.sha256", study->dir, r->run, r->attempt);
    return atomicfile_read(path, FILES_TEXT_MAX, &size, &ignored);
}

/* Adds the names of the files, after their hashes, whose lines, or whose names, `other` does not
 * have. Returns their number. */
static size_t add_changed(const char *lines, const char *other, bool by_name, struct buf *dst)
{
    size_t n = 0;

    for (const char *end; (end = strchr(lines, '\n')); lines = end + 1) {
        char line[PATH_MAX + 80];
        snprintf(line, sizeof line, "%.*s", (int)(end + 1 - lines), lines);
        char *name = line + (strlen(line) > 65 ? 65 : 0); /* with a blank before it */
        if (strstr(other, by_name ? name : line))
            continue;
        name[strcspn(name, "\n")] = 0;
        if (n++ < 3)
            buf_addf(dst, "%s%.100s", dst->length ? ", " : "", name + 1);
    }
    return n;
}

/* Notes which files of a run differ from those of the first run of its engine: they are series of
 * their own. */
static void note_sources(const struct study *study, struct results *table)
{
    const struct result *first = NULL;
    char script[80], other[80];

    for (struct result *r = table->rows; r < table->rows + table->count; r++) {
        get_script(r, script);
        if (r->state != RESULT_DONE || !*script)
            continue;
        if (!first || strcmp(first->engine, r->engine) != 0)
            first = r;
        get_script(first, other);
        char *a = strcmp(script, other) ? read_sources(study, first) : NULL;
        char *b = a ? read_sources(study, r) : NULL;
        struct buf names = {0};
        size_t n = b ? add_changed(b, a, false, &names) + add_changed(a, b, true, &names) : 0;
        if (n && !*r->note && !names.failed)
            snprintf(r->note, sizeof r->note, "%.330s%s differ%s" RESULT_NOTE_EDITED "%.100s "
                     "executed", names.data, n > 3 ? " and others" : "", n > 1 ? "" : "s", first->run);
        buf_destroy(&names);
        free(a);
        free(b);
    }
}

int collect_runs(const struct study *study, struct results *table, struct err *e)
{
    if (scan_runs(study, table, e)) {
        results_destroy(table);
        return -1;
    }
    sort_table(table);
    return 0;
}

/* Names the copies of the logs of done runs. table has all of its rows. */
static void name_copies(const struct study *study, const char *label, struct results *table)
{
    for (size_t i = 0; i < table->count; i++) {
        struct result *r = &table->rows[i];
        if (r->state != RESULT_DONE)
            continue;
        name_copy(study, table, i, label, r->log);
        if (r->scores)
            name_images(r->log, r->images_log);
    }
}

/* Adds a copy of src to the batch, unless dst already has its bytes. own: the folder of dst has an
 * earlier collect's files, so a file at dst may be replaced. */
static int copy_file(const char *src, const char *dst, bool own, struct atomicfile_batch *b,
                     struct err *e)
{
    size_t n;
    char *text = atomicfile_read(src, MAX_LOG, &n, e);
    int rc = text ? 0 : -1;

    if (rc == 0 && !atomicfile_has(dst, text, n))
        rc = (own ? 0 : atomicfile_check_new(dst, e)) ||
                     atomicfile_batch_add(b, dst, text, n, 0666, e)
                 ? -1
                 : 0;
    free(text);
    return rc;
}

/* Copies a file of a run if the run is done and has the file; otherwise removes the copy that an
 * earlier collect made. */
static int copy_or_remove(const struct study *study, const struct result *r, const char *src,
                          bool has, const char *copy, struct atomicfile_batch *b, struct err *e)
{
    char dst[PATH_MAX];

    path_format(dst, "%s/logs/%s", study->dir, copy);
    if (r->state == RESULT_DONE && has)
        return copy_file(src, dst, true, b, e);
    files_unlink(dst);
    return 0;
}

static int add_run(const struct study *study, const char *label, const struct results *table,
                   size_t i, struct atomicfile_batch *b, struct err *e)
{
    const struct result *r = &table->rows[i];
    char log[LOG_NAME_SIZE], copy[LOG_NAME_SIZE], src[PATH_MAX];
    const char *end;

    find_source(study, r, src);
    name_log(table, i, label, log);
    memcpy(copy, log, sizeof copy);
    log_name_set_end(copy, src);
    for (int k = 0; (end = log_name_end(k)); k++) { /* the log may have had another form */
        log_name_set_end(log, end);
        if (copy_or_remove(study, r, src, *r->log && strcmp(log, copy) == 0, log, b, e))
            return -1;
    }
    log_name_set_end(log, "log.csv");
    name_images(log, copy);
    path_format(src, "%s/runs/%s/attempt-%d/images.csv", study->dir, r->run, r->attempt);
    return copy_or_remove(study, r, src, r->scores != NULL, copy, b, e);
}

/* Adds the table last, when all files that it names are in the batch or unchanged. All files of the
 * batch become durable together. */
static int add_results_table(const char *dir, const struct results *table,
                             struct atomicfile_batch *b, struct err *e)
{
    char path[PATH_MAX], *text = results_encode(table);

    if (!text)
        return mem_fail(e);
    path_format(path, "%s/results.csv", dir);
    int rc = atomicfile_check_own(path, RESULTS_MARK, e) ||
                     atomicfile_batch_add(b, path, text, strlen(text), 0666, e)
                 ? -1
                 : 0;
    free(text);
    return rc;
}

/* Returns whether this is a temporary file of atomicfile, such as "results.csv.tmp-4711-0". */
static bool is_temporary(const char *name)
{
    const char *tail = strstr(name, ".csv.tmp-");
    int end = 0;

    return tail && sscanf(tail, ".csv.tmp-%*d-%*d%n", &end) == 0 && end && !tail[end];
}

/* Makes the folder, locks it for writing, and removes temporary files of a killed collect.
 * Returns 0 or -1. */
static int open_folder(const char *dir, int *lock, struct err *e)
{
    char path[PATH_MAX];
    const struct dirent *entry;

    files_own(dir);
    if (path_make_folder(dir, e) || path_lock_folder(dir, lock, e))
        return -1;
    DIR *d = files_list(dir);
    while (d && (entry = readdir(d)))
        if (is_temporary(entry->d_name) &&
            path_is_leftover(path_format(path, "%s/%s", dir, entry->d_name), *lock))
            files_unlink(path);
    if (d)
        closedir(d);
    return 0;
}

/* Commits the batch if rc is 0, otherwise removes its files; then unlocks the folder. */
static int finish_batch(struct atomicfile_batch *b, const char *dir, int lock, int rc,
                        struct err *e)
{
    if (rc == 0)
        rc = atomicfile_batch_commit(b, e);
    else
        atomicfile_batch_abort(b);
    path_unlock_folder(dir, lock);
    return rc;
}

static int write_study(const struct study *study, const char *label, const struct results *table,
                       struct err *e)
{
    struct atomicfile_batch batch = {0};
    char dir[PATH_MAX];
    int rc = 0, lock;

    if (open_folder(path_format(dir, "%s/logs", study->dir), &lock, e))
        return -1;
    for (size_t i = 0; i < table->count && rc == 0; i++)
        rc = add_run(study, label, table, i, &batch, e);
    if (rc == 0)
        rc = add_results_table(dir, table, &batch, e);
    return finish_batch(&batch, dir, lock, rc, e);
}

static int write_logs(const char *src_dir, const char *dst_dir, const struct results *table,
                      struct err *e)
{
    struct atomicfile_batch batch = {0};
    char path[PATH_MAX], src[PATH_MAX];
    int rc = 0, lock;

    if (open_folder(dst_dir, &lock, e))
        return -1;
    path_format(path, "%s/results.csv", dst_dir);
    bool own = access(path, F_OK) == 0;
    for (size_t i = 0; i < 2 * table->count && rc == 0; i++) {
        const struct result *r = &table->rows[i / 2];
        const char *name = i % 2 ? r->images_log : r->log;
        if (r->state == RESULT_DONE && *name)
            rc = copy_file(path_format(src, "%s/%s", src_dir, name),
                           path_format(path, "%s/%s", dst_dir, name), own, &batch, e);
    }
    if (rc == 0)
        rc = add_results_table(dst_dir, table, &batch, e);
    return finish_batch(&batch, dst_dir, lock, rc, e);
}

int collect_logs(const char *src_dir, const char *dst_dir, const struct log_form *form,
                 struct results *table, struct err *e)
{
    if (logs_folder_read(src_dir, form, table, e))
        return -1;
    if (write_logs(src_dir, dst_dir, table, e) == 0)
        return 0;
    results_destroy(table);
    return -1;
}

/* Removes the rows of runs without a result on a number of GPUs that is known not to run. */
static void drop_refused(const struct study *study, struct results *table)
{
    size_t n = table->count;

    table->count = 0;
    for (size_t i = 0; i < n; i++) {
        struct result *r = &table->rows[i];
        bool ended = r->state == RESULT_FAILED || r->state == RESULT_KILLED ||
                     r->state == RESULT_CANCELLED || r->state == RESULT_NOT_STARTED;
        if (ended && plan_refusal(study, r->gpus))
            result_destroy(r);
        else
            table->rows[table->count++] = *r;
    }
}

int collect_study(struct workspace *w, bool write, struct results *table, struct err *e)
{
    const struct study *study = &w->plan.study;
    const struct engine *engine = engine_find(study->engine, e);
    char label[RUN_LABEL_SIZE];
    int rc;

    if (!engine)
        return -1;
    plan_label(study, engine, label);
    if (scan_runs(study, table, e) || add_missing(w, table, e)) {
        results_destroy(table);
        return -1;
    }
    sort_table(table);
    note_sources(study, table);
    unfinished_resolve(w, table);
    drop_refused(study, table);
    name_copies(study, label, table);
    node_energy_resolve(w, table);
    rc = write ? write_study(study, label, table, e) : 0;
    if (rc)
        results_destroy(table);
    return rc;
}
