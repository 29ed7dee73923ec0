/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/log/log_internal.h"

#include <jansson.h>
#include <math.h>

#include "src/stat.h"

#define MARK ":::MLLOG "

enum key {
    EPOCH_STOP, BLOCK_STOP, SCORE, /* the ends of intervals, in this order if equally frequent */
    EPOCH_START, BLOCK_START, EVAL_START, EVAL_STOP, LOSS, INIT_START, RUN_START, RUN_STOP, NKEYS
};

static const char *const keys[NKEYS] = {
    [EPOCH_STOP] = "epoch_stop", [BLOCK_STOP] = "block_stop", [SCORE] = "eval_accuracy",
    [EPOCH_START] = "epoch_start", [BLOCK_START] = "block_start", [EVAL_START] = "eval_start",
    [EVAL_STOP] = "eval_stop", [LOSS] = "train_loss", [INIT_START] = "init_start",
    [RUN_START] = "run_start", [RUN_STOP] = "run_stop"};

struct event {
    enum key key;
    size_t line;
    double now, value;
    double epochs; /* metadata.epoch_count, or of a score metadata.epoch_num */
};

struct interval {
    size_t line;
    double start, end, seconds, epochs, loss, score, reached;
    double paused; /* for evaluations */
};

struct reader {
    const char *path;
    struct event *events;
    struct interval *intervals;
    size_t line, nevents, nintervals, event_capacity, interval_capacity, count[NKEYS];
    double init, run, stop, eval_s;
    long ranks, seed, global_batch, train_samples, epoch_samples, val_images;
    char engine[32], benchmark[16];
    bool by_iou;
    /* The stopwatch of the interval: it runs since `since`, or is stopped if that is NaN. */
    bool begun; /* a start has been seen that has no stop yet */
    struct interval now;
    double since, eval_start;
    struct err *e;
};

bool mllog_file_matches(const char *text)
{
    return strstr(text, MARK "{") != NULL;
}

static int refuse_log(struct reader *r, const char *what)
{
    return err_set(r->e, ERR_DATA, "%s:%zu: %s", r->path, r->line, what);
}

static long whole_number(const json_t *v)
{
    double value = json_number_value(v);

    return value >= 1 && value <= INT_MAX ? (long)value : 0;
}

static void take_fact(struct reader *r, const char *key, const json_t *v)
{
    const struct {
        const char *key;
        long *dst;
    } counts[] = {{"number_of_ranks", &r->ranks}, {"seed", &r->seed},
                  {"global_batch_size", &r->global_batch}, {"train_samples", &r->train_samples},
                  {"samples_per_epoch", &r->epoch_samples}, {"eval_samples", &r->val_images}};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (strcmp(key, counts[i].key) == 0)
            *counts[i].dst = whole_number(v);
    if (strcmp(key, "engine") == 0 && json_is_string(v))
        result_set_text(r->engine, sizeof r->engine, json_string_value(v));
    if (strcmp(key, "submission_benchmark") == 0 && json_is_string(v))
        result_set_text(r->benchmark, sizeof r->benchmark, json_string_value(v));
}

static int add_event(struct reader *r, enum key key, const json_t *o, double now)
{
    const json_t *v = json_object_get(o, "value"), *meta = json_object_get(o, "metadata");
    const char *status = json_string_value(json_object_get(meta, "status")),
               *metric = json_string_value(json_object_get(meta, "metric"));
    struct event event = {key, r->line, now, json_number_value(v), 0};

    event.epochs = json_number_value(
        json_object_get(meta, key == SCORE ? "epoch_num" : "epoch_count"));
    if ((key == SCORE || key == LOSS) && (!json_is_number(v) || !isfinite(event.value)))
        return refuse_log(r, "a loss or accuracy is not a number");
    if (key == RUN_STOP && status && strcmp(status, "success"))
        return refuse_log(r, "the run did not end with success");
    if (key == SCORE)
        r->by_iou = metric && strcmp(metric, "iou") == 0;
    if (key == INIT_START && r->count[INIT_START] == 0)
        r->init = now; /* each rank may write its own */
    if (key == RUN_START && r->count[RUN_START] == 0)
        r->run = now;
    if (key == RUN_STOP)
        r->stop = now;
    r->count[key]++;
    if (mem_grow(&r->events, r->nevents, &r->event_capacity, sizeof *r->events, r->e))
        return -1;
    r->events[r->nevents++] = event;
    return 0;
}

static int decode_mllog_line(struct reader *r, const char *text, size_t n)
{
    json_error_t why;
    json_t *o = json_loadb(text, n, JSON_DISABLE_EOF_CHECK, &why);
    const json_t *time = json_object_get(o, "time_ms");
    const char *key = json_string_value(json_object_get(o, "key"));
    int rc = 0;

    if (!o)
        return refuse_log(r, "what follows " MARK "is not JSON");
    if (!key || !json_is_number(time))
        rc = refuse_log(r, "there is no key or no time_ms");
    for (int k = 0; rc == 0 && !r->count[RUN_STOP] && k < NKEYS; k++)
        if (strcmp(key, keys[k]) == 0)
            rc = add_event(r, (enum key)k, o, json_number_value(time) / 1000);
    if (rc == 0)
        take_fact(r, key, json_object_get(o, "value"));
    json_decref(o);
    return rc;
}

