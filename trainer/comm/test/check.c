/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/comm/test/check.h"

#define MOST 100003

static int wrong(struct comm *c, const char *what, size_t n, size_t i, struct err *e)
{
    return err_set(e, ERR_INTERNAL, "%s, rank %d of %d, n %zu: element %zu is wrong", what, c->rank,
                   c->size, n, i);
}

/* What rank r contributes at index i, and the sum over all ranks. */
static int64_t part(int r, size_t i)
{
    return (int64_t)(i % 1000) * (r + 1) - r;
}

static int64_t total(int size, size_t i)
{
    int64_t sum = 0;

    for (int r = 0; r < size; r++)
        sum += part(r, i);
    return sum;
}

static int check_sums(struct comm *c, size_t n, struct err *e)
{
    static _Thread_local float f[MOST];
    static _Thread_local double d[MOST];
    static _Thread_local int64_t k[MOST];

    for (size_t i = 0; i < n; i++) {
        f[i] = (float)part(c->rank, i);
        d[i] = (double)part(c->rank, i);
        k[i] = part(c->rank, i) * ((int64_t)1 << 40); /* beyond what a double holds exactly */
    }
    if (comm_sum_float(c, f, n, e) || comm_sum_double(c, d, n, e) ||
        comm_sum_int64(c, k, n, e))
        return -1;
    for (size_t i = 0; i < n; i++) {
        int64_t want = total(c->size, i);
        if (f[i] != (float)want)
            return wrong(c, "sum_float", n, i, e);
        if (d[i] != (double)want)
            return wrong(c, "sum_double", n, i, e);
        if (k[i] != want * ((int64_t)1 << 40))
            return wrong(c, "sum_int64", n, i, e);
    }
    return 0;
}

static int check_max(struct comm *c, struct err *e)
{
    double d[3] = {c->rank, -c->rank, c->rank == c->size / 2 ? 7e300 : -7e300};

    if (comm_max_double(c, d, 3, e))
        return -1;
    if (d[0] != c->size - 1 || d[1] != 0 || d[2] != 7e300)
        return wrong(c, "max_double", 3, d[0] != c->size - 1 ? 0 : d[1] != 0 ? 1 : 2, e);
    return 0;
}

/* Slices of unequal size, two of them empty, all in flight at once; done twice. */
static int check_started(struct comm *c, struct err *e)
{
    static _Thread_local float f[MOST];
    static const size_t ends[] = {1, 64, 1000, 1000, 60000, MOST, MOST};

    for (int round = 0; round < 2; round++) {
        size_t at = 0;
        for (size_t i = 0; i < MOST; i++)
            f[i] = (float)part(c->rank, i + (size_t)round);
        for (size_t s = 0; s < sizeof ends / sizeof *ends; s++) {
            if (comm_start_sum_float(c, f + at, ends[s] - at, e))
                return -1;
            at = ends[s];
        }
        if (comm_wait(c, e))
            return -1;
        for (size_t i = 0; i < MOST; i++)
            if (f[i] != (float)total(c->size, i + (size_t)round))
                return wrong(c, "start_sum_float", MOST, i, e);
    }
    return 0;
}

/* Slices in the communicator's memory, if it has any, after a slice from elsewhere, as votes come
 * with gradients. Every other value gives the expected bits only in the order of ranks. */
static int check_placed(struct comm *c, struct err *e)
{
    static const float parts[3] = {1e8f, 1.0f, -1e8f};
    float *own, votes[2], want = 0;

    if (comm_reduce_buffer(c, MOST, &own, e))
        return -1;
    for (int r = 0; r < c->size; r++)
        want = r == 0 ? parts[0] : want + parts[r % 3];
    for (int round = 0; own && round < 3; round++) {
        votes[0] = votes[1] = 1;
        for (size_t i = 0; i < MOST; i++)
            own[i] = i % 2 ? (float)part(c->rank, i) : parts[c->rank % 3];
        if (comm_start_sum_float(c, votes, 2, e) || comm_start_sum_float(c, own, 1000, e) ||
            comm_start_sum_float(c, own + 1000, MOST - 1000, e) || comm_wait(c, e))
            return -1;
        for (size_t i = 0; i < MOST; i++)
            if (own[i] != (i % 2 ? (float)total(c->size, i) : want))
                return wrong(c, "placed sum", MOST, i, e);
        if (votes[0] != (float)c->size || votes[1] != votes[0])
            return wrong(c, "votes", 2, 0, e);
    }
    return 0;
}

