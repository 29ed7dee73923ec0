/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads claim the items of the epochs in order and load each into slot number % nslots;
 * loader_next waits for the slots in the same order, so that the result does not depend on the
 * threads. */
#include "config.h"
#include "trainer/data/set/loader.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/mem.h"

#define BATCHES_AHEAD 2

/* A place in the sequence of items that this part processes: a step of an epoch, an item of the
 * step. */
struct loader_cursor {
    size_t epoch, step, item;
    struct shard_plan plan;
};

/* An item for a thread to load. */
struct loader_job {
    size_t number; /* in the sequence since the last seek */
    size_t epoch, position, image, copy;
};

struct loader_slot {
    bool ready;
    int rc;
    struct err e;
    float *image;
    float *target;
};

/* What belongs to one thread. */
struct loader_worker {
    struct loader *loader;
    pthread_t thread;
    struct augment *augment; /* NULL without augmentation */
    float *image;            /* the sample before augmentation */
    float *target;
};

struct loader {
    struct loader_config config;
    size_t image_values, target_values;
    bool has_masks; /* false: a target is a single class, which augmentation does not change */
    struct loader_worker
        *workers; /* at least one, which loader_next uses if there are no threads */
    int nworkers, nthreads;
    struct loader_slot *slots; /* item i of the sequence is in slot i % nslots */
    size_t nslots;

    pthread_mutex_t lock;
    pthread_cond_t filled, freed;
    bool quit;
    size_t claimed, taken; /* next item that a thread will load; next that the caller will get */
    size_t loading;        /* number of items being loaded */
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
        }
        c->item = 0;
    }
}

/* Assigns the next item to the calling thread, which holds the lock if there are others. Returns
 * false if all slots are in use, no item is left, or a seek is in progress. */
static bool claim_item(struct loader *l, struct loader_job *job)
{
    const struct loader_config *c = &l->config;
    size_t images = dataset_count(c->dataset, DATASET_TRAIN);

    if (l->paused || l->claimed - l->taken >= l->nslots)
        return false;
    skip_to_item(l, &l->claim);
    if (l->claim.epoch >= c->epochs)
        return false;
    if (l->order_epoch != l->claim.epoch) {
        shard_order(c->seed, l->claim.epoch, images, c->repeat, l->order);
        l->order_epoch = l->claim.epoch;
    }
    size_t position = step_share(l, &l->claim).begin + l->claim.item++;
    *job = (struct loader_job){l->claimed++, l->claim.epoch, position, l->order[position] % images,
                               l->order[position] / images};
    return true;
}

static void load_item(struct loader_worker *w, const struct loader_job *job)
{
    struct loader *l = w->loader;
    struct loader_slot *s = &l->slots[job->number % l->nslots];
    struct augment_draw draw;
    int height, width;

    if (!w->augment) {
        s->rc = dataset_get(l->config.dataset, DATASET_TRAIN, job->image, s->image, s->target,
                            &s->e);
        return;
    }
    s->rc = dataset_get(l->config.dataset, DATASET_TRAIN, job->image, w->image, w->target, &s->e);
    if (s->rc)
        return;
    dataset_size(l->config.dataset, &height, &width);
    augment_draw(&l->config.augment, height == width, l->config.seed, job->epoch, job->position,
                 &draw);
    if (l->config.augment.six)
        augment_six(job->copy, &draw);
    augment_apply(w->augment, &draw, w->image, l->has_masks ? w->target : NULL, s->image,
                  s->target);
    if (!l->has_masks)
        memcpy(s->target, w->target, l->target_values * sizeof *s->target);
}

