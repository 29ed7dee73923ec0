/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines are appended with one write each, and markers are written last (marker.h). The folder is
 * checked before each line and marker, as a later start of the job may own it. */
#include "config.h"
#include "trainer/run/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
#include "src/mem.h"
#include "src/run/marker.h"
#include "src/stat.h"
#include "trainer/checkpoint/snapshot.h"
#include "trainer/export/events.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/run/software.h"

#define PROGRESS_S 2.0

struct record {
    pthread_mutex_t lock; /* protects ended and the file's last line */
    bool ended;
    char *dir;
    int fd;
    double last_progress;
    struct record_epoch *epochs;
    size_t nepochs, capacity;
    int classes;
    struct events *events; /* for TensorBoard, or NULL */
};

/* The results of a start in its folder, except train.trace's file, which the next start overwrites:
 * the markers first, the checkpoint last. */
#define CHECKPOINT "checkpoint"
static const char *const products[] = {"DONE", "FAILED", "record.jsonl", "log.csv", "images.csv",
                                       "tensorboard", "best", CHECKPOINT};
#define NPRODUCTS (sizeof products / sizeof *products)

static char *path_in(const char *dir, const char *name)
{
    struct err ignored;

    return mem_textf(&ignored, "%s/%s", dir, name);
}

static bool exists_in(const char *dir, const char *name)
{
    struct stat st;
    char *path = path_in(dir, name);
    bool there = path && lstat(path, &st) == 0;

    free(path);
    return there;
}

static int move_product(const char *dir, const char *to, const char *name, struct err *e)
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

/* Whether name is that of a product whose writer was killed. */
static bool is_unfinished(const char *name)
{
    for (size_t i = 0; i < NPRODUCTS; i++) {
        size_t n = strlen(products[i]);
        if (strncmp(name, products[i], n) == 0 && strncmp(name + n, ".tmp-", 5) == 0)
            return true;
    }
    return false;
}

static void remove_unfinished(const char *dir)
{
    DIR *d = opendir(dir);

    for (const struct dirent *entry; d && (entry = readdir(d)) != NULL;)
        if (is_unfinished(entry->d_name))
            unlinkat(dirfd(d), entry->d_name, 0);
    if (d)
        closedir(d);
}

/* Moves the products to the first restart-K that does not exist yet. Checkpoints stay if the run
 * can continue from one. */
static int archive_start(const char *dir, bool has_snapshot, struct err *e)
{
    char to[PATH_MAX];
    int rc = 0, k = 1;

    do
        snprintf(to, sizeof to, "%s/restart-%d", dir, k++);
    while (mkdir(to, 0777) && errno == EEXIST);
    if (access(to, F_OK))
        return err_errno(e, ERR_INTERNAL, errno, "cannot make the folder %s", to);
    for (size_t i = 0; i < NPRODUCTS && rc == 0; i++)
        if (exists_in(dir, products[i]) && !(has_snapshot && strcmp(products[i], CHECKPOINT) == 0))
            rc = move_product(dir, to, products[i], e);
    return rc;
}

/* Returns whether another process holds the lock of the record; false on file systems without
 * locks. */
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

/* Returns whether the record in dir has an epoch or a checkpoint, or cannot be read. */
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

/* Returns whether the start in dir failed before its first epoch or checkpoint, for example by a
 * wrong setting. */
static bool has_only_failed(const char *dir)
{
    return exists_in(dir, "FAILED") && !exists_in(dir, "DONE") && !exists_in(dir, "log.csv") &&
           !exists_in(dir, CHECKPOINT) && !has_trained(dir);
}

