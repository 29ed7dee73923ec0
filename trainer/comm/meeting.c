/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/meeting.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "src/clock.h"

#define LINE 64        /* bytes of a cache line */
#define POLLS 100      /* polls between two reads of the clock */
#define SPIN_S 0.0005  /* polling time before a thread sleeps */
#define NAP_NS 20000000L

struct seat {
    _Alignas(LINE) atomic_ulong arrivals;
};

struct meeting_room {
    _Alignas(LINE) atomic_uint arrived;
    _Alignas(LINE) atomic_uint generation; /* number of barriers completed; the futex */
    atomic_uint sleepers;
    struct seat seats[];
};

size_t meeting_bytes(int size)
{
    return sizeof(struct meeting_room) + (size_t)size * sizeof(struct seat);
}

void meeting_enter(struct meeting *m, void *memory, int rank, int size)
{
    *m = (struct meeting){.room = memory, .rank = rank, .size = size};
}

static void futex(atomic_uint *word, int op, unsigned value, const struct timespec *timeout)
{
    syscall(SYS_futex, (void *)word, op, value, timeout, NULL, 0);
}

static bool poll_generation(const struct meeting_room *r, unsigned generation, int times)
{
    for (int i = 0; i < times; i++)
        if (r->generation != generation)
            return true;
    return false;
}

static int await_others(struct meeting *m, unsigned generation, struct err *e)
{
    struct meeting_room *r = m->room;
    double began = clock_now();

    while (!poll_generation(r, generation, m->spins ? POLLS : 1)) {
        if (m->spins && clock_now() - began < SPIN_S)
            continue;
        r->sleepers++;
        futex(&r->generation, FUTEX_WAIT, generation, &(struct timespec){.tv_nsec = NAP_NS});
        r->sleepers--;
        if (r->generation == generation && m->check && m->check(m->arg, clock_now() - began, e))
            return -1;
    }
    return 0;
}

int meeting_hold(struct meeting *m, struct err *e)
{
    struct meeting_room *r = m->room;
    unsigned generation = r->generation;

    r->seats[m->rank].arrivals++;
    if (atomic_fetch_add(&r->arrived, 1) + 1 < (unsigned)m->size)
        return await_others(m, generation, e);
    r->arrived = 0;
    r->generation++;
    meeting_disturb(m);
    return 0;
}

void meeting_disturb(struct meeting *m)
{
    if (m->room->sleepers > 0)
        futex(&m->room->generation, FUTEX_WAKE, INT_MAX, NULL);
}

int meeting_count_arrived(const struct meeting *m)
{
    return (int)m->room->arrived;
}

int meeting_find_absent(const struct meeting *m)
{
    const struct seat *seats = m->room->seats;

    for (int r = 0; r < m->size; r++)
        if (seats[r].arrivals < seats[m->rank].arrivals)
            return r;
    return -1;
}
