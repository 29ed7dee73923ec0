/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/parallel.h"

#include <stdatomic.h>

#define THREADS 8 /* more would only wait for the same disk */
#define FEWEST 64 /* items for which a second thread is worth its start */

struct work {
    parallel_f *f;
    void *arg;
    size_t n;
    atomic_size_t next;
    atomic_bool failed;
    struct err *e;
};

static void *take_items(void *arg)
{
    struct work *w = arg;
    struct err e;
    size_t i;

    while (!w->failed && (i = atomic_fetch_add(&w->next, 1)) < w->n)
        if (w->f(w->arg, i, &e) && !atomic_exchange(&w->failed, true))
            *w->e = e;
    return NULL;
}

int parallel_each(size_t n, int nthreads, parallel_f *f, void *arg, struct err *e)
{
    struct work w = {.f = f, .arg = arg, .n = n, .e = e};
    pthread_t threads[PARALLEL_MOST];
    int started = 0;

    nthreads = nthreads < PARALLEL_MOST ? nthreads : PARALLEL_MOST;
    while (started + 1 < nthreads && (size_t)started + 1 < n &&
           pthread_create(&threads[started], NULL, take_items, &w) == 0)
        started++;
    take_items(&w);
    while (started > 0)
        pthread_join(threads[--started], NULL);
    return w.failed ? -1 : 0;
}

int parallel_many(size_t n, parallel_f *f, void *arg, struct err *e)
{
    return parallel_each(n, n < FEWEST ? 1 : THREADS, f, arg, e);
}

static void *run_task(void *arg)
{
    struct parallel_task *t = arg;

    t->f(t->arg);
    return NULL;
}

void parallel_begin(struct parallel_task *t, bool may, void (*f)(void *arg), void *arg)
{
    *t = (struct parallel_task){.f = f, .arg = arg};
    t->started = may && pthread_create(&t->thread, NULL, run_task, t) == 0;
}

void parallel_join(struct parallel_task *t)
{
    if (t->started)
        pthread_join(t->thread, NULL);
    else
        t->f(t->arg);
}