/* Refuses or archives the products of an earlier start. Sets *again as record_open. */
static int clear_folder(const char *dir, bool *again, struct err *e)
{
    const char *restarts = getenv("SLURM_RESTART_COUNT"), *found = NULL;
    char *checkpoint = path_in(dir, CHECKPOINT);
    bool has_snapshot = checkpoint && snapshot_exists(checkpoint);
    bool restarted = restarts && atoi(restarts) > 0;

    free(checkpoint);
    *again = has_snapshot || exists_in(dir, "record.jsonl");
    for (size_t i = 0; i < NPRODUCTS && !found; i++)
        if (exists_in(dir, products[i]))
            found = products[i];
    if (!found)
        return 0;
    if (!marker_has_start(dir) && is_being_written(dir))
        return err_set(e, ERR_CONFIG, "%s: another process is writing this run's results", dir);
    if (!restarted && has_only_failed(dir)) {
        *again = false;
        return archive_start(dir, false, e);
    }
    if (strcmp(found, "DONE") == 0 || (strcmp(found, "FAILED") == 0 && !restarted) || !*again)
        return err_set(e, ERR_CONFIG, "%s already holds %s of an earlier run, which is not "
                       "overwritten; choose another folder with --out%s", dir, found,
                       has_snapshot ? " (--resume with this one continues from its checkpoint)"
                                    : ", or remove that one");
    remove_unfinished(dir);
    return archive_start(dir, has_snapshot, e);
}

struct record *record_open(const char *dir, bool *again, struct err *e)
{
    struct record *r = mem_zero(1, sizeof *r, e);
    char *path = NULL;

    if (!r)
        return NULL;
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
    if (marker_check(r->dir, e) || clear_folder(r->dir, again, e))
        goto fail;
    path = path_in(r->dir, "record.jsonl");
    r->fd = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (r->fd < 0) {
        err_errno(e, ERR_CONFIG, errno, "cannot write in %s", r->dir);
        goto fail;
    }
    flock(r->fd, LOCK_EX | LOCK_NB); /* is_being_written tests this lock */
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
    int rc = r->ended ? 0 : marker_check(r->dir, e); /* a final marker replaces the start's file */
    pthread_mutex_unlock(&r->lock);
    return rc;
}

/* Completes the JSON object and writes it as a line. A line that a full disk cuts short is removed
 * from the file. */
