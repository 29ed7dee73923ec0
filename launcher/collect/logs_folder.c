/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/collect.h"

#include <math.h>
#include <sys/stat.h>

#include "launcher/collect/collect_internal.h"
#include "launcher/host/path.h"
#include "src/parallel.h"
#include "src/stat.h"

/* Returns whether both runs have the same times and losses of epochs, training time and final
 * quality. */
static bool is_copy(const struct result *a, const struct result *b)
{
    size_t n = a->curve ? a->curve->n : 0;

    return n && b->curve && n == b->curve->n &&
           stat_are_same(result_quality(a), result_quality(b)) &&
           stat_are_same(a->training_time, b->training_time) &&
           memcmp(a->curve->seconds, b->curve->seconds, n * sizeof(double)) == 0 &&
           memcmp(a->curve->loss, b->curve->loss, n * sizeof(double)) == 0;
}

/* Returns whether the run is done, with enough epoch times to distinguish it from another. */
static bool has_times(const struct result *r)
{
    return r->state == RESULT_DONE && isfinite(r->training_time) && r->curve->n > 1;
}

/* Returns whether equal times and losses show a copy: losses are known, or some time is not a whole
 * number of milliseconds. Coarser times are equal by chance. */
static bool is_distinct(const struct curve *c)
{
    bool distinct = isfinite(c->loss[0]);

    for (size_t i = 0; i < c->n; i++)
        distinct |= fabs(1000 * c->seconds[i] - round(1000 * c->seconds[i])) > 1e-6;
    return distinct;
}

static bool is_same_case(const struct result *a, const struct result *b)
{
    return a->gpus == b->gpus && a->limited == b->limited && strcmp(a->engine, b->engine) == 0 &&
           settings_equal(a->settings, b->settings);
}

/* Returns the next good row within i..end, or end. */
static size_t next_done(const struct results *table, size_t i, size_t end)
{
    while (i < end && table->rows[i].state != RESULT_DONE)
        i++;
    return i;
}

/* The rows from first up to, but not including, end have the same engine, settings, number of GPUs
 * and seed. Of several copies one is kept; of different contents none is. */
static void discard_repeated(struct results *table, size_t first, size_t end)
{
    size_t one = next_done(table, first, end), two = next_done(table, one + 1, end);
    const struct result *kept = &table->rows[one];
    bool copies = true;
    char note[256];

    if (two >= end)
        return;
    for (size_t i = two; i < end; i = next_done(table, i + 1, end))
        copies &= is_copy(kept, &table->rows[i]);
    for (size_t i = copies ? two : one; i < end; i = next_done(table, i + 1, end)) {
        const struct result *other = &table->rows[i == one ? two : one];
        snprintf(note, sizeof note,
                 "%.80s has the same engine, settings, %d GPU%s and seed %ld: %s", other->run,
                 other->gpus, plural(other->gpus), other->seed,
                 copies ? "this is a copy" : "which of them is right is not known; keep one");
        result_discard(&table->rows[i], RESULT_CORRUPT, note);
    }
}

/* Returns the first run of the same engine whose log has units of work, or NULL. */
static const struct result *find_worked(const struct results *table, const struct result *r)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct result *other = &table->rows[i];
        if (other->state == RESULT_DONE && strcmp(other->engine, r->engine) == 0 && other->curve &&
            other->curve->units && strcmp(other->unit, "steps"))
            return other;
    }
    return NULL;
}

/* Intervals of steps compare only by the same units, which the logs of all counts must have. */
static void find_unworked(struct results *table)
{
    char note[256];

    for (size_t i = 0; i < table->count; i++) {
        struct result *r = &table->rows[i];
        bool known = r->curve && r->curve->units && strcmp(r->unit, "steps");
        const struct result *other = r->stepped == 1 && !known ? find_worked(table, r) : NULL;
        if (r->state != RESULT_DONE || !other)
            continue;
        snprintf(note, sizeof note, "units are missing: that of %.80s counts %s; name their column "
                 "in this log, --column units=NAME (log.units in study.yaml)", other->run,
                 *other->unit ? other->unit : "images");
        result_discard(r, RESULT_UNREAD, note);
    }
}

