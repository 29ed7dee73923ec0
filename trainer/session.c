/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/session.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/clock.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/comm/comm_mpi.h"
#include "trainer/data/shard.h"
#include "trainer/evaluate.h"
#include "trainer/optim/schedule.h"
#include "trainer/progress.h"
#include "trainer/roster.h"

/* What one epoch of one replica adds up. */
struct epoch_sums {
    double loss; /* over pixels of its images */
    double data_s, compute_s, comm_s;
    double first_step_at;
};

/* Gradients on their way to the other replicas while backward goes on. */
struct reduction {
    struct session *session;
    size_t started;  /* gradients [0, started) are under way */
    double comm_s;
};

void session_network_config(const struct run_config *c, int threads, struct network_config *dst)
{
    *dst = (struct network_config){
        .model = c->model.name, .backend = c->train.backend, .base = c->model.base,
        .depth = c->model.depth, .channels = c->data.channels, .height = c->data.height,
        .width = c->data.width, .threads = threads, .seed = (uint64_t)c->seed,
        .batch_norm = strcmp(c->model.batch_norm, "sync") == 0   ? BATCH_NORM_SYNC
                      : strcmp(c->model.batch_norm, "none") == 0 ? BATCH_NORM_NONE
                                                                 : BATCH_NORM_LOCAL};
}

static int sum_for_batch_norm(void *arg, double *values, size_t n, struct err *e)
{
    struct session *s = arg;

    return s->comm->ops->sum_double(s->comm, values, n, e);
}

static int open_session(struct session *s, struct err *e)
{
    const struct run_config *c = s->config;
    size_t items = dataset_count(s->dataset, DATASET_TRAIN) * (size_t)c->data.repeat;

    session_network_config(c, s->threads, &s->network_config);
    s->network = network_create(&s->network_config, e);
    if (!s->network)
        return -1;
    network_set_sum(s->network, sum_for_batch_norm, s);
    s->adam = adam_create(network_weights(s->network)->nparams, e);
    if (!s->adam)
        return -1;
    s->order = calloc(items ? items : 1, sizeof *s->order);
    return s->order ? 0 : err_set(e, ERR_INTERNAL, "out of memory to shuffle %zu images", items);
}

void session_destroy(struct session *s)
{
    network_destroy(s->network);
    adam_destroy(s->adam);
    free(s->order);
    s->network = NULL;
    s->adam = NULL;
    s->order = NULL;
}

static uint64_t hash_names(uint64_t h, const struct dataset *ds, enum dataset_part part)
{
    for (size_t i = 0; i < dataset_count(ds, part); i++) {
        const char *name = dataset_name(ds, part, i);
        do {
            h = (h ^ (unsigned char)*name) * UINT64_C(1099511628211); /* FNV-1a, with the NUL */
        } while (*name++);
    }
    return (h ^ part) * UINT64_C(1099511628211);
}

static int call_roll(struct session *s, struct roster *roster, struct err *e)
{
    struct roster_entry own = {.threads = s->threads};

    snprintf(own.host, sizeof own.host, "%s", s->host);
    roster_describe(&own);
    own.config_hash = run_config_hash(s->config);
    own.plan_hash = network_plan_hash(s->network);
    own.data_hash = hash_names(UINT64_C(14695981039346656037), s->dataset, DATASET_TRAIN);
    own.data_hash = hash_names(own.data_hash, s->dataset, DATASET_VAL);
    return roster_gather(s->comm, &own, roster, e);
}

/* One host name per process: the replicas of a mirrored one count once. */
static int write_head(struct session *s, const struct roster *roster, struct err *e)
{
    int ranks = s->config->layout.tasks, per_task = s->config->layout.gpus_per_task;
    const char **hosts = calloc((size_t)ranks, sizeof *hosts);

    if (!hosts)
        return err_set(e, ERR_INTERNAL, "out of memory");
    for (int i = 0; i < ranks; i++)
        hosts[i] = roster->entries[i * per_task].host;
    struct record_run run = {
        .config = s->config, .hosts = hosts, .ranks = ranks,
        .backend = network_backend(s->network), .comm = s->comm->ops->name,
        .compiler = "cc " __VERSION__, .dnnl = network_backend_version(s->network),
        .mpi = comm_mpi_version(), .version = PACKAGE_VERSION, .threads = s->threads,
        .cores = roster->entries[0].cores, .oversubscribed = roster_is_oversubscribed(roster),
        .parameters = weights_trainable(network_weights(s->network)),
        .train_images = dataset_count(s->dataset, DATASET_TRAIN),
        .val_images = dataset_count(s->dataset, DATASET_VAL)};
    int rc = record_run(s->record, &run, e);
    free(hosts);
    return rc;
}

/* Everybody starts with rank 0's weights, whatever each computed from the seed. */
static int share_weights(struct session *s, struct err *e)
{
    struct weights *w = network_weights(s->network);
    struct comm *c = s->comm;

    return c->ops->broadcast(c, w->value, w->nparams * sizeof *w->value, 0, e) ||
           c->ops->broadcast(c, w->state, w->nstate * sizeof *w->state, 0, e) ? -1 : 0;
}

