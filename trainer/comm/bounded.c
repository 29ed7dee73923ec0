/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/bounded.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "src/clock.h"

/* Static, because a thread that never returns may still write here. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t done_changed;
    bool done;
    int rc;
    int (*body)(void);
} call = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *run_body(void *arg)
{
    int rc = call.body();

    pthread_mutex_lock(&call.lock);
    call.rc = rc;
    call.done = true;
    pthread_cond_signal(&call.done_changed);
    pthread_mutex_unlock(&call.lock);
    return NULL;
}

int bounded_call(int (*body)(void), double timeout_s, const atomic_int *interrupt, int *rc)
{
    double deadline = clock_now() + timeout_s;
    pthread_condattr_t attr;
    pthread_t thread;
    int verdict = 0;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&call.done_changed, &attr);
    pthread_condattr_destroy(&attr);
    call.done = false;
    call.body = body;
    if (pthread_create(&thread, NULL, run_body, NULL))
        return -1;
    pthread_mutex_lock(&call.lock);
    while (!call.done && verdict == 0) {
        double nap = clock_now() + 0.1; /* wakes up to poll the interrupt flag */
        struct timespec until = {.tv_sec = (time_t)nap,
                                 .tv_nsec = (long)((nap - (double)(time_t)nap) * 1e9)};
        pthread_cond_timedwait(&call.done_changed, &call.lock, &until);
        if (!call.done && interrupt && *interrupt)
            verdict = 128 + *interrupt;
        else if (!call.done && clock_now() >= deadline)
            verdict = 1;
    }
    *rc = call.rc;
    pthread_mutex_unlock(&call.lock);
    if (verdict == 0)
        pthread_join(thread, NULL);
    else
        pthread_detach(thread);
    return verdict;
}