void suspects_discard_repeated(struct results *table)
{
    find_unworked(table);
    for (size_t i = 0, end; i < table->count; i = end) {
        const struct result *r = &table->rows[i];
        for (end = i + 1; end < table->count && is_same_case(r, &table->rows[end]) &&
                          table->rows[end].seed == r->seed;)
            end++;
        discard_repeated(table, i, end);
    }
}

/* Orders logs so that copies are adjacent. */
static int compare_logs(const void *a, const void *b)
{
    const struct result *x = *(const struct result *const *)a,
        *y = *(const struct result *const *)b;
    size_t n = x->curve->n, bytes = n * sizeof(double);
    int order = n < y->curve->n ? -1 : n > y->curve->n;

    if (!order)
        order = memcmp(x->curve->seconds, y->curve->seconds, bytes);
    if (!order)
        order = memcmp(x->curve->loss, y->curve->loss, bytes);
    return order ? order : x < y ? -1 : x > y;
}

/* logs[0..n) are copies of one log. If they differ only in the seed, the first is kept; if they
 * differ in the engine, the number of GPUs or the settings, none is. */
static void discard_copies(struct result **logs, size_t n)
{
    char note[256];
    bool one_case = true;

    for (size_t i = 1; i < n; i++)
        one_case &= is_same_case(logs[0], logs[i]);
    for (size_t i = one_case; i < n; i++) {
        snprintf(note, sizeof note, "it is a copy of %.80s, %s", logs[i ? 0 : 1]->run,
                 one_case ? "no other run"
                          : "and which of them has the right name is not known; keep one");
        result_discard(logs[i], RESULT_CORRUPT, note);
    }
}

/* Finds and discards copies among runs of two intervals or more (discard_copies). */
static int find_copies(struct results *table, struct err *e)
{
    struct result **logs = mem_zero(table->count, sizeof *logs, e);
    size_t n = 0;

    if (!logs)
        return -1;
    for (size_t i = 0; i < table->count; i++)
        if (has_times(&table->rows[i]) && is_distinct(table->rows[i].curve))
            logs[n++] = &table->rows[i];
    qsort(logs, n, sizeof *logs, compare_logs);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && is_copy(logs[i], logs[end]);)
            end++;
        if (end > i + 1)
            discard_copies(logs + i, end - i);
    }
    free(logs);
    return 0;
}

/* Returns the largest power of ten, at most 1, that all times are multiples of. */
static double find_step(const struct curve *c)
{
    double step = 1;

    for (size_t i = 0; i < c->n; i++)
        while (step > 1e-9 && fabs(c->seconds[i] / step - round(c->seconds[i] / step)) > 1e-6)
            step /= 10;
    return step;
}

/* Returns whether the chance that another run has the same times is small. Times scatter by 0.1 %
 * at least. */
static bool is_no_chance(const struct curve *c)
{
    double sum = 0, squares = 0, n = (double)c->n;

    for (size_t i = 0; i < c->n; i++) {
        sum += c->seconds[i];
        squares += c->seconds[i] * c->seconds[i];
    }
    double scatter = fmax(sqrt(fmax(squares / n - sum * sum / n / n, 0)), 0.001 * sum / n);
    return n * log(find_step(c) / scatter) < log(1e-6);
}

void suspects_mark_copied(struct results *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct result *first = &table->rows[i];
        if (first->state != RESULT_DONE || first->copied || !first->curve || first->curve->n < 2 ||
            !is_no_chance(first->curve))
            continue;
        for (size_t k = i + 1; k < table->count && table->rows[k].gpus == first->gpus; k++) {
            struct result *r = &table->rows[k];
            if (r->state != RESULT_DONE || !is_same_case(first, r) || !is_copy(first, r))
                continue;
            r->copied = 1;
            snprintf(r->note, sizeof r->note, "it has the times and scores of %.80s: no repetition",
                     first->run);
        }
    }
}

/* Discards a run whose last rows were cut off at the end of a line, which leaves a valid table (a
 * log that has its start-up, as MLPerf's do, has its end, too): it
 * has fewer epochs than the run `most`, and training_time exceeds the sum of its epochs by the time
 * of the missing ones, and by more than its longest epoch and 3 % of training_time. */
