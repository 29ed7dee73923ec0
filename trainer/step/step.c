/* SPDX-License-Identifier: BSD-3-Clause */
/* What both kinds of step have in common: loading images, the loss's divisor, times, gradient
 * noise, the choice of kernels, and the trace. */
#include "src/base.h"
#include "trainer/step/step.h"

#include <fcntl.h>
#include <time.h>

#include "src/clock.h"
#include "src/files.h"
#include "src/rng.h"
#include "trainer/evaluate/evaluate.h"
#include "trainer/metric/metric.h"
#include "trainer/step/step_internal.h"

struct shard_range step_part(const struct step *s, size_t n, int i)
{
    return shard_eval(n, s->config.accumulate, i);
}

bool step_is_idle(const struct step *s, size_t items, int i)
{
    size_t n = items / (size_t)s->config.comm->size, rest = items % (size_t)s->config.comm->size;
    struct shard_range least = step_part(s, n, i), most = step_part(s, n + (rest > 0), i);

    return least.begin == least.end && most.begin == most.end;
}

int step_place(const struct step *s, struct shard_range part, struct err *e)
{
    struct record_batch b = s->batch;

    if (s->config.accumulate == 1 || part.begin == part.end)
        return 0;
    b.records = record_at(&s->batch, part.begin);
    b.count = part.end - part.begin;
    return network_place(s->config.network, true, &b, e);
}

/* Sums of squared norms over batches and steps. */

/* Floats are summed in independent lanes, so that the loop is vectorised. A block is short enough
 * for the precision of float; blocks are summed as doubles. */
#define LANES 16
#define BLOCK 1024

static double square_block(const float *grad, size_t n)
{
    float lanes[LANES] = {0};
    double sum = 0;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (size_t k = 0; k < LANES; k++)
            lanes[k] += grad[i + k] * grad[i + k];
    for (; i < n; i++)
        lanes[i % LANES] += grad[i] * grad[i];
    for (size_t k = 0; k < LANES; k++)
        sum += (double)lanes[k];
    return sum;
}

double gradient_noise_square(const float *grad, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i += BLOCK)
        sum += square_block(grad + i, n - i < BLOCK ? n - i : BLOCK);
    return sum;
}

void gradient_noise_add_batch(struct gradient_noise *g, double square, size_t images, size_t items)
{
    if (images == 0)
        return;
    g->shares.square += square * (double)items / (double)images;
    g->shares.inverse_batch += 1 / (double)items;
}

void gradient_noise_add_step(struct gradient_noise *g, double square, size_t items)
{
    g->global.square += square;
    g->global.inverse_batch += 1 / (double)items;
    g->steps++;
}

struct gradient_norms gradient_noise_norms(const struct gradient_noise *g)
{
    if (!(g->steps > 0) || !(g->shares.inverse_batch > 0))
        return (struct gradient_norms){0};
    return (struct gradient_norms){
        .sq_local = g->shares.square / g->steps,
        .batch_local = g->steps / g->shares.inverse_batch,
        .sq_global = g->global.square / g->steps,
        .batch_global = g->steps / g->global.inverse_batch};
}

/* Rank 0 times its kernels (network_choose), and sends what it has chosen as text
 * (device_ops.choices). */

#define MOST_BATCHES 16

/* Lists the different batch sizes of a plan, at most MOST_BATCHES, and returns their number. All
 * steps but the last have those of the first. */
static int list_batches(const struct shard_plan *plan, int parts, int *list)
{
    int n = 0;

    for (size_t step = 0; step < plan->steps; step += plan->steps > 1 ? plan->steps - 1 : 1)
        for (int i = 0; i < plan->parts * parts; i++) {
            struct shard_range all = shard_train(plan, step, i / parts);
            struct shard_range r = shard_eval(all.end - all.begin, parts, i % parts);
            int batch = (int)(r.end - r.begin), k = 0;
            while (k < n && list[k] != batch)
                k++;
            if (batch > 0 && k == n && n < MOST_BATCHES)
                list[n++] = batch;
        }
    return n;
}

static int broadcast_choices(const struct network *network, struct comm *c, struct err *e)
{
    struct device *d;
    const struct device_ops *ops = network_device_ops(network, &d);
    char *text = c->rank == 0 ? ops->choices() : NULL;
    uint64_t n = text ? strlen(text) + 1 : 0;
    int rc = c->ops->broadcast(c, &n, sizeof n, e);

    if (rc == 0 && c->rank > 0 && n > 0)
        text = mem_alloc(n, 1, e);
    if (rc == 0 && n > 0 && !text)
        rc = -1;
    if (rc == 0 && n > 0)
        rc = c->ops->broadcast(c, text, n, e);
    if (rc == 0 && c->rank > 0 && n > 0 && ops->learn(text))
        log_warn("cannot read rank 0's choice of kernels; this rank makes its own");
    free(text);
    return rc;
}

