/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of the images in an epoch, and the threads that load them. */
#include "src/base.h"
#include "trainer/data/set/loader.h"

#include <pthread.h>

#include "src/rng.h"

/* Streams of rng.h, one per epoch; other modules use other streams. */
#define STREAM_SHARD (UINT64_C(0x53484152) << 32)

/* Returns floor(i * n / parts) without the overflow of i * n. */
static size_t share_begin(size_t n, size_t i, size_t parts)
{
    return n / parts * i + n % parts * i / parts;
}

int shard_plan(size_t images, size_t repeat, int parts, size_t full, enum shard_remainder remainder,
               struct shard_plan *plan, struct err *e)
{
    size_t items;

    if (images == 0 || repeat == 0)
        return err_set(e, ERR_DATA, "no training images");
    if (__builtin_mul_overflow(images, repeat, &items) || items > UINT32_MAX)
        return err_set(e, ERR_DATA, "%zu images x repeat %zu is more than an epoch can have",
                       images, repeat);
    if (remainder == SHARD_DROP && items < full)
        return err_set(e, ERR_DATA,
                       "%zu training images do not fill one step of %zu images on %d devices, and "
                       "remainder: drop uses only full steps; use remainder: keep, a smaller batch "
                       "or fewer devices", items, full, parts);
    *plan = (struct shard_plan){.items = items, .parts = parts, .remainder = remainder};
    shard_continue(plan, 0, full);
    return 0;
}

void shard_continue(struct shard_plan *plan, size_t begin, size_t full)
{
    size_t left = begin < plan->items ? plan->items - begin : 0;
    bool drop = plan->remainder == SHARD_DROP;

    plan->begin = begin;
    plan->steps = drop ? left / full : (left + full - 1) / full;
    plan->used = begin + (drop ? plan->steps * full : left);
}

struct shard_range shard_train(const struct shard_plan *plan, size_t step, int part)
{
    size_t left = plan->used - plan->begin;
    size_t begin = plan->begin + share_begin(left, step, plan->steps);
    size_t end = plan->begin + share_begin(left, step + 1, plan->steps);
    struct shard_range within = shard_eval(end - begin, plan->parts, part);

    return (struct shard_range){begin + within.begin, begin + within.end};
}

struct shard_range shard_eval(size_t images, int parts, int part)
{
    return (struct shard_range){share_begin(images, (size_t)part, (size_t)parts),
                                share_begin(images, (size_t)part + 1, (size_t)parts)};
}

void shard_order(uint64_t seed, size_t epoch, size_t images, size_t repeat, size_t *order)
{
    rng_permutation(seed, STREAM_SHARD + epoch, images * repeat, order);
}

/* Threads claim the items of the epochs in order and load each into its place in one of a ring of
 * batches; loader_next waits for these in the same order, so that the result does not depend on the
 * threads. */

/* A place in the sequence of items that this part processes: a step of an epoch, an item of the
 * step. */
struct loader_cursor {
    size_t batch; /* counts the steps since the last seek */
    size_t epoch, step, item;
    struct shard_plan plan;
};

/* An item for a thread to load. */
struct loader_job {
    size_t batch, item;
    size_t epoch, position, sample, copy;
};

struct loader_batch {
    char *records;
    size_t nbytes, nloaded; /* as in struct record_batch; items that are loaded, or have failed */
    bool failed;
    size_t first; /* the first item that has failed, with e */
    struct err e;
};

/* What belongs to one thread. */
struct loader_worker {
    struct loader *loader;
    pthread_t thread;
    struct augment *augment; /* NULL without augmentation */
    struct record *room;     /* of a patch that is augmented */
};

struct loader {
    struct loader_config config;
    struct sampler *sampler;
    size_t samples;         /* of an epoch, each `repeat` times */
    size_t values, targets; /* of a sample */
    size_t pitch;           /* bytes of the largest record */
    struct loader_worker
        *workers; /* at least one, which loader_next uses if there are no threads */
    int nworkers, nthreads;
    struct loader_batch *batches; /* batch i of the sequence is in batches[i % nbatches] */
    size_t nbatches, held;        /* held: batches that stay valid, the last one included */

    pthread_mutex_t lock;
    pthread_cond_t filled, freed;
    bool quit;
    size_t end;     /* items of batches from this one on may not be claimed yet */
    size_t loading; /* number of items being loaded */
    bool paused;
    struct loader_cursor claim, take;
    size_t *order;
    size_t order_epoch; /* the epoch of order, or SIZE_MAX */
};

static struct shard_range step_share(const struct loader *l, const struct loader_cursor *c)
{
    return shard_train(&c->plan, c->step, l->config.part);
}

/* Moves past empty shares and ends of epochs to the next item, or to the end of the last epoch. */
static void skip_to_item(const struct loader *l, struct loader_cursor *c)
{
    while (c->epoch < l->config.epochs) {
        if (c->step >= c->plan.steps) {
            c->epoch++;
            c->step = 0;
            c->plan = l->config.plan;
        } else {
            struct shard_range r = step_share(l, c);
            if (c->item < r.end - r.begin)
                return;
            c->step++;
            c->batch++;
        }
        c->item = 0;
    }
}

