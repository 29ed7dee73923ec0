/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/bounded.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "src/clock.h"

#define NAP_S 0.1 /* between two looks at the interrupt flag */

static int (*called)(void);

static void *run_body(void *arg)
{
    return (void *)(intptr_t)called();
}

int bounded_call(int (*body)(void), double timeout_s, const atomic_int *interrupt, int *rc)
{
    double deadline = clock_now() + timeout_s;
    pthread_t thread;
    void *result;
    int verdict = 0;

    called = body;
    if (pthread_create(&thread, NULL, run_body, NULL))
        return -1;
    while (verdict == 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        long ns = until.tv_nsec + (long)(NAP_S * 1e9);
        until.tv_sec += ns / 1000000000;
        until.tv_nsec = ns % 1000000000;
        if (pthread_timedjoin_np(thread, &result, &until) == 0) {
            *rc = (int)(intptr_t)result;
            return 0;
        }
        verdict = interrupt && *interrupt ? 128 + *interrupt : clock_now() >= deadline;
    }
    pthread_detach(thread);
    return verdict;
}
