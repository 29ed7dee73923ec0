/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/shared_reduce.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/mem.h"

#define LINE 64 /* bytes of a cache line */
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

int shared_reduce_broadcast(struct shared_reduce *b, void *data, size_t nbytes, int root,
                            struct err *e)
{
    for (size_t at = 0, n; at == 0 || at < nbytes; at += n) {
        char *cell = next_cell(b, root), *own = (char *)data + at;
        n = nbytes - at < b->room ? nbytes - at : b->room;
        if (n > 0 && b->barrier.rank == root)
            memcpy(cell, own, n);
        if (shared_reduce_agree(b, BROADCAST | n, e))
            return -1;
        if (n == 0)
            break;
        if (b->barrier.rank != root)
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
