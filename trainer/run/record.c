/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/run/record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/atomicfile.h"
#include "src/buf.h"
#include "src/clock.h"
#include "src/log.h"
#include "src/run/marker.h"
#include "src/stat.h"
#include "trainer/checkpoint/snapshot.h"
#include "trainer/export/events.h"
#include "trainer/step/evaluate.h"

#define PROGRESS_S 2.0

struct record {
    pthread_mutex_t lock; /* over ended and the file */
    bool ended;
    char *dir;
    int fd;
    double last_progress;
    struct record_epoch *epochs;
    size_t nepochs, capacity;
    int classes;
    struct events *events; /* NULL: none are wanted */
};

/* What a run leaves at the top of its folder; the markers first, the folder last. */
#define CHECKPOINT "checkpoint"
static const char *const traces[] = {"DONE", "FAILED", "record.jsonl", "log.csv", "images.csv",
                                     "tensorboard", "best", CHECKPOINT};
#define NTRACES (sizeof traces / sizeof *traces)

static char *path_in(const char *dir, const char *name)
{
    struct buf b = {0};

    buf_addf(&b, "%s/%s", dir, name);
    return buf_steal(&b);
}

static bool exists_in(const char *dir, const char *name)
{
    struct stat st;
    char *path = path_in(dir, name);
    bool there = path && lstat(path, &st) == 0;

    free(path);
    return there;
}

static int move_trace(const char *dir, const char *to, const char *name, struct err *e)
{
    char *from_path = path_in(dir, name), *to_path = path_in(to, name);
    int rc = 0;

    if (!from_path || !to_path)
        rc = err_set(e, ERR_INTERNAL, "out of memory");
    else if (rename(from_path, to_path))
        rc = err_errno(e, ERR_INTERNAL, errno, "cannot move %s to %s", from_path, to_path);
    free(from_path);
    free(to_path);
    return rc;
}

/* Into the first restart-K that is not there yet. Checkpoints stay: the run goes on from them. */
static int set_aside(const char *dir, bool has_snapshot, struct err *e)
{
    char name[32], *to = NULL;
    int rc = 0;

    for (int k = 1; !to; k++) {
        snprintf(name, sizeof name, "restart-%d", k);
        to = path_in(dir, name);
        if (!to)
            return err_set(e, ERR_INTERNAL, "out of memory");
        if (mkdir(to, 0777) == 0)
            break;
        if (errno != EEXIST)
            rc = err_errno(e, ERR_INTERNAL, errno, "cannot make the folder %s", to);
        free(to);
        to = NULL;
        if (rc)
            return rc;
    }
    for (size_t i = 0; i < NTRACES && rc == 0; i++)
        if (exists_in(dir, traces[i]) && !(has_snapshot && strcmp(traces[i], CHECKPOINT) == 0))
            rc = move_trace(dir, to, traces[i], e);
    free(to);
    return rc;
}

/* Is another process writing the record at this moment? File systems without locks can't tell. */
static bool is_being_written(const char *dir)
{
    char *path = path_in(dir, "record.jsonl");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

    if (fd >= 0)
        close(fd);
    free(path);
    return locked;
}

/* Has the run whose record lies in dir got any further than its first steps? */
static bool has_trained(const char *dir)
{
    char *path = path_in(dir, "record.jsonl"), *line = NULL;
    FILE *f = path ? fopen(path, "re") : NULL;
    size_t size = 0;
    bool trained = !path || (!f && errno != ENOENT);

    while (f && !trained && getline(&line, &size, f) >= 0)
        trained = strncmp(line, "{\"kind\":\"epoch\"", 15) == 0 ||
                  strncmp(line, "{\"kind\":\"checkpoint\"", 20) == 0;
    if (f)
        fclose(f);
    free(line);
    free(path);
    return trained;
}