static int write_line(struct record *r, struct buf *b, struct err *e)
{
    int rc = 0;

    buf_add(b, "}\n");
    size_t n = b->length;
    char *line = buf_steal(b);
    if (!line)
        return mem_fail(e);
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

static void add_section(struct buf *b, const struct settings *c, const char *section)
{
    for (const struct setting *s = settings_of_run; s->path; s++)
        if (!s->of_split && setting_is_in(s, section, strlen(section))) {
            buf_json_key(b, setting_leaf(s));
            setting_format_json(s, c, b);
        }
}

/* Adds the settings, with the values that this run has chosen for automatic ones. */
static void add_settings(struct buf *b, const struct record_run *run)
{
    struct settings c = *run->config;

    c.train.batch_per_gpu = run_config_step_batch(run->config) / c.train.accumulate;
    c.train.global_batch = (int)run_config_step_images(run->config);
    c.train.backend = run->compute->backend->name;
    c.train.comm = run->comm;
    c.train.threads = run->threads;
    add_section(b, &c, "");
    add_section(b, &c, "data");
    add_section(b, &c, "train");
    buf_add(b, ",\"augment\":{");
    add_section(b, &c, "augment");
    buf_add(b, "},\"model\":{");
    add_section(b, &c, "model");
    buf_addf(b, ",\"parameters\":%zu}", run->parameters);
}

int record_run(struct record *r, const struct record_run *run, struct err *e)
{
    const struct settings *c = run->config;
    char date[32];
    struct buf b = {0};

    clock_date(date);
    buf_add(&b, "{\"kind\":\"run\",\"schema\":1");
    add_settings(&b, run);
    buf_json_text(&b, "attempt_dir", r->dir);
    buf_json_text(&b, "started", date);
    buf_json_text(&b, "version", run->version);
    buf_json_text(&b, "host", run->hosts[0]);
    buf_add(&b, ",\"hosts\":[");
    for (int i = 0; i < run->ranks; i++)
        buf_json_text(&b, NULL, run->hosts[i]);
    buf_add(&b, "]");
    buf_json_int(&b, "gpus", c->layout.gpus);
    buf_json_int(&b, "nodes", c->layout.nodes);
    buf_json_int(&b, "world_size", run->ranks);
    buf_json_int(&b, "devices", c->layout.gpus);
    buf_json_text(&b, "device", run->device);
    buf_json_text(&b, "why_cpu", run->compute->why);
    buf_json_int(&b, "cores", run->cores);
    buf_json_bool(&b, "oversubscribed", run->oversubscribed);
    buf_json_text(&b, "strategy", c->layout.strategy);
    buf_json_int(&b, "train_images", (int64_t)run->train_images);
    buf_json_int(&b, "val_images", (int64_t)run->val_images);
    software_encode(run->compute, &b);
    buf_json_text(&b, "slurm_job", getenv("SLURM_JOB_ID"));
    if (getenv("UNETCTL_RESTART_REASON"))
        buf_json_text(&b, "restart_reason", getenv("UNETCTL_RESTART_REASON"));
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
    buf_addf(&b, "{\"kind\":\"progress\",\"epoch\":%d,\"step\":%zu,\"steps\":%zu", epoch, step,
             steps);
    return write_line(r, &b, e);
}

int record_tensorboard(struct record *r, const char *host, struct err *e)
{
    char *dir = path_in(r->dir, "tensorboard");
    int rc = 0;

    if (!dir)
        return mem_fail(e);
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
    buf_json_text(&b, "from", resume->from);
    buf_json_int(&b, "epoch", resume->epoch);
    buf_json_int(&b, "images", (int64_t)resume->images);
    if (resume->from)
        buf_json_int(&b, "gpus", resume->gpus);
    if (resume->changed && *resume->changed)
        buf_json_text(&b, "changed", resume->changed);
    if (resume->nworlds > 1)
        add_worlds(&b, resume->worlds, resume->nworlds);
    return write_line(r, &b, e);
}

int record_checkpoint(struct record *r, int epoch, size_t images, double seconds, struct err *e)
{
    struct buf b = {0};

    buf_add(&b, "{\"kind\":\"checkpoint\"");
    buf_json_int(&b, "epoch", epoch);
    buf_json_int(&b, "images", (int64_t)images);
    buf_json_real(&b, "seconds", seconds);
    return write_line(r, &b, e);
}

int record_eval(struct record *r, int epochs, const struct record_eval *eval, struct err *e)
{
    static const char *const tags[] = {"val/iou", "val/dice", "val/precision", "val/recall",
                                       "val/accuracy", "val/loss"};
    const struct score_summary *s = &eval->summary;
    const double values[] = {s->iou, s->dice, s->precision, s->recall, s->accuracy, eval->loss};
    size_t n = sizeof values / sizeof *values;
    struct buf b = {0};

    if (add_events(r, epochs, tags, values, n, e))
        return -1;
    if (epochs > 0 && (size_t)epochs <= r->nepochs)
        r->epochs[epochs - 1].eval = *eval;
    buf_add(&b, "{\"kind\":\"eval\"");
    buf_json_int(&b, "epochs", epochs);
    for (size_t i = 0; i < n; i++)
        buf_json_real(&b, strchr(tags[i], '/') + 1, values[i]);
    buf_json_real(&b, "seconds", eval->seconds);
    return write_line(r, &b, e);
}

const struct record_epoch *record_epochs(const struct record *r, size_t *n)
{
    *n = r->nepochs;
    return r->epochs;
}

int record_epoch(struct record *r, const struct record_epoch *epoch, struct err *e)
{
    struct buf b = {0};

    if (mem_grow(&r->epochs, r->nepochs, &r->capacity, sizeof *r->epochs, e))
        return -1;
    r->epochs[r->nepochs++] = *epoch;
    static const char *const tags[] = {"train/loss", "train/lr", "train/seconds",
                                       "train/images_per_s"};
    const double values[] = {epoch->loss, epoch->lr, epoch->seconds,
                             (double)epoch->images / epoch->seconds};
    if (add_events(r, (int64_t)r->nepochs, tags, values, 4, e))
        return -1;
    buf_addf(&b, "{\"kind\":\"epoch\",\"epoch\":%zu", r->nepochs - 1);
    buf_json_real(&b, "seconds", epoch->seconds);
    buf_json_real(&b, "loss", epoch->loss);
    if (epoch->iou > 0)
        buf_json_real(&b, "train_iou", epoch->iou);
    buf_json_real(&b, "lr", epoch->lr);
    buf_json_int(&b, "images", (int64_t)epoch->images);
    buf_json_int(&b, "steps", (int64_t)epoch->steps);
    buf_json_real(&b, "data_s", epoch->data_s);
    buf_json_real(&b, "compute_s", epoch->compute_s);
    buf_json_real(&b, "comm_s", epoch->comm_s);
    buf_json_real(&b, "wait_s", epoch->wait_s);
    if (epoch->norms.batch_local > 0) {
        buf_json_real(&b, "grad_sq_local", epoch->norms.sq_local);
        buf_json_real(&b, "grad_batch_local", epoch->norms.batch_local);
        buf_json_real(&b, "grad_sq_global", epoch->norms.sq_global);
        buf_json_real(&b, "grad_batch_global", epoch->norms.batch_global);
    }
    if (epoch->loss_scale > 0) {
        buf_json_real(&b, "loss_scale", epoch->loss_scale);
        buf_json_int(&b, "steps_left_out", (int64_t)epoch->left_out);
    }
    r->last_progress = clock_now();
    return write_line(r, &b, e);
}

/* Returns the median of images per second over the epochs without the first one, which includes
 * warm-up, unless it is the only one. */
static double images_per_second(const struct record *r)
{
    size_t skip = r->nepochs > 1, n = r->nepochs - skip;
    struct err ignored;
    double *rates = mem_alloc(n, sizeof *rates, &ignored), median;

    if (!rates)
        return NAN;
    for (size_t i = 0; i < n; i++)
        rates[i] = (double)r->epochs[skip + i].images / r->epochs[skip + i].seconds;
    median = stat_median(rates, n);
    free(rates);
    return median;
}

static void add_summary(struct buf *b, const struct score_summary *s, struct score_counts c)
{
    buf_json_real(b, "iou", s->iou);
    buf_json_real(b, "dice", s->dice);
    buf_json_real(b, "precision", s->precision);
    buf_json_real(b, "recall", s->recall);
    buf_json_int(b, "intersection", c.intersection);
    buf_json_int(b, "union", score_union(&c));
    buf_json_int(b, "pred", c.pred);
    buf_json_int(b, "truth", c.truth);
}

void record_add_score(struct buf *b, const int64_t *score, int classes, const struct dataset *names)
{
    struct score_summary s = score_summarize(score, classes);

    add_summary(b, &s, score_total(score, classes));
    buf_json_real(b, "accuracy", s.accuracy);
    buf_json_int(b, "pixels", score[SCORE_PIXELS]);
    struct evaluate_constant constant;
    evaluate_constant(score, classes, names, &constant);
    buf_json_real(b, "constant", constant.quality);
    buf_json_text(b, "constant_class", constant.name);
    if (classes == 1)
        return;
    buf_json_real(b, "iou_without_background", score_summarize_foreground(score, classes).iou);
    buf_add(b, ",\"classes\":[");
    for (int i = 0; i < classes; i++) {
        s = score_summarize_class(score, i);
        buf_addf(b, "%s{\"class\":%d", i ? "," : "", i);
        buf_json_text(b, "name", dataset_class_name(names, i));
        add_summary(b, &s, *score_class(score, i));
        buf_add(b, "}");
    }
    buf_add(b, "]");
}

void record_add_own_score(struct buf *b, const int64_t *score, int classes,
                          const struct dataset *names)
{
    buf_add(b, ",\"own_size\":{\"scale\":\"own\"");
    record_add_score(b, score, classes, names);
    buf_add(b, "}");
}

/* Adds the goal and, as time to accuracy, the seconds of the epochs until it was reached. */
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
            buf_json_int(b, "reached_epochs", end->state->reached);
            buf_json_real(b, "reached_s", seconds);
        } else {
            buf_add(b, ",\"reached_epochs\":null,\"reached_s\":null");
        }
    }
    buf_json_real(b, end->goal->by_accuracy ? "best_accuracy" : "best_iou", end->state->best);
    buf_json_int(b, "best_epochs", end->state->best_epoch);
    if (end->goal->plateau)
        buf_json_int(b, "lr_cuts", end->state->cuts);
    buf_json_bool(b, "stopped_early", end->state->stopped);
}

