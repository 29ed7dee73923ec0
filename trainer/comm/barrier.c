/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/barrier.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "src/clock.h"

#define LINE 64       /* bytes of a cache line */
#define POLLS 100     /* polls between two reads of the clock */
#define SPIN_S 0.0005 /* polling time before a thread sleeps */
#define NAP_NS 20000000L

struct barrier_memory {
    _Alignas(LINE) atomic_uint arrived;
    _Alignas(LINE) atomic_uint generation; /* number of barriers completed; the futex */
    atomic_uint sleepers;
};

size_t barrier_bytes(void)
{
    return sizeof(struct barrier_memory);
}

void barrier_join(struct barrier *b, void *memory, int rank, int size)
{
    *b = (struct barrier){.memory = memory, .rank = rank, .size = size};
}

static void futex(atomic_uint *word, int op, unsigned value, const struct timespec *timeout)
{
    syscall(SYS_futex, (void *)word, op, value, timeout, NULL, 0);
}

static bool poll_generation(const struct barrier_memory *r, unsigned generation, int times)
{
    for (int i = 0; i < times; i++)
        if (r->generation != generation)
            return true;
    return false;
}

static int await_others(struct barrier *b, unsigned generation, struct err *e)
{
    struct barrier_memory *r = b->memory;
    double began = clock_now();

    while (!poll_generation(r, generation, b->spins ? POLLS : 1)) {
        if (b->spins && clock_now() - began < SPIN_S)
            continue;
        r->sleepers++;
        futex(&r->generation, FUTEX_WAIT, generation, &(struct timespec){.tv_nsec = NAP_NS});
        r->sleepers--;
        if (r->generation == generation && b->check && b->check(b->arg, clock_now() - began, e))
            return -1;
    }
    return 0;
}

int barrier_wait(struct barrier *b, struct err *e)
{
    struct barrier_memory *r = b->memory;
    unsigned generation = r->generation;

    if (atomic_fetch_add(&r->arrived, 1) + 1 < (unsigned)b->size)
        return await_others(b, generation, e);
    r->arrived = 0;
    r->generation++;
    barrier_wake(b);
    return 0;
}

void barrier_wake(struct barrier *b)
{
    if (b->memory->sleepers > 0)
        futex(&b->memory->generation, FUTEX_WAKE, INT_MAX, NULL);
}
