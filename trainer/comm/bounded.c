/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/bounded.h"

#include <pthread.h>
#include <stdint.h>

#include "src/clock.h"

#define NAP_S 0.02 /* between two looks at the thread and the interrupt flag */

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
        if (pthread_tryjoin_np(thread, &result) == 0) {
            *rc = (int)(intptr_t)result;
            return 0;
        }
        clock_sleep(NAP_S);
        verdict = interrupt && *interrupt ? 128 + *interrupt : clock_now() >= deadline;
    }
    pthread_detach(thread);
    return verdict;
}
