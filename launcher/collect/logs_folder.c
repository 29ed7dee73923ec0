/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/logs_folder.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/collect/log/log_file.h"
#include "launcher/collect/log/log_name.h"
#include "launcher/collect/scan.h"
#include "launcher/collect/suspects.h"
#include "launcher/host/path.h"
#include "src/map.h"
#include "src/parallel.h"
#include "src/stat.h"

/* A folder of logs, and what the user says of them. */
struct folder {
    const char *dir;
    const struct log_form *form;
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
    } else if (!r->val_images) {
        r->val_images = (long)r->scores->count;
    }
}

/* Returns whether the file itself may say on how many GPUs it ran. Only then is one read that is
 * not a table and whose name is not that of a log (log_name.h). */
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
    int rc = scan_folder(table, dir, read_log_entry, &(struct folder){dir, form}, e);

    if (rc == 0 && table->count == 0)
        return err_set(e, ERR_DATA,
                       "%s: there is no log in it, such as results.csv, or log_N.csv or "
                       "log_NAME_N_sSEED.csv of N GPUs (or .log .txt .json .jsonl .tfevents): give "
                       "the logs such names",
                       dir);
    results_sort(table);
    return rc ? rc : suspects_discard(table, e);
}

struct collected {
    const char *dir;
    const struct log_form *form;
    struct result *rows;
};

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
                {"IoU", row->iou, log->iou},
                {"quality", row->quality, log->quality},
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

/* Returns whether the row has values that no run can have. Its log may be missing. */
static bool is_impossible(const struct result *r)
{
    const double epochs[] = {r->first_epoch_s, r->second_epoch_s, r->median_epoch_s},
                 times[] = {r->training_time, r->test_time, r->startup_s, r->comm_s, r->data_s},
                 shares[] = {r->iou, r->iou_own_size, r->dice, r->accuracy};
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
    const struct collected *c = arg;
    struct result *r = &c->rows[i], log = *r;
    char path[PATH_MAX], note[128];
    struct err why;

    if (r->state == RESULT_DONE && is_impossible(r))
        result_discard(r, RESULT_CORRUPT,
                       "its row in results.csv has an impossible time or quality: collect again");
    if (r->state != RESULT_DONE || !*r->log || strchr(r->log, '/') ||
        !path_has_file(c->dir, r->log))
        return 0;
    log.training_time = log.images_per_s = NAN; /* read them again */
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

/* Reads the runs that results.csv lists. */
static int read_collected(const char *dir, const char *path, const struct log_form *form,
                          struct results *table, struct err *e)
{
    if (results_read(table, path, e))
        return -1;
    refuse_repeated_rows(table);
    if (parallel_many(table->count, read_row, &(struct collected){dir, form, table->rows}, e))
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