int record_kept(struct record *r, const struct goal *goal, const struct goal_state *state,
                const char sha256[65], struct err *e)
{
    struct buf b = {0};

    buf_add(&b, "{\"kind\":\"kept\"");
    buf_json_int(&b, "epochs", state->best_epoch);
    buf_json_real(&b, goal->by_accuracy ? "accuracy" : "iou", state->best);
    buf_addf(&b, ",\"weights_sha256\":\"%.16s\"", sha256);
    return write_line(r, &b, e);
}

static void encode_end(struct record *r, const struct record_end *end, double training_time,
                       struct buf *b)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    buf_add(b, "{\"kind\":\"end\",\"schema\":1,\"status\":\"done\"");
    buf_json_real(b, "training_time", training_time);
    buf_json_real(b, "test_time", end->test_time);
    buf_json_real(b, "startup_s", end->startup_s);
    buf_json_text(b, "metric", end->goal && end->goal->by_accuracy ? "accuracy" : "iou");
    record_add_score(b, end->score, r->classes, end->dataset);
    if (end->own_score)
        record_add_own_score(b, end->own_score, r->classes, end->dataset);
    buf_json_int(b, "val_images", (int64_t)end->val_images);
    buf_json_real(b, "images_per_s", images_per_second(r));
    add_goal(r, end, b);
    buf_addf(b, ",\"weights_sha256\":\"%.16s\"", end->weights_sha256);
    buf_json_real(b, "peak_rss_mib", (double)usage.ru_maxrss / 1024);
    if (*end->warning)
        buf_json_text(b, "warning", end->warning);
    buf_json_int(b, "kernels_checked", end->kernels_checked);
    if (*end->kernels_refused)
        buf_json_text(b, "kernels_refused", end->kernels_refused);
}