int kernel_choice_share(struct network *n, struct comm *c, const struct shard_plan *plan, int parts,
                        struct err *e)
{
    int batches[MOST_BATCHES + 1], count;

    if (!network_device(n) || c->size == 1)
        return 0;
    count = list_batches(plan, parts, batches);
    batches[count] = 1;
    for (int i = 0; i <= count; i++)
        if ((c->rank == 0 && network_choose(n, i < count, batches[i], e)) ||
            broadcast_choices(n, c, e))
            return -1;
    return 0;
}

/* Events are buffered for a second or almost a page. Each write overwrites the closing bracket of
 * the JSON array and ends with a new one. */

#define FLUSH_BYTES 3500 /* less than a page */
#define FLUSH_S 1.0
#define TAIL "\n]\n"

static const char *const rows[] = {[TRACE_STEPS] = "steps",
                                   [TRACE_GRADIENTS] = "sums of gradients beside them",
                                   [TRACE_BATCH_NORM] = "sums of batch norm in them"};

struct trace {
    int fd, rank;
    off_t end; /* of the events in the file; the next ones overwrite the closing bracket */
    double to_date; /* seconds since 1970 minus clock_now() */
    double flushed; /* clock_now() of the last write */
    struct buf events; /* not yet written */
};

static void end_trace(struct trace *t)
{
    log_warn("cannot write the trace of rank %d, which ends here: %s", t->rank, strerror(errno));
    close(t->fd);
    t->fd = -1;
}

static void flush_events(struct trace *t)
{
    size_t n = t->events.length;

    t->flushed = clock_now();
    if (t->fd < 0 || n == 0)
        return;
    buf_add(&t->events, TAIL);
    if (t->events.failed)
        errno = ENOMEM;
    if (t->events.failed ||
        pwrite(t->fd, t->events.data, t->events.length, t->end) != (ssize_t)t->events.length)
        end_trace(t);
    t->end += (off_t)n;
    t->events.length = 0;
}

struct trace *trace_open(const char *dir, int rank, const char *host, struct err *e)
{
    struct trace *t = mem_zero(1, sizeof *t, e);
    char path[PATH_MAX], name[300];
    struct timespec now;