static int check_interrupt(const struct session *s, struct err *e)
{
    return s->interrupt && *s->interrupt ? comm_set_interrupted(e, *s->interrupt) : 0;
}

/* Buckets are cut at the same places on every rank, however far each call of backward gets: a rank
 * without images in a step has all its gradients at once. */
static int start_buckets(void *arg, size_t upto, struct err *e)
{
    struct reduction *r = arg;
    struct comm *c = r->session->comm;
    const struct weights *w = network_weights(r->session->network);
    size_t bucket = (size_t)r->session->config->train.bucket_mib * (1 << 20) / sizeof *w->grad;
    double began = clock_now();

    while (r->started < upto) {
        size_t end = w->nparams - r->started < bucket ? w->nparams : r->started + bucket;
        if (end > upto)
            break;
        if (c->ops->start_sum_float(c, w->grad + r->started, end - r->started, e))
            return -1;
        r->started = end;
    }
    r->comm_s += clock_now() - began;
    return 0;
}

static int load_batch(struct session *s, struct shard_range range, struct err *e)
{
    const struct network_config *c = &s->network_config;
    size_t pixels = (size_t)c->height * (size_t)c->width, n = range.end - range.begin;
    float *input, *target;

    if (n == 0)
        return 0;
    input = network_input(s->network, true, (int)n, e);
    target = input ? network_target(s->network, true, (int)n, e) : NULL;
    if (!target)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (dataset_get(s->dataset, DATASET_TRAIN, s->order[range.begin + i],
                        input + i * pixels * (size_t)c->channels, target + i * pixels, e))
            return -1;
    return 0;
}

/* items: of all ranks in this step. */
static int train_step(struct session *s, struct shard_range range, size_t items, double rate,
                      struct epoch_sums *sums, struct err *e)
{
    const struct network_config *config = &s->network_config;
    struct weights *w = network_weights(s->network);
    struct reduction reduction = {.session = s};
    double pixels = (double)items * config->height * config->width;
    double began = clock_now();

    if (load_batch(s, range, e))
        return -1;
    double loaded = clock_now();
    if (network_train(s->network, (int)(range.end - range.begin), pixels, &sums->loss,
                      start_buckets, &reduction, e))
        return -1;
    double computed = clock_now();
    if (s->comm->ops->wait(s->comm, e))
        return -1;
    double summed = clock_now();
    adam_step(s->adam, w->value, w->grad, rate);
    sums->data_s += loaded - began;
    sums->comm_s += reduction.comm_s + (summed - computed);
    sums->compute_s += computed - loaded - reduction.comm_s + (clock_now() - summed);
    return 0;
}

static int check_loss(double loss, int epoch, size_t step, double rate, struct err *e)
{
    if (isfinite(loss))
        return 0;
    return err_set(e, ERR_INTERNAL, "the loss is %s in epoch %d, step %zu: training diverged at "
                   "learning rate %g; try a lower one (train.lr, --lr)",
                   isnan(loss) ? "not a number" : "infinite", epoch, step, rate);
}

static int train_steps(struct session *s, const struct shard_plan *plan, int epoch, double rate,
                       struct progress *progress, struct epoch_sums *sums, struct err *e)
{
    for (size_t step = 0; step < plan->steps; step++) {
        struct shard_range range = shard_train(plan, step, s->comm->rank);
        size_t items = shard_train(plan, step, plan->parts - 1).end -
                       shard_train(plan, step, 0).begin;
        if (step == 0)
            sums->first_step_at = clock_now();
        if (train_step(s, range, items, rate, sums, e) || check_interrupt(s, e) ||
            check_loss(sums->loss, epoch, step, rate, e))
            return -1;
        if (s->record) {
            progress_step(progress, epoch, step + 1, plan->steps);
            if (record_progress(s->record, epoch, step + 1, plan->steps, e))
                return -1;
        }
    }
    return 0;
}

static int train_epoch(struct session *s, const struct shard_plan *plan, int epoch, double rate,
                       struct progress *progress, double *first_step_at, struct err *e)
{
    struct comm *c = s->comm;
    struct epoch_sums sums = {0};
    double began = clock_now(), pixels;

    shard_order((uint64_t)s->config->seed, (size_t)epoch,
                dataset_count(s->dataset, DATASET_TRAIN), (size_t)s->config->data.repeat, s->order);
    if (train_steps(s, plan, epoch, rate, progress, &sums, e))
        return -1;
    double ended = clock_now(), seconds = ended - began;
    if (c->ops->sum_double(c, &sums.loss, 1, e) || c->ops->max_double(c, &seconds, 1, e))
        return -1;
    if (epoch == 0)
        *first_step_at = sums.first_step_at;
    if (!s->record)
        return 0;
    pixels = (double)plan->used * s->network_config.height * s->network_config.width;
    struct record_epoch row = {
        .seconds = seconds, .loss = sums.loss / pixels, .lr = rate, .images = plan->used,
        .steps = plan->steps, .data_s = sums.data_s, .compute_s = sums.compute_s,
        .comm_s = sums.comm_s, .wait_s = clock_now() - ended};
    progress_epoch(progress, epoch, row.loss, seconds, (double)row.images / seconds);
    return record_epoch(s->record, &row, e);
}