static void discard_if_cut(struct result *r, const struct result *most)
{
    char note[256];
    double sum = 0, longest = 0, missing = (double)(most->epochs - r->epochs);

    for (size_t i = 0; i < r->curve->n; i++) {
        sum += r->curve->seconds[i];
        longest = fmax(longest, r->curve->seconds[i]);
    }
    double left = r->training_time - sum;
    if (!isnan(r->startup_s) || !(left > 0.9 * missing * r->median_epoch_s &&
          left > longest + 0.03 * r->training_time))
        return;
    snprintf(note, sizeof note,
             "its %ld epoch%s took %.6g s of the %.6g s of the training, and %.80s has %ld: rows "
             "are missing", r->epochs, plural(r->epochs), sum, r->training_time, most->run,
             most->epochs);
    result_discard(r, RESULT_CORRUPT, note);
}

static void find_cut(struct results *table)
{
    for (size_t i = 0, end; i < table->count; i = end) {
        const struct result *most = NULL;
        for (end = i; end < table->count && !strcmp(table->rows[end].engine, table->rows[i].engine);
             end++) {
            const struct result *r = &table->rows[end];
            if (r->state == RESULT_DONE && (!most || r->epochs > most->epochs))
                most = r;
        }
        for (size_t k = i; most && k < end; k++)
            if (table->rows[k].state == RESULT_DONE && table->rows[k].epochs < most->epochs)
                discard_if_cut(&table->rows[k], most);
    }
}

/* ---- folders of logs ---- */

/* A folder of logs, what the user says of them, and the rows of its results.csv. */
struct folder {
    const char *dir;
    const struct log_form *form;
    struct result *rows;
};

/* Errors of a log may quote it. Of a link, which may lead to any file of the user, this is said
 * instead. */
static void hide_linked(const char *path, struct err *e)
{
    struct stat st;

    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && stat(path, &st) == 0 && S_ISREG(st.st_mode))
        err_set(e, e->code, "%s: it is a symbolic link to a file that cannot be read as one of "
                "results; copy the file here instead", path);
}

static void read_log(const struct folder *f, const char *name, struct result *r)
{
    char path[PATH_MAX];
    struct err e;

    if (log_file_read(path_format(path, "%s/%s", f->dir, name), f->form, r, &e)) {
        hide_linked(path, &e);
        result_discard(r, e.code == ERR_CONFIG ? RESULT_UNREAD : RESULT_CORRUPT, e.text);
    } else if (r->gpus == 0) {
        result_discard(r, RESULT_UNREAD,
                      "neither its name nor its lines say on how many GPUs it ran: call it "
                      "log_N.csv or log_ENGINE_N.csv");
    } else {
        r->state = RESULT_DONE;
        result_set_text(r->log, sizeof r->log, name);
    }
}

/* Reads the scores beside a log: images_4.csv for log_4.csv. Sets r->val_images if it is unknown.
 * Invalid scores make r corrupt. */
static void read_log_scores(const char *dir, struct result *r)
{
    char path[PATH_MAX];
    struct err e;

    if (r->state != RESULT_DONE || !*r->images_log)
        return;
    r->scores = scores_read(path_format(path, "%s/%s", dir, r->images_log),
                            result_by_accuracy(r) ? "accuracy" : "iou", &e);
    if (!r->scores) {
        hide_linked(path, &e);
        result_discard(r, RESULT_CORRUPT, e.text);
    } else if (!r->quality.val_images) {
        r->quality.val_images = (long)r->scores->count;
    }
}

/* Returns whether the file itself may say on how many GPUs it ran. Only then is one read that is
 * not a table and whose name is not that of a log (log_file.h). */
static bool states_gpus(const char *dir, const char *name)
{
    char path[PATH_MAX];
    bool stated;

    return log_file_is_known(path_format(path, "%s/%s", dir, name), &stated) && stated;
}

/* Returns whether the name is similar to a log's, such as LOG_4.CSV or log_4.csv.gz. Such a file is
 * reported, because it is not read. */