    if (!t)
        return NULL;
    snprintf(path, sizeof path, "%s/trace-%d.json", dir, rank);
    t->rank = rank;
    t->fd = files_open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (t->fd < 0) {
        files_error(e, ERR_CONFIG, errno, "cannot write", path);
        free(t);
        return NULL;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    t->to_date = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - clock_now();
    buf_addf(&t->events,
             "[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":", rank);
    snprintf(name, sizeof name, "rank %d on %.256s", rank, host);
    buf_add_json_string(&t->events, name);
    buf_add(&t->events, "}}");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        buf_addf(&t->events, ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%zu,"
                 "\"args\":{\"name\":\"%s\"}}", rank, i, rows[i]);
    flush_events(t);
    return t;
}

void trace_close(struct trace *t)
{
    if (!t)
        return;
    flush_events(t);
    if (t->fd >= 0)
        close(t->fd);
    buf_destroy(&t->events);
    free(t);
}

void trace_span(struct trace *t, enum trace_row row, const char *name, double begin, double end)
{
    if (!t || t->fd < 0)
        return;
    buf_addf(&t->events, ",\n{\"name\":\"%s\",\"ph\":\"X\",\"ts\":%.1f,\"dur\":%.1f,", name,
             1e6 * (begin + t->to_date), 1e6 * (end - begin));
    buf_addf(&t->events, "\"pid\":%d,\"tid\":%d}", t->rank, (int)row);
    if (t->events.length > FLUSH_BYTES || clock_now() - t->flushed > FLUSH_S)
        flush_events(t);
}

#define STREAM_DROPOUT (UINT64_C(0x44524f50) << 32)

static size_t score_nbytes(const struct step *s)
{
    return score_size(s->config.network_config->classes) * sizeof *s->epoch.score;
}

static int open_step(struct step *s, struct err *e)
{
    const struct step_config *c = &s->config;

    if (network_device(c->network)) {
        if (evaluate_alloc(c->network, &s->scores, score_nbytes(s), e))
            return -1;
        s->epoch.score = s->scores.host;
    }
    return s->kind->open(s, e);
}

struct step *step_create(const struct step_config *config, struct err *e)
{
    const struct step_kind *kind = network_device(config->network) ? &step_device : &step_host;
    struct step *s = mem_zero(1, kind->size, e);

    if (!s)
        return NULL;
    s->kind = kind;
    s->config = *config;
    s->has_noise = config->comm->size > 1 || config->accumulate > 1;
    if (open_step(s, e)) {
        step_destroy(s);
        return NULL;
    }
    return s;
}

void step_destroy(struct step *s)
{
    if (!s)
        return;
    s->kind->close(s);
    mirror_close(&s->scores);
    free(s);
}

struct step_epoch *step_begin_epoch(struct step *s, struct err *e)
{
    if (network_begin_epoch(s->config.network, e))
        return NULL;
    s->epoch.noise = (struct gradient_noise){0};
    if (s->epoch.score && mirror_clear(&s->scores, e))
        return NULL;
    return &s->epoch;
}

size_t step_bucket(const struct step *s, size_t begin, size_t upto)
{
    size_t left = network_weights(s->config.network)->nparams - begin;
    size_t n = left < s->config.bucket ? left : s->config.bucket;

    return begin + n <= upto ? n : 0;
}

/* Sets run->loss_divisor unless the caller's value is right: there is one class and every pixel has
 * weight 1, or the loss is Dice alone, which does not use the weight. */
static int find_loss_divisor(struct step *s, struct network_step *run, struct err *e)
{
    const struct network_config *c = s->config.network_config;

    if (c->loss == LOSS_DICE || (c->classes <= 1 && !c->class_weights && !s->config.ignores))
        return 0;
    run->loss_divisor = network_loss_divisor(s->config.network, &s->batch);
    run->sums_loss_divisor = s->kind == &step_device;
    return run->sums_loss_divisor ? 0 : comm_sum_double(s->config.comm, &run->loss_divisor, 1, e);
}

/* Takes the loader's next batch. network_await has been called: the loader reuses the memory of
 * earlier ones. */
static int load_batch(struct step *s, struct loader *loader, struct err *e)
{
    if (loader_next(loader, &s->batch, e))
        return -1;
    return s->config.accumulate == 1 && s->batch.count
               ? network_place(s->config.network, true, &s->batch, e) : 0;
}

struct step_times {
    double began, waited, loaded, computed, summed, ended; /* clock_now() */
};

static void add_times(const struct step *s, const struct step_times *t, struct step_totals *totals)
{
    const struct comm *comm = s->config.comm;
    struct trace *trace = s->config.trace;

    totals->data_s += t->loaded - t->waited;
    totals->comm_s += s->comm_s + (t->summed - t->computed);
    totals->compute_s += t->waited - t->began + t->computed - t->loaded - s->comm_s +
                         (t->ended - t->summed);
    for (size_t i = 0; i < comm->nspans; i++)
        trace_span(trace, TRACE_GRADIENTS, "sum", comm->spans[i].began, comm->spans[i].ended);
    trace_span(trace, TRACE_STEPS, "images", t->waited, t->loaded);
    trace_span(trace, TRACE_STEPS, "forward, backward", t->loaded, t->computed);
    trace_span(trace, TRACE_STEPS, "wait for sums", t->computed, t->summed);
    trace_span(trace, TRACE_STEPS, "update", t->summed, t->ended);
}

int step_train(struct step *s, const struct step_work *w, struct step_totals *t, struct err *e)
{
    const struct step_config *c = &s->config;
    struct network_step run = {
        .images = (double)w->items,
        .loss_divisor = (double)w->items * (double)network_targets(c->network),
        .noise = rng_u64(c->seed, STREAM_DROPOUT, (uint64_t)w->epoch), .first = w->range.begin,
        .scaling = c->optim->scaling, .score = s->scores.there,
        .votes = {w->votes[STEP_LEAVE], w->votes[STEP_CHECKPOINT]}};
    struct step_times times = {.began = clock_now()};

    if ((s->kind->begin && s->kind->begin(s, w, e)) || network_await(c->network, e))
        return -1;
    times.waited = clock_now();
    if (load_batch(s, w->loader, e) || find_loss_divisor(s, &run, e))
        return -1;
    times.loaded = clock_now();
    s->comm_s = 0;
    if (s->kind->compute(s, w, run, &t->loss, e))
        return -1;
    s->nsteps++;
    times.computed = clock_now();
    if (comm_wait(c->comm, e))
        return -1;
    times.summed = clock_now();
    if (s->kind->apply)
        s->kind->apply(s, w);
    times.ended = clock_now();
    add_times(s, &times, t);
    return 0;
}

int step_wait(struct step *s, struct step_totals *t, struct err *e)
{
    return network_wait(s->config.network, &t->loss, e) || mirror_pull(&s->scores, e) ? -1 : 0;
}

const float *step_votes(const struct step *s)
{
    return s->votes[(s->nsteps - 1 - s->delay) % STEP_QUEUED];
}

void step_drop_votes(struct step *s)
{
    memset(s->votes, 0, sizeof s->votes);
}