/* A start that failed, of a wrong setting perhaps, and left nothing but its record. */
static bool is_mere_failure(const char *dir)
{
    return exists_in(dir, "FAILED") && !exists_in(dir, "DONE") && !exists_in(dir, "log.csv") &&
           !exists_in(dir, CHECKPOINT) && !has_trained(dir);
}

/* Nothing of an earlier run may be mixed up with this one. */
static int make_room(const char *dir, bool *again, struct err *e)
{
    const char *restarts = getenv("SLURM_RESTART_COUNT"), *found = NULL;
    char *checkpoint = path_in(dir, CHECKPOINT);
    bool has_snapshot = checkpoint && snapshot_exists(checkpoint);
    bool restarted = restarts && atoi(restarts) > 0;

    free(checkpoint);
    *again = has_snapshot || exists_in(dir, "record.jsonl");
    for (size_t i = 0; i < NTRACES && !found; i++)
        if (exists_in(dir, traces[i]))
            found = traces[i];
    if (!found)
        return 0;
    if (!marker_has_start(dir) && is_being_written(dir))
        return err_set(e, ERR_CONFIG, "%s: another process is writing this run's results", dir);
    if (!restarted && is_mere_failure(dir)) {
        *again = false;
        return set_aside(dir, false, e);
    }
    if (strcmp(found, "DONE") == 0 || (strcmp(found, "FAILED") == 0 && !restarted) || !*again)
        return err_set(e, ERR_CONFIG, "%s already holds %s of an earlier run, and nothing is "
                       "overwritten; choose another folder with --out%s", dir, found,
                       has_snapshot ? " (--resume with this one continues from its checkpoint)"
                                    : ", or remove that one");
    return set_aside(dir, has_snapshot, e);
}

struct record *record_open(const char *dir, bool *again, struct err *e)
{
    struct record *r = calloc(1, sizeof *r);
    char *path = NULL;

