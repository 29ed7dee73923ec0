/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of a run, and what earlier starts have left in its folder. */
#include "src/base.h"
#include "trainer/run/run_log.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "src/clock.h"
#include "src/files.h"
#include "src/format/tfrecord.h"
#include "src/run/marker.h"
#include "src/stat.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/run/run_internal.h"

/* The results of a start in its folder, except train.trace's file, which the next start overwrites:
 * the markers first, the checkpoint last. */
#define CHECKPOINT "checkpoint"
static const char *const products[] = {"DONE", "FAILED", "record.jsonl", "log.csv", "images.csv",
                                       "tensorboard", "best", CHECKPOINT};
#define DYING_S 3
#define NPRODUCTS (sizeof products / sizeof *products)

static bool exists_in(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return lstat(path, &st) == 0;
}

static int move_product(const char *dir, const char *to, const char *name, struct err *e)
{
    char from_path[PATH_MAX], to_path[PATH_MAX + NAME_MAX];

    snprintf(from_path, sizeof from_path, "%s/%s", dir, name);
    snprintf(to_path, sizeof to_path, "%s/%s", to, name);
    return files_rename(from_path, to_path, 0)
               ? err_errno(e, ERR_INTERNAL, errno, "cannot move %s to %s", from_path, to_path)
               : 0;
}

/* Returns whether name is that of a product whose writer was killed. */
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
    DIR *d = files_list(dir);

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
    while ((rc = files_mkdir(to)) && errno == EEXIST);
    if (rc)
        return files_error(e, ERR_INTERNAL, errno, "cannot make the folder", to);
    for (size_t i = 0; i < NPRODUCTS && rc == 0; i++)
        if (exists_in(dir, products[i]) && !(has_snapshot && strcmp(products[i], CHECKPOINT) == 0))
            rc = move_product(dir, to, products[i], e);
    return rc;
}

/* Returns whether another process holds the lock of the record, and keeps it for DYING_S: the ranks
 * of a start that was killed end a moment later. Only a lock for writing counts, which those who
 * may only read cannot take. False on file systems without locks. */
static bool is_being_written(const char *dir)
{
    char path[PATH_MAX];
    double until = clock_now() + DYING_S;
    struct flock lock;
    bool locked;

    snprintf(path, sizeof path, "%s/record.jsonl", dir);
    int fd = files_open(path, O_RDONLY, 0);
    do {
        lock = (struct flock){.l_type = F_RDLCK, .l_whence = SEEK_SET};
        locked = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    } while (locked && clock_now() < until && (clock_sleep(0.01), true));
    if (fd >= 0)
        close(fd);
    return locked;
}

static bool is_progress(const char *line)
{
    static const char *const kinds[] = {"epoch", "steps", "checkpoint"};
    cJSON *o = cJSON_Parse(line);
    bool found = false;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        found |= strcmp(cjson_text(o, "kind"), kinds[i]) == 0;
    cJSON_Delete(o);
    return found;
}

/* Returns whether the record in dir has an epoch or a checkpoint, or cannot be read. */
static bool has_trained(const char *dir)
{
    char path[PATH_MAX], *line = NULL;
    size_t size = 0;

    snprintf(path, sizeof path, "%s/record.jsonl", dir);
    FILE *f = files_stream(path, "r", FILES_TEXT_MAX);
    bool trained = !f && errno != ENOENT;
    while (f && !trained && getline(&line, &size, f) >= 0)
        trained = is_progress(line);
    if (f)
        fclose(f);
    free(line);
    return trained;
}

/* Returns whether the start in dir failed before its first epoch or checkpoint, for example by a
 * wrong setting. */
static bool has_only_failed(const char *dir)
{
    return exists_in(dir, "FAILED") && !exists_in(dir, "DONE") && !exists_in(dir, "log.csv") &&
           !exists_in(dir, CHECKPOINT) && !has_trained(dir);
}

/* Moves the results of an earlier start in dir to dir/restart-K, or refuses to, and sets *again, as
 * run_log_open (run_log.h). */
