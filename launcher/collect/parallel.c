/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define MAX_THREADS 8 /* more wait for the same disk */
#define FEWEST 64     /* items for which a second thread is worth its start */

struct work {
    parallel_f *f;
    void *arg;
    size_t n;
    atomic_size_t next;
};

static void *take_items(void *arg)
{
    struct work *w = arg;
    size_t i;

    while ((i = atomic_fetch_add(&w->next, 1)) < w->n)
        w->f(w->arg, i);
    return NULL;
}

/* Cores that this process may use. */
static int count_cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
}

void parallel_each(size_t n, parallel_f *f, void *arg)
{
    struct work work = {.f = f, .arg = arg, .n = n};
    pthread_t threads[MAX_THREADS];
    int wanted = count_cores(), started = 0;

    wanted = n < FEWEST ? 1 : wanted > MAX_THREADS ? MAX_THREADS : wanted;
    while (started < wanted - 1 && pthread_create(&threads[started], NULL, take_items, &work) == 0)
        started++;
    take_items(&work);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}