    if (!r) {
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    r->fd = -1;
    pthread_mutex_init(&r->lock, NULL);
    if (mkdir(dir, 0777) && errno != EEXIST) {
        err_errno(e, ERR_CONFIG, errno, "cannot make the folder %s for the run's results", dir);
        goto fail;
    }
    r->dir = realpath(dir, NULL);
    if (!r->dir) {
        err_errno(e, ERR_CONFIG, errno, "%s", dir);
        goto fail;
    }
    if (marker_check(r->dir, e) || make_room(r->dir, again, e))
        goto fail;
    path = path_in(r->dir, "record.jsonl");
    r->fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (r->fd < 0) {
        err_errno(e, ERR_CONFIG, errno, "cannot write in %s", r->dir);
        goto fail;
    }
    flock(r->fd, LOCK_EX | LOCK_NB); /* is_being_written; where it can't be had, nobody asks */
    free(path);
    return r;
fail:
    free(path);
    record_close(r);
    return NULL;
}

void record_close(struct record *r)
{
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    pthread_mutex_destroy(&r->lock);
    free(r->dir);
    events_close(r->events);
    free(r->epochs);
    free(r);
}

const char *record_dir(const struct record *r)
{
    return r->dir;
}

int record_check(struct record *r, struct err *e)
{
    pthread_mutex_lock(&r->lock);
    int rc = r->ended ? 0 : marker_check(r->dir, e); /* the marker was the start's file */
    pthread_mutex_unlock(&r->lock);
    return rc;
}

static void add_string(struct buf *b, const char *key, const char *text)
{
    buf_addf(b, ",\"%s\":", key);
    buf_add_json_string(b, text);
}

static void add_int(struct buf *b, const char *key, int64_t v)
{
    buf_addf(b, ",\"%s\":%" PRId64, key, v);
}

/* JSON has no word for what is not finite. */
static void add_double(struct buf *b, const char *key, double v)
{
    if (isfinite(v))
        buf_addf(b, ",\"%s\":%.9g", key, v);
    else
        buf_addf(b, ",\"%s\":null", key);
}

/* One whole line or none: what a full disk cut off is taken back. */
static int write_line(struct record *r, struct buf *b, struct err *e)
{
    int rc = 0;

    buf_add(b, "\n");
    size_t n = b->length;
    char *line = buf_steal(b);
    if (!line)
        return err_set(e, ERR_INTERNAL, "out of memory");
    if (marker_check(r->dir, e)) {
        free(line);
        return -1;
    }
    off_t size = lseek(r->fd, 0, SEEK_END);
    errno = 0;
    ssize_t written = write(r->fd, line, n);
    if (written != (ssize_t)n) {
        int reason = written < 0 ? errno : ENOSPC;
        if (size >= 0 && written > 0 && ftruncate(r->fd, size))
            reason = errno;
        rc = err_errno(e, ERR_INTERNAL, reason, "cannot write %s/record.jsonl", r->dir);
    }
    free(line);
    return rc;
}

/* The settings of a section; first stands before the first, a comma before each other. */
static void add_section(struct buf *b, const struct settings *c, const char *section,
                        const char *first)
{
    for (const struct setting *s = settings_of_run; s->path; s++)
        if (!s->of_split && setting_is_in(s, section, strlen(section))) {
            buf_addf(b, "%s\"%s\":", first, setting_leaf(s));
            setting_format_json(s, c, b);
            first = ",";
        }
}

/* The settings, with what was made of them in this run. */
static void add_settings(struct buf *b, const struct record_run *run)
{
    struct settings c = *run->config;

    c.train.batch_per_gpu = run_config_step_batch(run->config) / c.train.accumulate;
    c.train.global_batch = (int)run_config_step_images(run->config);
    c.train.backend = run->compute->backend->name;
    c.train.comm = run->comm;
    c.train.threads = run->threads;
    add_section(b, &c, "", ",");
    add_section(b, &c, "data", ",");
    add_section(b, &c, "train", ",");
    add_section(b, &c, "augment", ",\"augment\":{");
    add_section(b, &c, "model", "},\"model\":{");
    buf_addf(b, ",\"parameters\":%zu}", run->parameters);
}

int record_run(struct record *r, const struct record_run *run, struct err *e)
{
    const struct settings *c = run->config;
    const char *job = getenv("SLURM_JOB_ID");
    char date[32];
    struct buf b = {0};

    clock_date(date);
    buf_add(&b, "{\"kind\":\"run\",\"schema\":1");
    add_settings(&b, run);
    add_string(&b, "attempt_dir", r->dir);
    add_string(&b, "started", date);
    add_string(&b, "version", run->version);
    add_string(&b, "host", run->hosts[0]);
    buf_add(&b, ",\"hosts\":[");
    for (int i = 0; i < run->ranks; i++) {
        buf_add(&b, i ? "," : "");
        buf_add_json_string(&b, run->hosts[i]);
    }
    buf_add(&b, "]");
    add_int(&b, "gpus", c->layout.gpus);
    add_int(&b, "nodes", c->layout.nodes);
    add_int(&b, "world_size", run->ranks);
    add_int(&b, "devices", c->layout.gpus);
    add_string(&b, "device", run->compute->device);
    add_string(&b, "why_cpu", run->compute->why);
    add_int(&b, "cores", run->cores);
    buf_addf(&b, ",\"oversubscribed\":%s", run->oversubscribed ? "true" : "false");
    add_string(&b, "strategy", c->layout.strategy);
    add_int(&b, "train_images", (int64_t)run->train_images);
    add_int(&b, "val_images", (int64_t)run->val_images);
    buf_add(&b, ",\"versions\":{\"compiler\":");
    buf_add_json_string(&b, run->compiler);
    add_string(&b, "mpi", run->mpi);
    buf_add(&b, "}");
    if (job)
        add_string(&b, "slurm_job", job);
    else
        buf_add(&b, ",\"slurm_job\":null");
    if (getenv("UNETCTL_RESTART_REASON"))
        add_string(&b, "restart_reason", getenv("UNETCTL_RESTART_REASON"));
    buf_add(&b, "}");
    r->last_progress = clock_now();
    r->classes = c->data.classes;
    return write_line(r, &b, e);
}

int record_progress(struct record *r, int epoch, size_t step, size_t steps, struct err *e)
{
    struct buf b = {0};
    double now = clock_now();

    if (now - r->last_progress < PROGRESS_S)
        return 0;
    r->last_progress = now;
    buf_addf(&b, "{\"kind\":\"progress\",\"epoch\":%d,\"step\":%zu,\"steps\":%zu}", epoch, step,
             steps);
    return write_line(r, &b, e);
}

int record_tensorboard(struct record *r, const char *host, struct err *e)
{
    char *dir = path_in(r->dir, "tensorboard");
    int rc = 0;

    if (!dir)
        return err_set(e, ERR_INTERNAL, "out of memory");
    if (mkdir(dir, 0777) && errno != EEXIST)
        rc = err_errno(e, ERR_INTERNAL, errno, "cannot make the folder %s", dir);
    else if (!(r->events = events_open(dir, host, e)))
        rc = -1;
    free(dir);
    return rc;
}

static int add_events(struct record *r, int64_t step, const char *const *tags, const double *values,
                      size_t n, struct err *e)
{
    for (size_t i = 0; r->events && i < n; i++)
        if (events_add(r->events, step, tags[i], values[i], e))
            return -1;
    return 0;
}

static void add_worlds(struct buf *b, const struct record_world *worlds, size_t n)
{
    buf_add(b, ",\"worlds\":[");
    for (size_t i = 0; i < n; i++)
        buf_addf(b, "%s{\"epoch\":%d,\"images\":%zu,\"gpus\":%d,\"global_batch\":%zu}",
                 i ? "," : "", worlds[i].epoch, worlds[i].images, worlds[i].gpus,
                 worlds[i].global_batch);
    buf_add(b, "]");
}

int record_resume(struct record *r, const struct record_resume *resume, struct err *e)
{
    struct buf b = {0};

    buf_add(&b, "{\"kind\":\"resume\"");
    if (resume->from)
        add_string(&b, "from", resume->from);
    else
        buf_add(&b, ",\"from\":null");
    add_int(&b, "epoch", resume->epoch);
    add_int(&b, "images", (int64_t)resume->images);
    if (resume->from)
        add_int(&b, "gpus", resume->gpus);
    if (resume->changed && *resume->changed)
        add_string(&b, "changed", resume->changed);
    if (resume->nworlds > 1)
        add_worlds(&b, resume->worlds, resume->nworlds);
    buf_add(&b, "}");
    return write_line(r, &b, e);
}

int record_buckets(struct record *r, const struct record_bucket *sizes, size_t n, size_t chosen,
                   struct err *e)
{
    struct buf b = {0};