static int write_csv(struct record *r, const struct record_end *end, double training_time,
                     struct err *e)
{
    char *path = path_in(r->dir, "log.csv");
    struct epoch_row *rows = mem_zero(r->nepochs, sizeof *rows, e);

    for (size_t i = 0; rows && i < r->nepochs; i++)
        rows[i] = (struct epoch_row){
            .time_per_epoch = r->epochs[i].seconds, .loss = r->epochs[i].loss,
            .lr = r->epochs[i].lr, .training_time = training_time, .test_time = end->test_time,
            .iou = score_summarize(end->score, r->classes).iou};
    int rc = path && rows ? epoch_csv_write(path, rows, r->nepochs, e) : mem_fail(e);
    free(rows);
    free(path);
    return rc;
}

static int write_marker(struct record *r, const char *name, struct buf *b, struct err *e)
{
    buf_add(b, "}\n");
    size_t n = b->length;
    char *text = buf_steal(b);
    int rc = text ? marker_write(r->dir, name, text, n, e) : mem_fail(e);
    free(text);
    return rc;
}

/* Writes the marker last, when all other files are on disk. */
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
        buf_addf(&line, "{\"kind\":\"end\",\"status\":\"failed\",\"exit_code\":%d", reason->code);
        buf_json_text(&line, "error", reason->text);
        buf_addf(&marker, "{\"schema\":1,\"exit_code\":%d", reason->code);
        buf_json_text(&marker, "error", reason->text);
        if (write_line(r, &line, &e))
            log_warn("%s", e.text);
        if (write_marker(r, "FAILED", &marker, &e))
            log_warn("the run failed, but the marker FAILED cannot be written: %s", e.text);
    }
    pthread_mutex_unlock(&r->lock);
}