/* Assigns the next item to the calling thread, which holds the lock if there are others. Returns
 * false if all batches are in use, no item is left, or a seek is in progress. */
static bool claim_item(struct loader *l, struct loader_job *job)
{
    const struct loader_config *c = &l->config;

    if (l->paused)
        return false;
    skip_to_item(l, &l->claim);
    if (l->claim.epoch >= c->epochs || l->claim.batch >= l->end)
        return false;
    if (l->order_epoch != l->claim.epoch) {
        shard_order(c->seed, l->claim.epoch, l->samples, c->repeat, l->order);
        l->order_epoch = l->claim.epoch;
    }
    size_t item = l->claim.item++, position = step_share(l, &l->claim).begin + item;
    *job = (struct loader_job){l->claim.batch, item, l->claim.epoch, position,
                               l->order[position] % l->samples, l->order[position] / l->samples};
    return true;
}

static size_t load_item(struct loader_worker *w, const struct loader_job *job, struct err *e)
{
    struct loader *l = w->loader;
    const struct loader_batch *b = &l->batches[job->batch % l->nbatches];
    struct record *dst = (void *)(b->records + job->item * l->pitch);
    const struct record *r = sampler_take(l->sampler, l->config.seed, job->epoch, job->position,
                                          job->sample, w->augment ? w->room : dst, e);
    struct augment_draw draw;

    if (!r)
        return 0;
    if (!w->augment) {
        if (r != dst)
            memcpy(dst, r, record_nbytes(r, l->values, l->targets));
        return record_nbytes(dst, l->values, l->targets);
    }
    augment_draw(w->augment, l->config.seed, job->epoch, job->position, &draw);
    if (l->config.augment.six)
        augment_six(job->copy, &draw);
    augment_apply(w->augment, &draw, r, dst);
    return record_nbytes(dst, l->values, l->targets);
}

static void count_item(struct loader *l, const struct loader_job *job, size_t nbytes,
                       const struct err *e)
{
    struct loader_batch *b = &l->batches[job->batch % l->nbatches];

    if (nbytes > b->nbytes)
        b->nbytes = nbytes;
    if (nbytes == 0 && (!b->failed || job->item < b->first)) {
        b->failed = true;
        b->first = job->item;
        b->e = *e;
    }
    b->nloaded++;
}