static bool is_near_log(const char *name)
{
    static const char *const packed[] = {".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zst", ".csv.zip",
                                         ".csv"};
    size_t n = strlen(name), m;

    if (strncasecmp(name, "log_", 4) != 0)
        return false;
    for (size_t i = 0; i < sizeof packed / sizeof packed[0]; i++)
        if (n > (m = strlen(packed[i])) && strcasecmp(name + n - m, packed[i]) == 0)
            return true;
    return false;
}

static bool is_log(const char *dir, const char *name, struct result *r)
{
    const char *ending = strrchr(name, '.');

    if (!log_name_ends(name) || strncmp(name, "images_", 7) == 0)
        return false;
    if (log_name_decode(name, r->engine, sizeof r->engine, &r->gpus, &r->seed))
        return true;
    r->gpus = 0;
    *r->engine = '\0';
    return strcmp(ending, ".csv") == 0 || states_gpus(dir, name);
}

static void find_scores(const char *dir, const char *name, struct result *r)
{
    char images[sizeof r->images_log];

    if (strncmp(name, "log_", 4) == 0 &&
        (size_t)snprintf(images, sizeof images, "images_%s", name + 4) < sizeof images &&
        path_has_file(dir, images))
        result_set_text(r->images_log, sizeof r->images_log, images);
    read_log_scores(dir, r);
}

static void read_log_entry(const void *arg, const char *name, struct result *r)
{
    const struct folder *f = arg;

    if (!is_log(f->dir, name, r)) {
        if (!log_name_ends(name) && is_near_log(name)) {
            result_set_text(r->run, sizeof r->run, name);
            result_discard(r, RESULT_UNREAD,
                           "not read: only names that end in .csv, .log, .txt, .json, .jsonl or "
                           ".tfevents are; unpack or rename it");
        }
        return;
    }
    snprintf(r->run, sizeof r->run, "%.*s", (int)(strrchr(name, '.') - name), name);
    read_log(f, name, r);
    find_scores(f->dir, name, r);
}

static int read_bare(const char *dir, const struct log_form *form, struct results *table,
                     struct err *e)
{
    int rc = scan_folder(table, dir, read_log_entry, &(struct folder){dir, form, NULL}, e);

    if (rc == 0 && table->count == 0)
        return err_set(e, ERR_DATA,
                       "%s: there is no log in it, such as results.csv, or log_N.csv or "
                       "log_NAME_N_sSEED.csv of N GPUs (or .log .txt .json .jsonl .tfevents): give "
                       "the logs such names",
                       dir);
    if (rc)
        return -1;
    /* logs that are valid by themselves, but cannot all be what their names say */
    results_sort(table);
    suspects_discard_repeated(table);
    find_cut(table);
    return find_copies(table, e);
}

/* Returns whether two numbers are equal to six decimals, or at least one of them is unknown. */
static bool agree_if_known(double a, double b)
{
    return isnan(a) || isnan(b) || fabs(a - b) <= 2e-6 + 1e-6 * fabs(b);
}

/* Returns the name of the first value in which a row and its log differ, or NULL. */
static const char *find_difference(const struct result *row, const struct result *log)
{
    const struct curve *c = log->curve;
    double all = stat_median(c->seconds + 1, c->n - 1); /* as tables of unetctl 0.1 have it */
    double median = agree_if_known(row->median_epoch_s, all) ? all : log->median_epoch_s;
    const struct {
        const char *what;
        double a, b;
    } values[] = {{"epochs", (double)row->epochs, (double)log->epochs},
                {"IoU", row->quality.iou, log->quality.iou},
                {"quality", row->quality.value, log->quality.value},
                {"training time", row->training_time, log->training_time},
                {"first epoch", row->first_epoch_s, log->first_epoch_s},
                {"second epoch", row->second_epoch_s, log->second_epoch_s},
                {"median epoch", row->median_epoch_s, median},
                {"final loss", row->loss, log->loss}};
    char engine[sizeof row->engine];
    long seed;
    int gpus;

    if (log_name_decode(row->log, engine, sizeof engine, &gpus, &seed) && gpus != row->gpus)
        return "number of GPUs";
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (!agree_if_known(values[i].a, values[i].b))
            return values[i].what;
    return NULL;
}