    buf_add(&b, "{\"kind\":\"bucket\"");
    add_int(&b, "bytes", (int64_t)sizes[chosen].nbytes);
    buf_add(&b, ",\"tried\":[");
    for (size_t i = 0; i < n; i++)
        buf_addf(&b, "%s{\"bytes\":%zu,\"step_s\":%.9g}", i ? "," : "", sizes[i].nbytes,
                 sizes[i].step_s);
    buf_add(&b, "]}");
    return write_line(r, &b, e);
}

int record_checkpoint(struct record *r, int epoch, size_t images, double seconds, struct err *e)
{
    struct buf b = {0};

    buf_add(&b, "{\"kind\":\"checkpoint\"");
    add_int(&b, "epoch", epoch);
    add_int(&b, "images", (int64_t)images);
    add_double(&b, "seconds", seconds);
    buf_add(&b, "}");
    return write_line(r, &b, e);
}

int record_eval(struct record *r, int epochs, const struct record_eval *eval, struct err *e)
{
    static const char *const tags[] = {"val/iou", "val/dice", "val/precision", "val/recall",
                                       "val/accuracy", "val/loss"};
    const struct score_summary *s = &eval->summary;
    const double values[] = {s->iou, s->dice, s->precision, s->recall, s->accuracy, eval->loss};
    struct buf b = {0};

    if (add_events(r, epochs, tags, values, 6, e))
        return -1;
    if (epochs > 0 && (size_t)epochs <= r->nepochs)
        r->epochs[epochs - 1].eval = *eval;
    buf_add(&b, "{\"kind\":\"eval\"");
    add_int(&b, "epochs", epochs);
    add_double(&b, "iou", s->iou);
    add_double(&b, "dice", s->dice);
    add_double(&b, "precision", s->precision);
    add_double(&b, "recall", s->recall);
    add_double(&b, "accuracy", s->accuracy);
    add_double(&b, "loss", eval->loss);
    add_double(&b, "seconds", eval->seconds);
    buf_add(&b, "}");
    return write_line(r, &b, e);
}

static int keep_epoch(struct record *r, const struct record_epoch *epoch, struct err *e)
{
    if (r->nepochs == r->capacity) {
        size_t capacity = r->capacity ? 2 * r->capacity : 64;
        struct record_epoch *epochs = realloc(r->epochs, capacity * sizeof *epochs);
        if (!epochs)
            return err_set(e, ERR_INTERNAL, "out of memory");
        r->epochs = epochs;
        r->capacity = capacity;
    }
    r->epochs[r->nepochs++] = *epoch;
    return 0;
}

const struct record_epoch *record_epochs(const struct record *r, size_t *n)
{
    *n = r->nepochs;
    return r->epochs;
}

int record_epoch(struct record *r, const struct record_epoch *epoch, struct err *e)
{
    struct buf b = {0};

    if (keep_epoch(r, epoch, e))
        return -1;
    static const char *const tags[] = {"train/loss", "train/lr", "train/seconds",
                                       "train/images_per_s"};
    const double values[] = {epoch->loss, epoch->lr, epoch->seconds,
                             (double)epoch->images / epoch->seconds};
    if (add_events(r, (int64_t)r->nepochs, tags, values, 4, e))
        return -1;
    buf_addf(&b, "{\"kind\":\"epoch\",\"epoch\":%zu", r->nepochs - 1);
    add_double(&b, "seconds", epoch->seconds);
    add_double(&b, "loss", epoch->loss);
    if (epoch->iou > 0)
        add_double(&b, "train_iou", epoch->iou);
    add_double(&b, "lr", epoch->lr);
    add_int(&b, "images", (int64_t)epoch->images);
    add_int(&b, "steps", (int64_t)epoch->steps);
    add_double(&b, "data_s", epoch->data_s);
    add_double(&b, "compute_s", epoch->compute_s);
    add_double(&b, "comm_s", epoch->comm_s);
    add_double(&b, "wait_s", epoch->wait_s);
    if (epoch->norms.batch_local > 0) {
        add_double(&b, "grad_sq_local", epoch->norms.sq_local);
        add_double(&b, "grad_batch_local", epoch->norms.batch_local);
        add_double(&b, "grad_sq_global", epoch->norms.sq_global);
        add_double(&b, "grad_batch_global", epoch->norms.batch_global);
    }
    if (epoch->loss_scale > 0) {
        add_double(&b, "loss_scale", epoch->loss_scale);
        add_int(&b, "steps_left_out", (int64_t)epoch->left_out);
    }
    buf_add(&b, "}");
    r->last_progress = clock_now();
    return write_line(r, &b, e);
}

/* Median over the epochs after the first, which warms up; the first when it is the only one. */
static double images_per_second(const struct record *r)
{
    size_t skip = r->nepochs > 1, n = r->nepochs - skip;
    double *rates = calloc(n, sizeof *rates);
    double median = NAN;

    if (!rates)
        return median;
    for (size_t i = 0; i < n; i++)
        rates[i] = (double)r->epochs[skip + i].images / r->epochs[skip + i].seconds;
    median = stat_median(rates, n);
    free(rates);
    return median;
}

static void add_summary(struct buf *b, const struct score_summary *s, struct iou_counts c)
{
    add_double(b, "iou", s->iou);
    add_double(b, "dice", s->dice);
    add_double(b, "precision", s->precision);
    add_double(b, "recall", s->recall);
    add_int(b, "intersection", c.intersection);
    add_int(b, "union", iou_union(&c));
    add_int(b, "pred", c.pred);
    add_int(b, "truth", c.truth);
}

void record_add_score(struct buf *b, const int64_t *score, int classes, const struct dataset *names)
{
    struct score_summary s = score_summarize(score, classes);

    add_summary(b, &s, score_total(score, classes));
    add_double(b, "accuracy", s.accuracy);
    add_int(b, "pixels", score[SCORE_PIXELS]);
    struct evaluate_constant constant;
    evaluate_constant(score, classes, names, &constant);
    add_double(b, "constant", constant.quality);
    add_string(b, "constant_class", constant.name);
    if (classes == 1)
        return;
    buf_add(b, ",\"classes\":[");
    for (int i = 0; i < classes; i++) {
        s = score_summarize_class(score, i);
        buf_addf(b, "%s{\"class\":%d", i ? "," : "", i);
        add_string(b, "name", dataset_class_name(names, i));
        add_summary(b, &s, *score_class(score, i));
        buf_add(b, "}");
    }
    buf_add(b, "]");
}

/* Time to accuracy: the seconds of the epochs until the quality was reached. */
static void add_goal(const struct record *r, const struct record_end *end, struct buf *b)
{
    double seconds = 0;

    if (!end->goal || !goal_is_watched(end->goal))
        return;
    for (size_t i = 0; i < r->nepochs && i < (size_t)end->state->reached; i++)
        seconds += r->epochs[i].seconds;
    if (end->goal->metric) {
        buf_addf(b, ",\"until\":\"%s>=%.9g\"", end->goal->metric, end->goal->value);
        if (end->state->reached) {
            add_int(b, "reached_epochs", end->state->reached);
            add_double(b, "reached_s", seconds);
        } else {
            buf_add(b, ",\"reached_epochs\":null,\"reached_s\":null");
        }
    }
    add_double(b, end->goal->by_accuracy ? "best_accuracy" : "best_iou", end->state->best);
    add_int(b, "best_epochs", end->state->best_epoch);
    if (end->goal->plateau)
        add_int(b, "lr_cuts", end->state->cuts);
    buf_addf(b, ",\"stopped_early\":%s", end->state->stopped ? "true" : "false");
}

int record_kept(struct record *r, const struct goal *goal, const struct goal_state *state,
                const char sha256[65], struct err *e)
{
    struct buf b = {0};

    buf_add(&b, "{\"kind\":\"kept\"");
    add_int(&b, "epochs", state->best_epoch);
    add_double(&b, goal->by_accuracy ? "accuracy" : "iou", state->best);
    buf_addf(&b, ",\"weights_sha256\":\"%.16s\"}", sha256);
    return write_line(r, &b, e);
}

static void encode_end(struct record *r, const struct record_end *end, double training_time,
                       struct buf *b)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    buf_add(b, "{\"kind\":\"end\",\"schema\":1,\"status\":\"done\"");
    add_double(b, "training_time", training_time);
    add_double(b, "test_time", end->test_time);
    add_double(b, "startup_s", end->startup_s);
    add_string(b, "metric", end->goal && end->goal->by_accuracy ? "accuracy" : "iou");
    record_add_score(b, end->score, r->classes, end->dataset);
    add_int(b, "val_images", (int64_t)end->val_images);
    add_double(b, "images_per_s", images_per_second(r));
    add_goal(r, end, b);
    buf_addf(b, ",\"weights_sha256\":\"%.16s\"", end->weights_sha256);
    add_double(b, "peak_rss_mib", (double)usage.ru_maxrss / 1024);
    if (*end->warning)
        add_string(b, "warning", end->warning);
    buf_add(b, "}");
}