static void *load_items(void *arg)
{
    struct loader_worker *w = arg;
    struct loader *l = w->loader;
    struct loader_job job;
    struct err e;

    pthread_mutex_lock(&l->lock);
    while (!l->quit) {
        if (!claim_item(l, &job)) {
            pthread_cond_wait(&l->freed, &l->lock);
            continue;
        }
        l->loading++;
        pthread_mutex_unlock(&l->lock);
        size_t nbytes = load_item(w, &job, &e);
        pthread_mutex_lock(&l->lock);
        l->loading--;
        count_item(l, &job, nbytes, &e);
        pthread_cond_broadcast(&l->filled);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static int open_worker(struct loader *l, struct loader_worker *w, struct err *e)
{
    const struct loader_config *c = &l->config;
    int height, width, channels = dataset_size(c->dataset, &height, &width);

    w->loader = l;
    if (!augment_is_active(&c->augment))
        return 0;
    w->augment = augment_create(&c->augment, height, width, channels,
                                dataset_has_masks(c->dataset), e);
    w->room = mem_alloc(1, l->pitch, e);
    return w->augment && w->room ? 0 : -1;
}

static int open_batches(struct loader *l, struct err *e)
{
    const struct loader_config *c = &l->config;
    size_t n = (size_t)c->batch;

    l->held = c->device ? DEVICE_SLOTS : 1;
    l->nbatches = l->end = l->held + LOADER_BATCHES - 1;
    l->batches = mem_zero(l->nbatches, sizeof *l->batches, e);
    for (size_t i = 0; l->batches && i < l->nbatches; i++) {
        l->batches[i].records = c->device ? c->ops->alloc(c->device, DEVICE_HOST, n * l->pitch, e)
                                          : mem_alloc(n, l->pitch, e);
        if (!l->batches[i].records)
            return -1;
    }
    return l->batches ? 0 : -1;
}

static int start_threads(struct loader *l, struct err *e)
{
    for (; l->nthreads < l->config.threads; l->nthreads++) {
        int reason = pthread_create(&l->workers[l->nthreads].thread, NULL, load_items,
                                    &l->workers[l->nthreads]);
        if (reason)
            return err_errno(e, ERR_INTERNAL, reason, "cannot start a thread that loads images");
    }
    return 0;
}

static int open_loader(struct loader *l, struct err *e)
{
    const struct loader_config *c = &l->config;
    int height, width, channels = dataset_size(c->dataset, &height, &width);

    l->sampler = sampler_create(c->dataset, c->images, c->patches, c->foreground, e);
    if (!l->sampler)
        return -1;
    l->samples = sampler_size(c->dataset, c->images, c->patches);
    l->values = (size_t)height * (size_t)width * (size_t)channels;
    l->targets = dataset_targets(c->dataset);
    l->pitch = record_size(RECORD_NUMBERS, l->values, RECORD_NUMBERS, l->targets);
    l->nworkers = c->threads ? c->threads : 1;
    l->workers = mem_zero((size_t)l->nworkers, sizeof *l->workers, e);
    l->order = mem_zero(l->samples * c->repeat, sizeof *l->order, e);
    l->order_epoch = SIZE_MAX;
    l->claim.plan = l->take.plan = c->plan;
    if (!l->workers || !l->order)
        return -1;
    for (int i = 0; i < l->nworkers; i++)
        if (open_worker(l, &l->workers[i], e))
            return -1;
    return open_batches(l, e) || start_threads(l, e) ? -1 : 0;
}

struct loader *loader_create(const struct loader_config *config, struct err *e)
{
    struct loader *l = mem_zero(1, sizeof *l, e);

    if (!l)
        return NULL;
    l->config = *config;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->filled, NULL);
    pthread_cond_init(&l->freed, NULL);
    if (open_loader(l, e)) {
        loader_destroy(l);
        return NULL;
    }
    return l;
}

void loader_destroy(struct loader *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->quit = true;
    pthread_cond_broadcast(&l->freed);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->nthreads; i++)
        pthread_join(l->workers[i].thread, NULL);
    for (int i = 0; l->workers && i < l->nworkers; i++) {
        augment_destroy(l->workers[i].augment);
        free(l->workers[i].room);
    }
    for (size_t i = 0; l->batches && i < l->nbatches; i++)
        if (l->config.device)
            l->config.ops->free(l->config.device, DEVICE_HOST, l->batches[i].records);
        else
            free(l->batches[i].records);
    free(l->batches);
    free(l->workers);
    free(l->order);
    sampler_destroy(l->sampler);
    pthread_cond_destroy(&l->freed);
    pthread_cond_destroy(&l->filled);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static bool plans_equal(const struct shard_plan *a, const struct shard_plan *b)
{
    return a->steps == b->steps && a->used == b->used && a->parts == b->parts &&
           a->begin == b->begin;
}

static void clear_batch(struct loader_batch *b)
{
    b->nbytes = b->nloaded = 0;
    b->failed = false;
}

void loader_seek(struct loader *l, size_t epoch, const struct shard_plan *plan, size_t step)
{
    struct loader_cursor to = {.epoch = epoch, .step = step, .plan = plan ? *plan : l->config.plan};
    bool epoch_ends = l->take.step >= l->take.plan.steps;
    size_t next_epoch = l->take.epoch + epoch_ends, next_step = epoch_ends ? 0 : l->take.step;
    const struct shard_plan *next_plan = epoch_ends ? &l->config.plan : &l->take.plan;

    if (next_epoch == epoch && next_step == step && plans_equal(next_plan, &to.plan))
        return;
    pthread_mutex_lock(&l->lock);
    l->paused = true;
    while (l->loading)
        pthread_cond_wait(&l->filled, &l->lock);
    for (size_t i = 0; i < l->nbatches; i++)
        clear_batch(&l->batches[i]);
    to.batch = l->take.batch;
    l->claim = l->take = to;
    l->paused = false;
    pthread_cond_broadcast(&l->freed);
    pthread_mutex_unlock(&l->lock);
}

/* Lets the threads load into the batch that the caller has no longer. */
static void free_batch(struct loader *l)
{
    size_t end = l->take.batch + l->nbatches - l->held + 1;

    pthread_mutex_lock(&l->lock);
    for (; l->end < end; l->end++)
        clear_batch(&l->batches[l->end % l->nbatches]);
    pthread_cond_broadcast(&l->freed);
    pthread_mutex_unlock(&l->lock);
}

/* Waits until the n items of the batch are loaded; without threads, loads them. */
static void wait_for_batch(struct loader *l, const struct loader_batch *b, size_t n)
{
    struct loader_job job;
    struct err e;

    while (l->config.threads == 0 && b->nloaded < n && claim_item(l, &job))
        count_item(l, &job, load_item(&l->workers[0], &job, &e), &e);
    pthread_mutex_lock(&l->lock);
    while (b->nloaded < n)
        pthread_cond_wait(&l->filled, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

int loader_next(struct loader *l, struct record_batch *batch, struct err *e)
{
    struct loader_cursor *c = &l->take;

    if (c->step >= c->plan.steps)
        *c = (struct loader_cursor){
            .batch = c->batch, .epoch = c->epoch + 1, .plan = l->config.plan};
    struct shard_range r = step_share(l, c);
    struct loader_batch *b = &l->batches[c->batch % l->nbatches];
    free_batch(l);
    wait_for_batch(l, b, r.end - r.begin);
    c->step++;
    c->batch++;
    if (b->failed) {
        *e = b->e;
        return -1;
    }
    *batch = (struct record_batch){b->records, l->pitch, b->nbytes, r.end - r.begin};
    return 0;
}
