/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions and barriers in memory that several parties share. */
#include "src/base.h"
#include "trainer/comm/comm_internal.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "src/clock.h"

#define BLOCK 512 /* elements that stay in the cache */

/* Defines a function that combines elements [from, to) of all values into dst, or if dst is NULL
 * into all values. Two ranks need no block, as all memory is then read and written once. */
#define REDUCE_FUNCTION(name, type, combine)                                                   \
    VECTOR_CLONES static void name(type *dst, void *const *values, int size, size_t from,      \
                                   size_t to)                                                  \
    {                                                                                          \
        type block[BLOCK], *a = values[0], *b = size == 2 ? values[1] : NULL;                  \
                                                                                               \
        for (size_t i = from; i < to && b && !dst; i++)                                        \
            a[i] = b[i] = combine(a[i], b[i]);                                                 \
        for (size_t at = from; at < to && !(b && !dst); at += BLOCK) {                         \
            size_t n = to - at < BLOCK ? to - at : BLOCK;                                      \
            memcpy(block, a + at, n * sizeof *block);                                          \
            for (int r = 1; r < size; r++) {                                                   \
                const type *v = (const type *)values[r] + at;                                  \
                for (size_t i = 0; i < n; i++)                                                 \
                    block[i] = combine(block[i], v[i]);                                        \
            }                                                                                  \
            if (dst)                                                                           \
                memcpy(dst + (at - from), block, n * sizeof *block);                           \
            for (int r = 0; r < size && !dst; r++)                                             \
                memcpy((type *)values[r] + at, block, n * sizeof *block);                      \
        }                                                                                      \
    }

#define ADD(a, b) ((a) + (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
REDUCE_FUNCTION(sum_float, float, ADD)
REDUCE_FUNCTION(sum_double, double, ADD)
REDUCE_FUNCTION(sum_int64, int64_t, ADD)
REDUCE_FUNCTION(max_double, double, MAX)

size_t reduce_element(enum reduce_op op)
{
    return op == REDUCE_SUM_FLOAT ? sizeof(float) : 8;
}

const char *reduce_name(enum reduce_op op)
{
    static const char *const names[] = {[REDUCE_SUM_FLOAT] = "a sum of floats",
                                        [REDUCE_SUM_DOUBLE] = "a sum of doubles",
                                        [REDUCE_SUM_INT64] = "a sum of counts",
                                        [REDUCE_MAX_DOUBLE] = "a maximum"};

    return names[op];
}

void reduce_into(enum reduce_op op, void *dst, void *const *values, int size, size_t from,
                 size_t to)
{
    switch (op) {
    case REDUCE_SUM_FLOAT: sum_float(dst, values, size, from, to); break;
    case REDUCE_SUM_DOUBLE: sum_double(dst, values, size, from, to); break;
    case REDUCE_SUM_INT64: sum_int64(dst, values, size, from, to); break;
    case REDUCE_MAX_DOUBLE: max_double(dst, values, size, from, to); break;
    }
}

void reduce_share(size_t n, int rank, int size, size_t *from, size_t *to)
{
    size_t r = (size_t)rank, s = (size_t)size;

    *from = n / s * r + n % s * r / s;
    *to = n / s * (r + 1) + n % s * (r + 1) / s;
}

#define LINE 64       /* bytes of a cache line */
#define POLLS 100     /* polls between two reads of the clock */
#define SPIN_S 0.0005 /* polling time before a thread sleeps */
#define NAP_NS 20000000L

struct barrier_memory {
    _Alignas(LINE) atomic_uint arrived;
    _Alignas(LINE) atomic_uint generation; /* number of barriers completed; the futex */
    atomic_uint sleepers;
};

/* Returns the size of the memory that the parties share, which must be zeroed and aligned to 64
 * bytes. */
static size_t barrier_bytes(void)
{
    return sizeof(struct barrier_memory);
}

static void barrier_join(struct barrier *b, void *memory, int rank, int size)
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