/* Of what comes after run_stop, only facts count. */
static int read_events(struct reader *r, const char *text)
{
    int rc = 0;

    for (const char *line = text, *end; rc == 0 && *line; line = end + (*end == '\n')) {
        end = line + strcspn(line, "\n");
        r->line++;
        const char *mark = memmem(line, (size_t)(end - line), MARK, strlen(MARK));
        if (mark)
            rc = decode_mllog_line(r, mark + strlen(MARK), (size_t)(end - mark) - strlen(MARK));
    }
    return rc == 0 && !r->count[RUN_STOP]
               ? refuse_log(r, "there is no run_stop: the run was killed, or the file cut")
               : rc;
}

static int start_interval(struct reader *r, const struct event *event)
{
    const struct interval *last = r->nintervals ? &r->intervals[r->nintervals - 1] : NULL;

    if (r->begun)
        return refuse_log(r, "an epoch starts before the last one has stopped");
    if (!last && event->now < r->init)
        return refuse_log(r, "the first epoch starts before init_start");
    if (last && event->now < last->end)
        return refuse_log(r, "an epoch starts at a time when the last one runs");
    r->begun = true;
    r->now = (struct interval){.start = event->now, .epochs = event->epochs};
    r->since = event->now;
    return 0;
}

static int add_time(struct reader *r, double now)
{
    if (!isnan(r->since) && now < r->since)
        return refuse_log(r, "an epoch stops before it starts");
    r->now.seconds += isnan(r->since) ? 0 : now - r->since;
    r->since = NAN;
    return 0;
}

static int end_interval(struct reader *r, const struct event *event, bool evaluating)
{
    if (add_time(r, event->now) ||
        mem_grow(&r->intervals, r->nintervals, &r->interval_capacity, sizeof *r->intervals, r->e))
        return -1;
    r->now.line = r->line;
    r->now.end = event->now;
    r->now.loss = r->now.score = NAN;
    r->intervals[r->nintervals++] = r->now;
    r->now = (struct interval){.start = event->now, .epochs = r->now.epochs};
    r->since = evaluating ? NAN : event->now;
    r->begun = false;
    return 0;
}

/* Applies an event to the stopwatch; intervals end at the key `end`. */
static int take_event(struct reader *r, const struct event *event, enum key end, bool *evaluating)
{
    bool started = r->begun || r->nintervals;

    r->line = event->line;
    if (event->key == EVAL_START || event->key == EVAL_STOP) {
        *evaluating = event->key == EVAL_START;
        if (!*evaluating && event->now < r->eval_start)
            return refuse_log(r, "an evaluation stops before it starts");
        if (*evaluating)
            r->eval_start = event->now;
        else
            r->eval_s = event->now - r->eval_start; /* the last evaluation counts */
        if (started && !*evaluating && !isnan(r->eval_s))
            r->now.paused += event->now - fmax(r->eval_start, r->now.start);
        if (*evaluating)
            return add_time(r, event->now);
        if (started)
            r->since = event->now;
        return 0;
    }
    if ((event->key == EPOCH_START && end == EPOCH_STOP) ||
        (event->key == BLOCK_START && end == BLOCK_STOP) ||
        ((event->key == EPOCH_START || event->key == BLOCK_START) && end == SCORE && !started))
        return start_interval(r, event);
    if (event->key == RUN_STOP && end == EPOCH_STOP && r->begun)
        return refuse_log(r, "the last epoch did not stop");
    if (event->key != end && !(event->key == RUN_STOP && end == BLOCK_STOP && r->begun))
        return 0;
    return started && (r->begun || end != EPOCH_STOP)
               ? end_interval(r, event, *evaluating)
               : refuse_log(r, "an epoch stops that did not start");
}

static enum key choose_end(const struct reader *r)
{
    enum key end = EPOCH_STOP;

    for (enum key k = BLOCK_STOP; k <= SCORE; k++)
        if (r->count[k] > r->count[end])
            end = k;
    return end;
}

/* Gives losses and scores to the interval that was the last to start before them. */
static void set_values(struct reader *r)
{
    for (size_t i = 0; i < r->nevents; i++) {
        const struct event *event = &r->events[i];
        size_t k = r->nintervals;
        if (event->key != SCORE && event->key != LOSS)
            continue;
        while (k && r->intervals[k - 1].start >= event->now)
            k--;
        if (!k)
            continue;
        *(event->key == SCORE ? &r->intervals[k - 1].score : &r->intervals[k - 1].loss) =
            event->value;
        if (event->key == SCORE)
            r->intervals[k - 1].reached = event->epochs;
    }
}

