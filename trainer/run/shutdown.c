/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/run/shutdown.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "src/clock.h"
#include "src/log.h"

atomic_int shutdown_signal, shutdown_request, shutdown_any;

#define NAP_S 0.1
#define NAPS_PER_CHECK 10
#define NAPS_PER_MARKER 3
#define NAPS_PER_END 10

static pthread_t watcher;
static bool watching;
static atomic_bool done;

static void note_signal(int n)
{
    shutdown_signal = shutdown_any = n;
}

static void note_request(int n)
{
    shutdown_request = shutdown_any = n;
}

static void note_interrupt(int n)
{
    if (shutdown_any)
        note_signal(n);
    else
        note_request(n);
}

void shutdown_catch(bool resumable)
{
    struct sigaction end = {.sa_handler = note_signal}, leave = {.sa_handler = note_request},
                     interrupt = {.sa_handler = note_interrupt};

    shutdown_signal = shutdown_request = shutdown_any = 0;
    sigaction(SIGINT, resumable ? &interrupt : &end, NULL);
    sigaction(SIGTERM, resumable ? &leave : &end, NULL);
    if (resumable)
        sigaction(SIGUSR1, &leave, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void nap_until_done(int naps)
{
    for (int i = 0; i < naps && !done; i++)
        clock_sleep(NAP_S);
}

static void *watch_signals(void *arg)
{
    struct err e;

    for (int naps = 1; !done && !shutdown_signal; naps++) {
        clock_sleep(NAP_S);
        if (naps % NAPS_PER_CHECK == 0 && record_check(arg, &e)) {
            log_error("%s", e.text);
            note_signal(SIGTERM);
        }
    }
    nap_until_done(NAPS_PER_MARKER);
    if (done)
        return NULL;
    err_signal(&e, shutdown_signal);
    record_failed(arg, &e);
    nap_until_done(NAPS_PER_END);
    if (!done)
        _exit(128 + shutdown_signal); /* a step may take minutes */
    return NULL;
}

void shutdown_watch(struct record *r)
{
    done = false;
    watching = pthread_create(&watcher, NULL, watch_signals, r) == 0;
}

void shutdown_unwatch(void)
{
    if (!watching)
        return;
    done = true;
    pthread_join(watcher, NULL);
    watching = false;
}