static int write_csv(struct record *r, const struct record_end *end, double training_time,
                     struct err *e)
{
    char *path = path_in(r->dir, "log.csv");
    struct epoch_row *rows = calloc(r->nepochs ? r->nepochs : 1, sizeof *rows);

    for (size_t i = 0; rows && i < r->nepochs; i++)
        rows[i] = (struct epoch_row){
            .time_per_epoch = r->epochs[i].seconds, .loss = r->epochs[i].loss,
            .lr = r->epochs[i].lr, .training_time = training_time, .test_time = end->test_time,
            .iou = score_summarize(end->score, r->classes).iou};
    int rc = path && rows ? epoch_csv_write(path, rows, r->nepochs, e)
                          : err_set(e, ERR_INTERNAL, "out of memory");
    free(rows);
    free(path);
    return rc;
}

static int write_marker(struct record *r, const char *name, struct buf *b, struct err *e)
{
    buf_add(b, "\n");
    size_t n = b->length;
    char *text = buf_steal(b);
    int rc = text ? marker_write(r->dir, name, text, n, e)
                  : err_set(e, ERR_INTERNAL, "out of memory");
    free(text);
    return rc;
}

/* The file, the line, the marker: the marker only when all before it lies on disk. */
static int write_done(struct record *r, const struct record_end *end, struct err *e)
{
    struct buf line = {0}, marker = {0};
    double training_time = 0;

    for (size_t i = 0; i < r->nepochs; i++)
        training_time += r->epochs[i].seconds;
    if (marker_check(r->dir, e) || write_csv(r, end, training_time, e))
        return -1;
    encode_end(r, end, training_time, &line);
    buf_add(&marker, line.data ? line.data : "");
    int rc = write_line(r, &line, e);
    if (rc == 0 && fsync(r->fd))
        rc = err_errno(e, ERR_INTERNAL, errno, "cannot write %s/record.jsonl", r->dir);
    if (rc == 0)
        rc = write_marker(r, "DONE", &marker, e);
    buf_destroy(&marker);
    return rc;
}

