/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal handlers set flags, which the training polls and a thread watches. */
#include "config.h"
#include "trainer/run/shutdown.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "src/clock.h"
#include "src/log.h"
#include "trainer/run/ranks/local_ranks.h"

atomic_int shutdown_signal, shutdown_request, shutdown_any;

#define SLEEP_S 0.1
/* Numbers of sleeps: between checks of the folder's owner; from the signal to the marker; from the
 * marker to the end of the process. */
#define SLEEPS_PER_CHECK 10
#define SLEEPS_BEFORE_MARKER 3
#define SLEEPS_BEFORE_EXIT 10

static pthread_t watcher;
static bool watching;
static atomic_bool done;
static _Atomic double asked_at;  /* when a signal first asked to end, or 0 */
static atomic_bool ends_at_once; /* after a second SIGTERM */

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
    asked_at = asked_at > 0 ? asked_at : clock_now();
}

static void note_term(int n)
{
    ends_at_once |= asked_at > 0 && clock_now() >= asked_at + LOCAL_RANKS_TWICE_S;
    asked_at = asked_at > 0 ? asked_at : clock_now();
    note_request(n);
}

void shutdown_catch(bool resumable)
{
    struct sigaction end = {.sa_handler = note_signal}, leave = {.sa_handler = note_request},
                     interrupt = {.sa_handler = note_interrupt}, term = {.sa_handler = note_term};

    shutdown_signal = shutdown_request = shutdown_any = 0;
    sigaction(SIGINT, resumable ? &interrupt : &end, NULL);
    sigaction(SIGTERM, resumable ? &term : &end, NULL);
    if (resumable)
        sigaction(SIGUSR1, &leave, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void sleep_until_done(int sleeps)
{
    for (int i = 0; i < sleeps && !done; i++)
        clock_sleep(SLEEP_S);
}

/* The parent of forked ranks reports how they have ended. */
static void end_process(int code, const char *text)
{
    if (local_ranks_index() < 0)
        log_error("%s", text);
    _exit(code);
}

static void *watch_signals(void *arg)
{
    struct run_log *r = arg;
    struct err e;

    for (int sleeps = 1; !done && !shutdown_signal && !ends_at_once; sleeps++) {
        clock_sleep(SLEEP_S);
        if (r && sleeps % SLEEPS_PER_CHECK == 0 && run_log_check(r, &e)) {
            log_error("%s", e.text);
            note_signal(SIGTERM);
        }
    }
    sleep_until_done(SLEEPS_BEFORE_MARKER);
    if (done)
        return NULL;
    if (shutdown_signal)
        err_signal(&e, shutdown_signal);
    else
        err_set(&e, ERR_RESUMABLE, LOCAL_RANKS_TWICE_TEXT);
    if (r)
        run_log_failed(r, &e);
    sleep_until_done(SLEEPS_BEFORE_EXIT);
    if (!done)
        end_process(e.code, e.text); /* the current step may still take minutes */
    return NULL;
}

void shutdown_watch(struct run_log *r)
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