static int check_weights(const struct session *s, struct err *e)
{
    const struct weights *w = network_weights(s->network);

    for (size_t i = 0; i < w->nentries; i++) {
        const struct weights_entry *entry = &w->entries[i];
        const float *v = (entry->role == WEIGHTS_PARAM ? w->value : w->state) + entry->offset;
        for (size_t j = 0; j < entry->count; j++)
            if (!isfinite(v[j]))
                return err_set(e, ERR_INTERNAL, "%s is not finite after the last step: training "
                               "diverged; try a lower learning rate (train.lr, --lr)", entry->name);
    }
    return 0;
}

/* All validation images, each on one rank, counted together. */
static int evaluate(struct session *s, struct record_end *end, struct err *e)
{
    struct weights *w = network_weights(s->network);
    struct comm *c = s->comm;

    if (c->ops->broadcast(c, w->state, w->nstate * sizeof *w->state, 0, e) || check_weights(s, e))
        return -1;
    end->val_images = dataset_count(s->dataset, DATASET_VAL);
    struct shard_range mine = shard_eval(end->val_images, c->size, c->rank);
    size_t pixels = (size_t)s->network_config.height * (size_t)s->network_config.width;
    double began = clock_now();
    if (evaluate_images(s->network, s->dataset, DATASET_VAL, mine.begin, mine.end, pixels,
                        s->interrupt, &end->counts, e))
        return -1;
    end->test_time = clock_now() - began;
    return c->ops->sum_int64(c, &end->counts.intersection, 3, e) ||
           c->ops->max_double(c, &end->test_time, 1, e) ? -1 : 0;
}

static int write_results(struct session *s, struct record_end *end, struct err *e)
{
    char dir[PATH_MAX];

    snprintf(dir, sizeof dir, "%s/checkpoint", record_dir(s->record));
    if (checkpoint_write(dir, &s->network_config, network_weights(s->network),
                         end->weights_sha256, e))
        return -1;
    return check_interrupt(s, e) ? -1 : record_done(s->record, end, e);
}

static int make_plan(const struct session *s, struct shard_plan *plan, struct err *e)
{
    const struct run_config *c = s->config;
    bool drop = strcmp(c->data.remainder, "drop") == 0;
    size_t images = dataset_count(s->dataset, DATASET_TRAIN);

    if (shard_plan(images, (size_t)c->data.repeat, s->comm->size, c->train.batch_per_gpu,
                   drop ? SHARD_DROP : SHARD_KEEP, plan, e))
        return -1;
    if (s->network_config.batch_norm == BATCH_NORM_SYNC &&
        plan->used / plan->steps < (size_t)plan->parts)
        return err_set(e, ERR_CONFIG, "model.batch_norm: sync needs an image on each of the %d "
                       "GPUs in every step, and there are only %zu images", plan->parts,
                       plan->items);
    return 0;
}

static int train_and_evaluate(struct session *s, const struct shard_plan *plan,
                              struct progress *progress, struct err *e)
{
    const struct run_config *c = s->config;
    struct schedule schedule = {
        .base = c->train.lr, .epochs = c->train.epochs, .gpus = c->layout.gpus,
        .scaling = strcmp(c->train.lr_scaling, "linear") == 0 ? SCHEDULE_SCALE_LINEAR
                   : strcmp(c->train.lr_scaling, "sqrt") == 0 ? SCHEDULE_SCALE_SQRT
                                                              : SCHEDULE_SCALE_NONE,
        .shape = strcmp(c->train.lr_schedule, "step") == 0 ? SCHEDULE_STEP : SCHEDULE_CONSTANT};
    struct record_end end = {0};
    double first_step_at = 0;

    for (int epoch = 0; epoch < c->train.epochs; epoch++)
        if (train_epoch(s, plan, epoch, schedule_rate(&schedule, epoch), progress, &first_step_at,
                        e))
            return -1;
    if (evaluate(s, &end, e))
        return -1;
    end.startup_s = first_step_at - s->process_start;
    if (s->record && write_results(s, &end, e))
        return -1;
    return s->comm->ops->barrier(s->comm, e); /* nobody is content before the results are written */
}

int session_run(struct session *s, struct err *e)
{
    struct roster roster = {0};
    struct shard_plan plan;
    struct progress progress;

    if (open_session(s, e) || call_roll(s, &roster, e))
        return -1;
    int rc = s->record ? write_head(s, &roster, e) : 0;
    roster_destroy(&roster);
    if (rc || make_plan(s, &plan, e) || share_weights(s, e))
        return -1;
    progress_open(&progress, stderr, s->config->train.epochs);
    rc = train_and_evaluate(s, &plan, &progress, e);
    if (s->record)
        progress_close(&progress);
    return rc;
}