/* Makes all sleeping parties call their check now. */
static void barrier_wake(struct barrier *b)
{
    if (b->memory->sleepers > 0)
        futex(&b->memory->generation, FUTEX_WAKE, INT_MAX, NULL);
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

/* A sum of at most so many bytes, over all parties, is not divided among the parties. */
#define FEW (64 * 1024)

/* Two words: of this sum and of the previous one, which other parties may still be reading. */
struct shared_reduce_notice {
    _Alignas(LINE) uint64_t words[2];
};

static size_t head_bytes(int size)
{
    return barrier_bytes() + (size_t)size * sizeof(struct shared_reduce_notice);
}

size_t shared_reduce_bytes(int size, size_t room)
{
    return head_bytes(size) + 2 * (size_t)size * room;
}

int shared_reduce_open(struct shared_reduce *b, void *memory, int rank, int size, size_t room,
                       struct err *e)
{
    *b = (struct shared_reduce){.room = room};
    b->values = mem_zero((size_t)size, sizeof *b->values, e);
    if (!b->values)
        return -1;
    barrier_join(&b->barrier, memory, rank, size);
    b->notices = (struct shared_reduce_notice *)((char *)memory + barrier_bytes());
    b->cells = (char *)memory + head_bytes(size);
    return 0;
}

void shared_reduce_close(struct shared_reduce *b)
{
    free(b->values);
    b->values = NULL;
}

/* All parties compare the same words, so that all of them succeed or all fail. */
int shared_reduce_agree(struct shared_reduce *b, uint64_t word, struct err *e)
{
    b->half = !b->half;
    b->notices[b->barrier.rank].words[b->half] = word;
    if (barrier_wait(&b->barrier, e))
        return -1;
    for (int r = 1; r < b->barrier.size; r++)
        if (b->notices[r].words[b->half] != b->notices[0].words[b->half])
            return err_set(e, ERR_INTERNAL, "rank %d of its node brings other slices than the first",
                           r);
    return 0;
}

/* Returns a party's cell of the next collective. */
static char *next_cell(const struct shared_reduce *b, int rank)
{
    return b->cells + (size_t)(!b->half * b->barrier.size + rank) * b->room;
}

static int reduce_part(struct shared_reduce *b, struct slice s, shared_reduce_across_f across,
                       void *arg, struct err *e)
{
    size_t nbytes = s.n * reduce_element(s.op), from, to;
    int rank = b->barrier.rank, size = b->barrier.size;
    bool few = nbytes * (size_t)size <= FEW;

    for (int r = 0; r < size; r++)
        b->values[r] = next_cell(b, r);
    if (nbytes > 0)
        memcpy(b->values[rank], s.values, nbytes);
    if (shared_reduce_agree(b, (uint64_t)s.n << 2 | s.op, e))
        return -1;
    if (few && !across) {
        reduce_into(s.op, s.values, b->values, size, 0, s.n);
        return 0;
    }
    if (few && rank == 0)
        reduce_into(s.op, b->values[0], b->values, size, 0, s.n);
    if (!few) {
        reduce_share(s.n, rank, size, &from, &to);
        reduce_into(s.op, NULL, b->values, size, from, to);
        if (barrier_wait(&b->barrier, e))
            return -1;
    }
    if (across) {
        struct slice first = {b->values[0], s.n, s.op};
        if ((rank == 0 && across(arg, &first, 1, e)) || barrier_wait(&b->barrier, e))
            return -1;
    }
    if (nbytes > 0)
        memcpy(s.values, b->values[across ? 0 : rank], nbytes);
    return 0;
}

int shared_reduce_run(struct shared_reduce *b, struct slice s, shared_reduce_across_f across,
                      void *arg, struct err *e)
{
    size_t element = reduce_element(s.op), most = b->room / element, left = s.n;

    do {
        s.n = left < most ? left : most;
        if (reduce_part(b, s, across, arg, e))
            return -1;
        s.values = (char *)s.values + s.n * element;
        left -= s.n;
    } while (left > 0);
    return 0;
}

/* Distinguish these collectives from reductions, of which the words that parties compare are
 * smaller. */
#define BROADCAST (UINT64_C(1) << 62)
#define GATHER (UINT64_C(1) << 63)

int shared_reduce_broadcast(struct shared_reduce *b, void *data, size_t nbytes, struct err *e)
{
    for (size_t at = 0, n; at == 0 || at < nbytes; at += n) {
        char *cell = next_cell(b, 0), *own = (char *)data + at;
        n = nbytes - at < b->room ? nbytes - at : b->room;
        if (n > 0 && b->barrier.rank == 0)
            memcpy(cell, own, n);
        if (shared_reduce_agree(b, BROADCAST | n, e))
            return -1;
        if (n == 0)
            break;
        if (b->barrier.rank > 0)
            memcpy(own, cell, n);
    }
    return 0;
}

int shared_reduce_gather(struct shared_reduce *b, const void *one, void *all, size_t nbytes,
                         struct err *e)
{
    for (size_t at = 0, n; at == 0 || at < nbytes; at += n) {
        char *own = next_cell(b, b->barrier.rank);
        n = nbytes - at < b->room ? nbytes - at : b->room;
        if (n > 0)
            memcpy(own, (const char *)one + at, n);
        if (shared_reduce_agree(b, GATHER | n, e))
            return -1;
        if (n == 0)
            break;
        const char *cells = own - (size_t)b->barrier.rank * b->room;
        for (int r = 0; r < b->barrier.size; r++)
            memcpy((char *)all + (size_t)r * nbytes + at, cells + (size_t)r * b->room, n);
    }
    return 0;
}