static bool is_impossible(const struct result *r)
{
    const double epochs[] = {r->first_epoch_s, r->second_epoch_s, r->median_epoch_s},
                 times[] = {r->training_time, r->test_time, r->startup_s, r->comm_s, r->data_s,
                            r->job_s, r->clock_step_s},
                 shares[] = {r->quality.iou, r->quality.iou_own_size, r->quality.dice,
                             r->quality.accuracy};
    bool bad = false;

    for (size_t i = 0; i < sizeof epochs / sizeof epochs[0]; i++)
        bad |= epochs[i] <= 0 || epochs[i] > CURVE_LONGEST_S;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        bad |= times[i] < 0 || times[i] > CURVE_LONGEST_S;
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        bad |= shares[i] < 0 || shares[i] > 1;
    return bad;
}

/* Checks a done row against its log, and adds the log's curve and the scores to it. If the log is
 * missing, the row keeps its numbers. The row becomes corrupt if its numbers are impossible, its
 * log or scores are invalid, or the log contradicts it. */
static int read_row(void *arg, size_t i, struct err *e)
{
    const struct folder *c = arg;
    struct result *r = &c->rows[i], log = *r;
    char path[PATH_MAX], note[128];
    struct err why;

    if (r->state == RESULT_DONE && is_impossible(r))
        result_discard(r, RESULT_CORRUPT,
                       "its row in results.csv has an impossible time or quality: collect again");
    if (r->state != RESULT_DONE || !*r->log || strchr(r->log, '/') || r->starts > 1 ||
        !path_has_file(c->dir, r->log)) /* of several starts, the log alone does not show them */
        return 0;
    log.training_time = log.units_per_s = NAN; /* read them again */
    if (log_file_read(path_format(path, "%s/%s", c->dir, r->log), c->form, &log, &why)) {
        hide_linked(path, &why);
        if (why.code != ERR_CONFIG) /* otherwise the study said how to read it; the row remains */
            result_discard(r, RESULT_CORRUPT, why.text);
        return 0;
    }
    const char *difference = find_difference(r, &log);
    if (difference) {
        curve_destroy(log.curve);
        snprintf(note, sizeof note, "results.csv and its log differ in the %s: collect again",
                 difference);
        result_discard(r, RESULT_CORRUPT, note);
        return 0;
    }
    r->curve = log.curve;
    if (strchr(r->images_log, '/') || !path_has_file(c->dir, r->images_log))
        *r->images_log = '\0';
    read_log_scores(c->dir, r);
    return 0;
}

/* Adds name to seen. Returns whether it is new; if memory ran out, every name is. */
static bool is_new(struct map *seen, const char *name)
{
    bool known = map_get(seen, name, NULL);

    if (!known)
        map_set(seen, name, 0);
    return !known;
}

/* Makes done rows corrupt that name a run or a log which an earlier done row has named: a duplicate
 * is not a repetition. */
static void refuse_repeated_rows(struct results *table)
{
    struct map runs = {0}, logs = {0};

    for (size_t i = 0; i < table->count; i++) {
        struct result *r = &table->rows[i];
        if (r->state != RESULT_DONE)
            continue;
        bool first = is_new(&runs, r->run), own = !*r->log || is_new(&logs, r->log);
        if (!first || !own)
            result_discard(r, RESULT_CORRUPT,
                           first ? "results.csv names its log twice"
                                 : "results.csv has this run twice");
    }
    map_destroy(&runs);
    map_destroy(&logs);
}

static int read_collected(const char *dir, const char *path, const struct log_form *form,
                          struct results *table, struct err *e)
{
    if (results_read(table, path, e))
        return -1;
    refuse_repeated_rows(table);
    if (parallel_many(table->count, read_row, &(struct folder){dir, form, table->rows}, e))
        return -1;
    results_sort(table);
    suspects_discard_repeated(table);
    return 0;
}

int logs_folder_read(const char *dir, const struct log_form *form, struct results *table,
                     struct err *e)
{
    char path[PATH_MAX];

    path_format(path, "%s/results.csv", dir);
    if (access(path, F_OK) == 0 ? read_collected(dir, path, form, table, e)
                                : read_bare(dir, form, table, e)) {
        results_destroy(table);
        hide_linked(path, e);
        return -1;
    }
    return 0;
}