/* Returns the median length of the intervals with or without an evaluation, which counts or not. */
static double median_length(const struct reader *r, double *values, bool paused, bool counted)
{
    size_t n = 0;

    for (size_t i = 0; i < r->nintervals; i++) {
        const struct interval *it = &r->intervals[i];
        if ((it->paused > 0) == paused)
            values[n++] = it->seconds + (counted ? it->paused : 0);
    }
    return stat_median(values, n);
}

/* An evaluation on other GPUs does not interrupt the training. If intervals with one are otherwise
 * shorter than those without, that is so, and it counts. */
static int count_evaluations(struct reader *r)
{
    double *values = mem_zero(r->nintervals + 1, sizeof *values, r->e);

    if (!values)
        return -1;
    double plain = median_length(r, values, false, false),
           with = median_length(r, values, true, true),
           without = median_length(r, values, true, false);
    for (size_t i = 0; i < r->nintervals && fabs(with - plain) < fabs(without - plain); i++)
        r->intervals[i].seconds += r->intervals[i].paused;
    free(values);
    return 0;
}

static int find_intervals(struct reader *r, enum key end)
{
    bool evaluating = false;

    for (size_t i = 0; i < r->nevents; i++)
        if (take_event(r, &r->events[i], end, &evaluating))
            return -1;
    /* A program that evaluates while it trains knows late that it has reached its goal. */
    while (r->nintervals && r->intervals[r->nintervals - 1].end > r->stop)
        r->nintervals--;
    set_values(r);
    return r->nintervals ? count_evaluations(r) : refuse_log(r, "there is no epoch");
}

static double samples_of(const struct reader *r, size_t i, enum key end)
{
    const struct interval *it = &r->intervals[i];
    double before = i ? it[-1].reached : 0;
    long samples = r->epoch_samples ? r->epoch_samples : r->train_samples;

    if (strcmp(r->benchmark, "bert") == 0)
        return it->reached > before ? it->reached - before : NAN;
    if (end == SCORE || !samples || (end == BLOCK_STOP && it->epochs < 1))
        return NAN;
    return (double)samples * (end == BLOCK_STOP ? it->epochs : 1);
}

static int add_rows(const struct reader *r, enum key end, struct log_table *t)
{
    const char *score = r->by_iou ? "eval_iou" : "eval_accuracy";
    bool known = true;
    int rc = 0;

    for (size_t i = 0; i < r->nintervals; i++)
        known &= !isnan(samples_of(r, i, end));
    for (size_t i = 0; i < r->nintervals && rc == 0; i++) {
        const struct interval *it = &r->intervals[i];
        rc = log_table_add_row(t, it->line, r->e) ||
             (end == EPOCH_STOP && log_table_set_number(t, "epoch", (double)i, r->e)) ||
             log_table_set_number(t, "interval_s", it->seconds, r->e) ||
             (!isnan(it->loss) && log_table_set_number(t, "train_loss", it->loss, r->e)) ||
             (!isnan(it->score) && log_table_set_number(t, score, it->score, r->e)) ||
             (known && log_table_set_number(t, "interval_units", samples_of(r, i, end), r->e));
    }
    return rc ? -1 : 0;
}

static void fill_result(const struct reader *r, struct result *dst)
{
    double begin = isnan(r->run) ? r->intervals[0].start : r->run;

    dst->startup_s = isnan(r->init) ? NAN : begin - r->init;
    if (isnan(r->run))
        dst->test_time = r->eval_s;
    else /* with all evaluations */
        dst->training_time = r->stop - r->run;
    if (!dst->gpus) {
        dst->gpus = (int)r->ranks;
        dst->seed = r->seed ? r->seed : dst->seed;
        result_set_text(dst->engine, sizeof dst->engine, r->engine);
    }
    dst->global_batch = r->global_batch ? r->global_batch : dst->global_batch;
    dst->quality.val_images = r->val_images ? r->val_images : dst->quality.val_images;
    result_set_text(dst->unit, sizeof dst->unit, *r->benchmark ? "samples" : "");
}

int mllog_file_read(const char *text, struct log_table *t, struct result *r, struct err *e)
{
    struct reader reader = {.path = t->path, .e = e, .init = NAN, .run = NAN, .stop = NAN,
                            .eval_s = NAN, .since = NAN, .eval_start = NAN};
    int rc = read_events(&reader, text);
    enum key end = choose_end(&reader);

    if (rc == 0 && reader.ranks && r->gpus && reader.ranks != r->gpus)
        rc = err_set(e, ERR_DATA, "%s: its name says %d GPUs, its lines say %ld", t->path, r->gpus,
                     reader.ranks);
    if (rc == 0)
        rc = find_intervals(&reader, end);
    if (rc == 0)
        rc = add_rows(&reader, end, t);
    if (rc == 0)
        fill_result(&reader, r);
    free(reader.events);
    free(reader.intervals);
    return rc;
}