static void *load_items(void *arg)
{
    struct loader_worker *w = arg;
    struct loader *l = w->loader;
    struct loader_job job;

    pthread_mutex_lock(&l->lock);
    while (!l->quit) {
        if (!claim_item(l, &job)) {
            pthread_cond_wait(&l->freed, &l->lock);
            continue;
        }
        l->loading++;
        pthread_mutex_unlock(&l->lock);
        load_item(w, &job);
        pthread_mutex_lock(&l->lock);
        l->loading--;
        l->slots[job.number % l->nslots].ready = true;
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
    w->augment = augment_create(&c->augment, height, width, channels, e);
    w->image = mem_alloc(l->image_values, sizeof *w->image, e);
    w->target = mem_alloc(l->target_values, sizeof *w->target, e);
    return w->augment && w->image && w->target ? 0 : -1;
}

static int open_slots(struct loader *l, struct err *e)
{
    l->nslots = (size_t)l->config.batch * BATCHES_AHEAD;
    l->slots = mem_zero(l->nslots, sizeof *l->slots, e);
    for (size_t i = 0; l->slots && i < l->nslots; i++) {
        l->slots[i].image = mem_alloc(l->image_values, sizeof(float), e);
        l->slots[i].target = mem_alloc(l->target_values, sizeof(float), e);
        if (!l->slots[i].image || !l->slots[i].target)
            return -1;
    }
    return l->slots ? 0 : -1;
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
    size_t items = dataset_count(c->dataset, DATASET_TRAIN) * c->repeat;

    l->has_masks = dataset_has_masks(c->dataset);
    l->image_values = (size_t)height * (size_t)width * (size_t)channels;
    l->target_values = dataset_targets(c->dataset);
    l->nworkers = c->threads ? c->threads : 1;
    l->workers = mem_zero((size_t)l->nworkers, sizeof *l->workers, e);
    l->order = mem_zero(items, sizeof *l->order, e);
    l->order_epoch = SIZE_MAX;
    l->claim.plan = l->take.plan = c->plan;
    if (!l->workers || !l->order)
        return -1;
    for (int i = 0; i < l->nworkers; i++)
        if (open_worker(l, &l->workers[i], e))
            return -1;
    return open_slots(l, e) || start_threads(l, e) ? -1 : 0;
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
        free(l->workers[i].image);
        free(l->workers[i].target);
    }
    for (size_t i = 0; l->slots && i < l->nslots; i++) {
        free(l->slots[i].image);
        free(l->slots[i].target);
    }
    free(l->slots);
    free(l->workers);
    free(l->order);
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
    for (size_t i = 0; i < l->nslots; i++)
        l->slots[i].ready = false;
    l->claimed = l->taken = 0;
    l->claim = l->take = to;
    l->paused = false;
    pthread_cond_broadcast(&l->freed);
    pthread_mutex_unlock(&l->lock);
}

/* Waits until the slot of the next item is filled; without threads, fills it. */
static struct loader_slot *wait_for_slot(struct loader *l)
{
    struct loader_slot *s = &l->slots[l->taken % l->nslots];
    struct loader_job job;

    if (l->config.threads == 0) {
        if (claim_item(l, &job))
            load_item(&l->workers[0], &job);
        return s;
    }
    pthread_mutex_lock(&l->lock);
    while (!s->ready)
        pthread_cond_wait(&l->filled, &l->lock);
    pthread_mutex_unlock(&l->lock);
    return s;
}

static void free_slot(struct loader *l, struct loader_slot *s)
{
    pthread_mutex_lock(&l->lock);
    s->ready = false;
    l->taken++;
    pthread_cond_signal(&l->freed);
    pthread_mutex_unlock(&l->lock);
}

int loader_next(struct loader *l, float *images, float *targets, struct err *e)
{
    if (l->take.step >= l->take.plan.steps)
        l->take = (struct loader_cursor){.epoch = l->take.epoch + 1, .plan = l->config.plan};
    struct shard_range r = step_share(l, &l->take);
    l->take.step++;
    for (size_t i = 0; i < r.end - r.begin; i++) {
        struct loader_slot *s = wait_for_slot(l);
        if (s->rc) {
            *e = s->e;
            return -1;
        }
        memcpy(images + i * l->image_values, s->image, l->image_values * sizeof *images);
        memcpy(targets + i * l->target_values, s->target, l->target_values * sizeof *targets);
        free_slot(l, s);
    }
    return 0;
}