static int earlier_start_clear(const char *dir, bool *again, struct err *e)
{
    const char *restarts = getenv("SLURM_RESTART_COUNT"), *found = NULL;
    bool restarted = restarts && atoi(restarts) > 0;
    char checkpoint[PATH_MAX];

    snprintf(checkpoint, sizeof checkpoint, "%s/" CHECKPOINT, dir);
    bool has_snapshot = snapshot_exists(checkpoint);
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

/* Scalars over time for TensorBoard: the file DIR/events.out.tfevents.SECONDS.HOST.PID of TFRecord
 * frames (src/format/tfrecord.h) with tensorflow.Event messages, which are encoded by hand. */

/* Field numbers of Event, Summary and Summary.Value in TensorFlow's event.proto and
 * summary.proto. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2 };

struct events {
    int fd;
    char path[PATH_MAX];
};

static double unix_time(void)
{
    struct timeval t;

    gettimeofday(&t, NULL);
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

/* Writes a TFRecord frame in one call, so that other processes see it completely or not at all. */
static int write_event(struct events *v, struct buf *event, struct err *e)
{
    struct buf frame = {0};
    int rc = 0;

    tfrecord_encode(event->data, event->length, &frame);
    if (event->failed || frame.failed)
        rc = mem_fail(e);
    errno = ENOSPC; /* for a short write */
    if (rc == 0 && write(v->fd, frame.data, frame.length) != (ssize_t)frame.length)
        rc = err_errno(e, ERR_INTERNAL, errno, "cannot write %s", v->path);
    buf_destroy(&frame);
    buf_destroy(event);
    return rc;
}

static void events_close(struct events *v)
{
    if (!v)
        return;
    close(v->fd);
    free(v);
}

static struct events *events_open(const char *dir, const char *host, struct err *e)
{
    struct events *v = mem_zero(1, sizeof *v, e);
    struct buf event = {0};
    double at = unix_time();

    if (!v)
        return NULL;
    snprintf(v->path, sizeof v->path, "%s/events.out.tfevents.%.0f.%s.%ld", dir, at, host,
             (long)getpid());
    v->fd = files_open(v->path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (v->fd < 0) {
        files_error(e, ERR_INTERNAL, errno, "cannot write", v->path);
        free(v);
        return NULL;
    }
    protobuf_add_double(&event, EVENT_WALL_TIME, at);
    protobuf_add_text(&event, EVENT_FILE_VERSION, "brain.Event:2");
    if (write_event(v, &event, e) == 0)
        return v;
    events_close(v);
    return NULL;
}

/* Appends a scalar with the present time, as a single write. */
static int events_add(struct events *v, int64_t step, const char *tag, double value, struct err *e)
{
    struct buf event = {0}, summary = {0}, inner = {0};

    protobuf_add_text(&inner, VALUE_TAG, tag);
    protobuf_add_float(&inner, VALUE_SIMPLE, (float)value);
    protobuf_add_message(&summary, SUMMARY_VALUE, &inner);
    protobuf_add_double(&event, EVENT_WALL_TIME, unix_time());
    protobuf_add_varint(&event, EVENT_STEP, step);
    protobuf_add_message(&event, EVENT_SUMMARY, &summary);
    return write_event(v, &event, e);
}

/* Lines are appended with one write each, and markers are written last (marker.h). The folder is
 * checked before each line and marker, as a later start of the job may own it. */

#define PROGRESS_S 2.0

struct run_log {
    pthread_mutex_t lock; /* protects ended and the file's last line */
    bool ended;
    char *dir;
    int fd;
    double last_progress;
    struct run_log_epoch *epochs;
    size_t nepochs, capacity;
    int classes;
    struct events *events; /* for TensorBoard, or NULL */
};

struct run_log *run_log_open(const char *dir, bool *again, struct err *e)
{
    struct run_log *r = mem_zero(1, sizeof *r, e);
    char *path = NULL;

    if (!r)
        return NULL;
    r->fd = -1;
    pthread_mutex_init(&r->lock, NULL);
    if (files_make_folder(dir)) {
        files_error(e, ERR_CONFIG, errno, "cannot make the folder for the run's results,", dir);
        goto fail;
    }
    r->dir = realpath(dir, NULL);
    if (!r->dir) {
        err_errno(e, ERR_CONFIG, errno, "%s", dir);
        goto fail;
    }
    files_own(r->dir);
    if (marker_check(r->dir, e) || earlier_start_clear(r->dir, again, e))
        goto fail;
    path = mem_textf(e, "%s/record.jsonl", r->dir);
    if (!path)
        goto fail;
    r->fd = files_open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0666);
    if (r->fd < 0) {
        err_errno(e, ERR_CONFIG, errno, "cannot write in %s", r->dir);
        goto fail;
    }
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    fcntl(r->fd, F_OFD_SETLK, &lock); /* is_being_written of a later start tests it */
    free(path);
    return r;
fail:
    free(path);
    run_log_close(r);
    return NULL;
}

void run_log_close(struct run_log *r)
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

const char *run_log_dir(const struct run_log *r)
{
    return r->dir;
}

int run_log_check(struct run_log *r, struct err *e)
{
    pthread_mutex_lock(&r->lock);
    int rc = r->ended ? 0 : marker_check(r->dir, e); /* a final marker replaces the start's file */
    pthread_mutex_unlock(&r->lock);
    return rc;
}

static cJSON *create_line(const char *kind)
{
    cJSON *line = cJSON_CreateObject();

    cjson_addf(line, "kind=%s", kind);
    return line;
}

/* A line that a full disk cuts short is removed from the file. */
static int write_text(struct run_log *r, const char *line, struct err *e)
{
    size_t n = strlen(line);

    if (marker_check(r->dir, e))
        return -1;
    off_t size = lseek(r->fd, 0, SEEK_END);
    errno = 0;
    ssize_t written = write(r->fd, line, n);
    if (written == (ssize_t)n)
        return 0;
    int reason = written < 0 ? errno : ENOSPC;
    if (size >= 0 && written > 0 && ftruncate(r->fd, size))
        reason = errno;
    return err_errno(e, ERR_INTERNAL, reason, "cannot write %s/record.jsonl", r->dir);
}

static int write_line(struct run_log *r, cJSON *line, struct err *e)
{
    char *text = cjson_print(line, "\n", e);
    int rc = text ? write_text(r, text, e) : -1;

    free(text);
    return rc;
}

static void add_section(cJSON *to, const struct settings *c, const char *section)
{
    for (const struct setting *s = settings_of_run; s->path; s++) {
        struct buf text = {0};
        if (s->of_split || !setting_is_in(s, section, strlen(section)))
            continue;
        setting_format(s, c, &text);
        bool quoted = setting_is_text(s) || s->type == SETTING_WORD;
        cjson_add(to, setting_leaf(s->path), text.failed ? NULL
                  : quoted ? cJSON_CreateString(text.data) : cJSON_CreateRaw(text.data));
        buf_destroy(&text);
    }
}

/* Adds the settings, with the values that this run has chosen for automatic ones. */
static void add_settings(cJSON *line, const struct run_log_run *run)
{
    struct settings c = *run->config;

    c.train.batch_per_gpu = run_config_step_batch(run->config) / c.train.accumulate;
    c.train.global_batch = (int)run_config_step_images(run->config);
    c.train.backend = run->compute->backend->name;
    c.train.comm = run->comm;
    c.train.threads = run->threads;
    add_section(line, &c, "");
    add_section(line, &c, "data");
    add_section(line, &c, "train");
    add_section(cjson_object(line, "augment"), &c, "augment");
    cJSON *model = cjson_object(line, "model");
    add_section(model, &c, "model");
    cjson_addf(model, "parameters=%zu", run->parameters);
    if (c.limit.steps || c.limit.minutes > 0)
        add_section(cjson_object(line, "limit"), &c, "limit");
}

int run_log_run(struct run_log *r, const struct run_log_run *run, struct err *e)
{
    const struct settings *c = run->config;
    const char *reason = getenv("UNETCTL_RESTART_REASON");
    cJSON *line = create_line("run");
    char date[32], nccl[DEVICE_COMM_SETTINGS];

    clock_date(date);
    cjson_addf(line, "schema=%d", 1);
    add_settings(line, run);
    cjson_addf(line, "attempt_dir=%s started=%s version=%s host=%s", r->dir, date, run->version,
               run->hosts[0]);
    cjson_add(line, "hosts", cJSON_CreateStringArray(run->hosts, run->ranks));
    cjson_addf(line, "gpus=%d nodes=%d world_size=%d devices=%d device=%s why_cpu=%s cores=%d "
               "oversubscribed=%i strategy=%s train_images=%zu val_images=%zu", c->layout.gpus,
               c->layout.nodes, run->ranks, c->layout.gpus, run->device, run->compute->why,
               run->cores, run->oversubscribed, c->layout.strategy, run->train_images,
               run->val_images);
    software_encode(run->compute, cjson_object(line, "versions"));
    if (strcmp(run->comm, "nccl") == 0) {
        device_comm_describe(nccl);
        cjson_addf(line, "nccl_settings=%s", nccl);
    }
    cjson_addf(line, "metric=%s slurm_job=%s", run->by_accuracy ? "accuracy" : "iou",
               getenv("SLURM_JOB_ID"));
    if (reason)
        cjson_addf(line, "restart_reason=%s", reason);
    r->last_progress = clock_now();
    r->classes = c->data.classes;
    return write_line(r, line, e);
}

int run_log_progress(struct run_log *r, int epoch, size_t step, size_t steps, struct err *e)
{
    double now = clock_now();

    if (now - r->last_progress < PROGRESS_S)
        return 0;
    r->last_progress = now;
    cJSON *line = create_line("progress");
    cjson_addf(line, "epoch=%d step=%zu steps=%zu", epoch, step, steps);
    return write_line(r, line, e);
}

int run_log_steps(struct run_log *r, int64_t step, double seconds, size_t images, struct err *e)
{
    cJSON *line = create_line("steps");

    cjson_addf(line, "step=%" PRId64 " seconds=%g images=%zu", step, seconds, images);
    return write_line(r, line, e);
}

int run_log_tensorboard(struct run_log *r, const char *host, struct err *e)
{
    char *dir = mem_textf(e, "%s/tensorboard", r->dir);
    int rc = 0;

    if (!dir)
        return -1;
    if (files_make_folder(dir))
        rc = files_error(e, ERR_INTERNAL, errno, "cannot make the folder", dir);
    else if (!(r->events = events_open(dir, host, e)))
        rc = -1;
    free(dir);
    return rc;
}

static int add_events(struct run_log *r, int64_t step, const char *const *tags,
                      const double *values, size_t n, struct err *e)
{
    for (size_t i = 0; r->events && i < n; i++)
        if (events_add(r->events, step, tags[i], values[i], e))
            return -1;
    return 0;
}

static void add_worlds(cJSON *to, const struct run_log_world *worlds, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cjson_addf(cjson_object(to, NULL), "epoch=%d images=%zu gpus=%d global_batch=%zu",
                   worlds[i].epoch, worlds[i].images, worlds[i].gpus, worlds[i].global_batch);
}

int run_log_resume(struct run_log *r, const struct run_log_resume *resume, struct err *e)
{
    cJSON *line = create_line("resume");

    cjson_addf(line, "from=%s epoch=%d images=%zu", resume->from, resume->epoch, resume->images);
    if (resume->from)
        cjson_addf(line, "gpus=%d", resume->gpus);
    if (resume->changed && *resume->changed)
        cjson_addf(line, "changed=%s", resume->changed);
    if (resume->nworlds > 1)
        add_worlds(cjson_array(line, "worlds"), resume->worlds, resume->nworlds);
    return write_line(r, line, e);
}

int run_log_init(struct run_log *r, const cJSON *fit, struct err *e)
{
    cJSON *line = create_line("init");
    const cJSON *item;

    cJSON_ArrayForEach(item, fit)
        cjson_add(line, item->string, cJSON_Duplicate(item, true));
    return write_line(r, line, e);
}

int run_log_checkpoint(struct run_log *r, int epoch, size_t images, double seconds, struct err *e)
{
    cJSON *line = create_line("checkpoint");

    cjson_addf(line, "epoch=%d images=%zu seconds=%g", epoch, images, seconds);
    return write_line(r, line, e);
}

int run_log_eval(struct run_log *r, int epochs, const struct run_log_eval *eval, struct err *e)
{
    static const char *const tags[] = {"val/iou", "val/dice", "val/precision", "val/recall",
                                       "val/accuracy", "val/loss"};
    const struct score_summary *s = &eval->summary;
    const double values[] = {s->iou, s->dice, s->precision, s->recall, s->accuracy, eval->loss};

    if (add_events(r, epochs, tags, values, sizeof values / sizeof *values, e))
        return -1;
    if (epochs > 0 && (size_t)epochs <= r->nepochs)
        r->epochs[epochs - 1].eval = *eval;
    cJSON *line = create_line("eval");
    cjson_addf(line, "epochs=%d iou=%g dice=%g precision=%g recall=%g accuracy=%g loss=%g "
               "seconds=%g", epochs, s->iou, s->dice, s->precision, s->recall, s->accuracy,
               eval->loss, eval->seconds);
    return write_line(r, line, e);
}

const struct run_log_epoch *run_log_epochs(const struct run_log *r, size_t *n)
{
    *n = r->nepochs;
    return r->epochs;
}

static int add_epoch_events(struct run_log *r, const struct run_log_epoch *epoch, struct err *e)
{
    static const char *const tags[] = {"train/loss", "train/lr", "train/seconds",
                                       "train/images_per_s"};
    const double values[] = {epoch->loss, epoch->lr, epoch->seconds,
                             (double)epoch->images / epoch->seconds};

    return add_events(r, (int64_t)r->nepochs, tags, values, 4, e);
}

int run_log_epoch(struct run_log *r, const struct run_log_epoch *epoch, struct err *e)
{
    const struct gradient_norms *n = &epoch->norms;

    if (mem_grow(&r->epochs, r->nepochs, &r->capacity, sizeof *r->epochs, e))
        return -1;
    r->epochs[r->nepochs++] = *epoch;
    if (add_epoch_events(r, epoch, e))
        return -1;
    cJSON *line = create_line("epoch");
    cjson_addf(line, "epoch=%zu seconds=%g loss=%g", r->nepochs - 1, epoch->seconds, epoch->loss);
    if (epoch->iou > 0)
        cjson_addf(line, "train_iou=%g", epoch->iou);
    cjson_addf(line, "lr=%g images=%zu steps=%zu data_s=%g compute_s=%g comm_s=%g wait_s=%g",
               epoch->lr, epoch->images, epoch->steps, epoch->data_s, epoch->compute_s,
               epoch->comm_s, epoch->wait_s);
    if (n->batch_local > 0)
        cjson_addf(line, "grad_sq_local=%g grad_batch_local=%g grad_sq_global=%g "
                   "grad_batch_global=%g", n->sq_local, n->batch_local, n->sq_global,
                   n->batch_global);
    if (epoch->loss_scale > 0)
        cjson_addf(line, "loss_scale=%g steps_left_out=%g", epoch->loss_scale, epoch->left_out);
    r->last_progress = clock_now();
    return write_line(r, line, e);
}

/* Returns the median of images per second over the epochs without the first one, which includes
 * warm-up, unless it is the only one. */
static double images_per_second(const struct run_log *r)
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

/* Adds the goal and, as time to accuracy, the seconds of the epochs until it was reached. */
static void add_goal(const struct run_log *r, const struct run_log_end *end, cJSON *line)
{
    const struct goal_state *state = end->state;
    char until[80];
    double seconds = 0;

    if (!end->goal || !goal_is_watched(end->goal))
        return;
    for (size_t i = 0; i < r->nepochs && i < (size_t)state->reached; i++)
        seconds += r->epochs[i].seconds;
    if (end->goal->metric) {
        snprintf(until, sizeof until, "%s>=%.9g", end->goal->metric, end->goal->value);
        cjson_addf(line, "until=%s reached_epochs=%g reached_s=%g", until,
                   state->reached ? state->reached : NAN, state->reached ? seconds : NAN);
    }
    cjson_addf(line, end->goal->by_accuracy ? "best_accuracy=%g" : "best_iou=%g", state->best);
    cjson_addf(line, "best_epochs=%d", state->best_epoch);
    if (end->goal->plateau)
        cjson_addf(line, "lr_cuts=%d", state->cuts);
    cjson_addf(line, "stopped_early=%i", state->stopped);
}

static void add_hash(cJSON *line, const char sha256[65])
{
    char start[17];

    snprintf(start, sizeof start, "%.16s", sha256);
    cjson_addf(line, "weights_sha256=%s", start);
}

int run_log_kept(struct run_log *r, const struct goal *goal, const struct goal_state *state,
                 const char sha256[65], struct err *e)
{
    cJSON *line = create_line("kept");

    cjson_addf(line, "epochs=%d", state->best_epoch);
    cjson_addf(line, goal->by_accuracy ? "accuracy=%g" : "iou=%g", state->best);
    add_hash(line, sha256);
    return write_line(r, line, e);
}

static void add_quality(const struct run_log *r, const struct run_log_end *end, cJSON *line)
{
    score_json_add(line, end->score, r->classes, end->dataset);
    if (end->own_score)
        score_json_add_own(line, end->own_score, r->classes, end->dataset);
    cjson_addf(line, "val_images=%zu images_per_s=%g", end->val_images, images_per_second(r));
    add_goal(r, end, line);
    add_hash(line, end->weights_sha256);
}

/* Returns the last line, to be freed by the caller. */
static char *encode_end(const struct run_log *r, const struct run_log_end *end,
                        double training_time, struct err *e)
{
    cJSON *line = create_line("end");
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    cjson_addf(line, "schema=%d status=%s", 1, "done");
    if (end->limited_s > 0)
        cjson_addf(line, "limited=%i epoch_images=%zu", true, end->epoch_images);
    cjson_addf(line, "training_time=%g", training_time);
    if (end->limited_s == 0)
        cjson_addf(line, "test_time=%g", end->test_time);
    cjson_addf(line, "startup_s=%g metric=%s", end->startup_s,
               end->goal && end->goal->by_accuracy ? "accuracy" : "iou");
    if (end->limited_s == 0)
        add_quality(r, end, line);
    cjson_addf(line, "peak_rss_mib=%g", (double)usage.ru_maxrss / 1024);
    if (*end->warning)
        cjson_addf(line, "warning=%s", end->warning);
    return cjson_print(line, "\n", e);
}

static int write_csv(struct run_log *r, const struct run_log_end *end, double training_time,
                     struct err *e)
{
    char *path = mem_textf(e, "%s/log.csv", r->dir);
    struct epoch_row *rows = mem_zero(r->nepochs, sizeof *rows, e);

    for (size_t i = 0; rows && i < r->nepochs; i++)
        rows[i] = (struct epoch_row){
            .time_per_epoch = r->epochs[i].seconds, .loss = r->epochs[i].loss,
            .lr = r->epochs[i].lr, .training_time = training_time, .test_time = end->test_time,
            .iou = score_summarize(end->score, r->classes).iou};
    int rc = path && rows ? epoch_csv_write(path, rows, r->nepochs, e) : -1;
    free(rows);
    free(path);
    return rc;
}

/* Writes the marker last, when all other files are on disk. */
static int write_done(struct run_log *r, const struct run_log_end *end, struct err *e)
{
    double training_time = end->limited_s;

    for (size_t i = 0; i < r->nepochs && end->limited_s == 0; i++)
        training_time += r->epochs[i].seconds;
    if (marker_check(r->dir, e) ||
        (end->limited_s == 0 && write_csv(r, end, training_time, e)))
        return -1;
    char *text = encode_end(r, end, training_time, e);
    int rc = text ? write_text(r, text, e) : -1;
    if (rc == 0 && fsync(r->fd))
        rc = err_errno(e, ERR_INTERNAL, errno, "cannot write %s/record.jsonl", r->dir);
    if (rc == 0)
        rc = marker_write(r->dir, "DONE", text, strlen(text), e);
    free(text);
    return rc;
}

int run_log_done(struct run_log *r, const struct run_log_end *end, struct err *e)
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

void run_log_bad_node(struct run_log *r, const char *host)
{
    char path[PATH_MAX];
    struct err e;
    FILE *f = NULL;

    if (marker_check(r->dir, &e) == 0 &&
        snprintf(path, sizeof path, "%s/bad-nodes", r->dir) < (int)sizeof path)
        f = files_stream(path, "a", 0);
    if (f) {
        fprintf(f, "%lld %s a rank was lost\n", (long long)time(NULL), host);
        fclose(f);
    }
}

static void write_failed(struct run_log *r, const struct err *reason)
{
    cJSON *line = create_line("end"), *marker = cJSON_CreateObject();
    struct err e;

    cjson_addf(line, "status=%s exit_code=%d error=%s", "failed", reason->code, reason->text);
    cjson_addf(marker, "schema=%d exit_code=%d error=%s", 1, reason->code, reason->text);
    if (write_line(r, line, &e))
        log_warn("%s", e.text);
    char *text = cjson_print(marker, "\n", &e);
    if (!text || marker_write(r->dir, "FAILED", text, strlen(text), &e))
        log_warn("the run failed, but the marker FAILED cannot be written: %s", e.text);
    free(text);
}

void run_log_failed(struct run_log *r, const struct err *reason)
{
    struct err e;

    pthread_mutex_lock(&r->lock);
    if (!r->ended && reason->code != ERR_RESUMABLE && marker_check(r->dir, &e) == 0) {
        r->ended = true;
        write_failed(r, reason);
    }
    pthread_mutex_unlock(&r->lock);
}