/* Few and many values, while slices are in flight. */
static int check_small(struct comm *c, struct err *e)
{
    static _Thread_local float f[MOST];
    static _Thread_local double d[MOST];
    static const size_t sizes[] = {0, 1, 257, 2049, 4096, MOST};

    for (size_t i = 0; i < MOST; i++)
        f[i] = (float)part(c->rank, i);
    if (comm_start_sum_float(c, f, 60000, e))
        return -1;
    for (size_t k = 0; k < 200; k++) {
        size_t n = k < 195 ? sizes[k % 3] : sizes[k - 194];
        for (size_t i = 0; i < n; i++)
            d[i] = (double)part(c->rank, i + k);
        if (c->ops->sum_small(c, d, n, e))
            return -1;
        for (size_t i = 0; i < n; i++)
            if (d[i] != (double)total(c->size, i + k))
                return wrong(c, "sum_small", n, i, e);
        if (k == 10 && comm_start_sum_float(c, f + 60000, MOST - 60000, e))
            return -1;
    }
    if (comm_wait(c, e))
        return -1;
    for (size_t i = 0; i < MOST; i++)
        if (f[i] != (float)total(c->size, i))
            return wrong(c, "a sum beside others", MOST, i, e);
    return 0;
}

static int check_broadcasts(struct comm *c, struct err *e)
{
    unsigned char data[4097];

    for (int round = 1; round <= c->size; round++) {
        memset(data, c->rank == 0 ? round : 0xEE, sizeof data);
        if (c->ops->broadcast(c, data, sizeof data, e))
            return -1;
        for (size_t i = 0; i < sizeof data; i++)
            if (data[i] != round)
                return wrong(c, "broadcast", sizeof data, i, e);
    }
    return c->ops->broadcast(c, data, 0, e);
}

static int check_gather(struct comm *c, struct err *e)
{
    struct block { int rank; char pad[13]; } mine = {.rank = c->rank};
    struct block *all = calloc((size_t)c->size, sizeof *all);
    int rc = -1;

    if (!all)
        return err_set(e, ERR_INTERNAL, "out of memory");
    memset(mine.pad, c->rank, sizeof mine.pad);
    if (c->ops->gather(c, &mine, all, sizeof mine, e))
        goto out;
    for (int r = 0; r < c->size; r++)
        if (all[r].rank != r || all[r].pad[12] != (char)r) {
            wrong(c, "gather", (size_t)c->size, (size_t)r, e);
            goto out;
        }
    rc = 0;
out:
    free(all);
    return rc;
}

/* Exchanges one byte to more than MPI sends at once. */
static int check_exchange(struct comm *c, int peer, char *data, struct err *e)
{
    static const size_t sizes[] = {1, 4096, 300001};

    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        memset(data, c->rank + 1, 2 * sizes[k]);
        if (c->ops->exchange(c, peer, data, sizes[k], e))
            return -1;
        for (size_t i = 0; i < 2 * sizes[k]; i++)
            if (data[i] != (i < sizes[k] ? c->rank : peer) + 1)
                return wrong(c, "exchange", sizes[k], i, e);
    }
    return 0;
}

/* Each two ranks of a communicator of host memory, one pair after the other. */
static int check_exchanges(struct comm *c, struct err *e)
{
    static _Thread_local char data[2 * 300001];

    for (int i = 0; c->ops->exchange && !c->ops->queue_sum && i < c->size; i++)
        for (int j = 0; j < i; j++)
            if ((c->rank == i && check_exchange(c, j, data, e)) ||
                (c->rank == j && check_exchange(c, i, data, e)))
                return -1;
    return 0;
}

int check_collectives(struct comm *c, struct err *e)
{
    static const size_t sizes[] = {0, 1, 3, 513, MOST};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (check_sums(c, sizes[i], e))
            return -1;
    if (check_max(c, e) || check_started(c, e) || check_placed(c, e) || check_small(c, e) ||
        check_broadcasts(c, e) || check_gather(c, e) || check_exchanges(c, e))
        return -1;
    return c->ops->barrier(c, e);
}