int record_done(struct record *r, const struct record_end *end, struct err *e)
{
    int rc;

    pthread_mutex_lock(&r->lock);
    if (r->ended)
        rc = err_set(e, ERR_INTERNAL, "the run was already marked as failed");
    else
        rc = write_done(r, end, e);
    if (rc == 0)
        r->ended = true;
    pthread_mutex_unlock(&r->lock);
    return rc;
}

void record_failed(struct record *r, const struct err *reason)
{
    struct buf line = {0}, marker = {0};
    struct err e;

    pthread_mutex_lock(&r->lock);
    if (!r->ended && reason->code != ERR_RESUMABLE && marker_check(r->dir, &e) == 0) {
        r->ended = true;
        buf_addf(&line, "{\"kind\":\"end\",\"status\":\"failed\",\"exit_code\":%d,\"error\":",
                 reason->code);
        buf_add_json_string(&line, reason->text);
        buf_add(&line, "}");
        buf_addf(&marker, "{\"schema\":1,\"exit_code\":%d,\"error\":", reason->code);
        buf_add_json_string(&marker, reason->text);
        buf_add(&marker, "}");
        if (write_line(r, &line, &e))
            log_warn("%s", e.text);
        if (write_marker(r, "FAILED", &marker, &e))
            log_warn("the run failed, and the marker FAILED could not be written: %s", e.text);
    }
    pthread_mutex_unlock(&r->lock);
}
