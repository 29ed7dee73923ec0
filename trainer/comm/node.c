/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a node: their shared memory, and their communicator. */
#include "src/base.h"
#include "trainer/comm/comm_internal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define STAGE (256 * 1024)      /* bytes of a rank's values that are summed at once */
#define SMALL_BYTES (32 * 1024) /* the same for node_reduce_small */

struct node_head {
    unsigned char key[16];
};

struct shared_memory {
    void *base;
    size_t nbytes;
    int fd; /* of the rank that offers the memory, else -1 */
};

struct node {
    int rank, size;
    struct shared_memory control, buffer;
    struct node_head *head;
    struct shared_reduce main, small;
    size_t buffer_bytes; /* of one rank */
    void **values;      /* the slice being reduced, by rank */
    struct slice *started; /* of node_start, until node_finish */
    size_t nstarted, capacity;
};

/* --- the shared memory --- */

static void unmap_shared(struct shared_memory *m)
{
    if (m->base)
        munmap(m->base, m->nbytes);
    if (m->fd >= 0)
        close(m->fd);
    *m = (struct shared_memory){.fd = -1};
}

static int map_shared(struct shared_memory *m, int fd, size_t nbytes, struct err *e)
{
    void *base = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (base == MAP_FAILED)
        return err_errno(e, ERR_INTERNAL, errno, "cannot map %zu bytes of shared memory", nbytes);
    m->base = base;
    m->nbytes = nbytes;
    return 0;
}

/* Allocates all pages at once, so that no rank is killed later because memory is full. */
static int offer_shared(struct shared_memory *m, size_t nbytes, struct node_offer *dst,
                        struct err *e)
{
    *m = (struct shared_memory){.fd = memfd_create("unet-train", MFD_CLOEXEC)};
    if (m->fd < 0)
        return err_errno(e, ERR_INTERNAL, errno, "memfd_create");
    int reason = posix_fallocate(m->fd, 0, (off_t)nbytes);
    if (reason) {
        unmap_shared(m);
        return err_errno(e, ERR_INTERNAL, reason, "cannot get %zu bytes of shared memory",
                         nbytes);
    }
    if (map_shared(m, m->fd, nbytes, e)) {
        unmap_shared(m);
        return -1;
    }
    dst->nbytes = nbytes;
    snprintf(dst->path, sizeof dst->path, "/proc/%d/fd/%d", (int)getpid(), m->fd);
    return 0;
}

static int join_shared(struct shared_memory *m, const struct node_offer *from, struct err *e)
{
    struct stat st;
    int fd = open(from->path, O_RDWR | O_CLOEXEC);

    *m = (struct shared_memory){.fd = -1};
    if (fd < 0)
        return err_errno(e, ERR_INTERNAL, errno, "cannot open shared memory at %s", from->path);
    int rc = fstat(fd, &st) || (size_t)st.st_size != from->nbytes
                 ? err_set(e, ERR_INTERNAL, "%s belongs to another process", from->path)
                 : map_shared(m, fd, from->nbytes, e);
    close(fd);
    return rc;
}

#define HEAD_BYTES 64 /* of struct node_head, so that what follows is aligned */

static size_t control_bytes(int size)
{
    return HEAD_BYTES + shared_reduce_bytes(size, STAGE) + shared_reduce_bytes(size, SMALL_BYTES);
}

static struct node *create_node(int rank, int size, struct err *e)
{
    struct node *g = mem_zero(1, sizeof *g, e);

    if (!g || !(g->values = mem_zero((size_t)size, sizeof *g->values, e))) {
        free(g);
        return NULL;
    }
    g->rank = rank;
    g->size = size;
    g->control.fd = g->buffer.fd = -1;
    return g;
}

static int take_seat(struct node *g, struct err *e)
{
    char *areas = (char *)g->control.base + HEAD_BYTES;

    g->head = g->control.base;
    return shared_reduce_open(&g->main, areas, g->rank, g->size, STAGE, e) ||
                   shared_reduce_open(&g->small, areas + shared_reduce_bytes(g->size, STAGE),
                                      g->rank, g->size, SMALL_BYTES, e)
               ? -1 : 0;
}

struct node *node_offer(int size, struct node_offer *dst, struct err *e)
{
    struct node *g = create_node(0, size, e);

    *dst = (struct node_offer){0};
    if (!g)
        return NULL;
    if (token_draw(dst->key, sizeof dst->key, e) ||
        offer_shared(&g->control, control_bytes(size), dst, e) || take_seat(g, e)) {
        node_destroy(g);
        return NULL;
    }
    memcpy(g->head->key, dst->key, sizeof dst->key);
    return g;
}

struct node *node_join(int rank, int size, const struct node_offer *from, struct err *e)
{
    struct node *g = create_node(rank, size, e);

    if (!g)
        return NULL;
    if (join_shared(&g->control, from, e) == 0 &&
        memcmp(g->control.base, from->key, sizeof from->key) == 0) {
        if (take_seat(g, e) == 0)
            return g;
    } else if (g->control.base) {
        err_set(e, ERR_INTERNAL, "%s belongs to another process", from->path);
    }
    node_destroy(g);
    return NULL;
}

void node_destroy(struct node *g)
{
    if (!g)
        return;
    shared_reduce_close(&g->main);
    shared_reduce_close(&g->small);
    unmap_shared(&g->control);
    unmap_shared(&g->buffer);
    free(g->started);
    free(g->values);
    free(g);
}

void node_set_check(struct node *g, barrier_check_f check, barrier_check_f small, void *arg)
{
    g->main.barrier.check = check;
    g->small.barrier.check = small;
    g->main.barrier.arg = g->small.barrier.arg = arg;
}

/* Maps the buffer, of nbytes for each rank, that the first rank offers. */
static int join_buffer(struct node *g, size_t nbytes, const struct node_offer *offer, struct err *e)
{
    if (offer->nbytes == 0)
        return err_set(e, ERR_INTERNAL, "another rank failed");
    if (offer->nbytes != (size_t)g->size * nbytes)
        return err_set(e, ERR_INTERNAL,
                       "has another number of gradients than the node's first rank");
    return join_shared(&g->buffer, offer, e);
}

/* Returns what shared_reduce_broadcast and shared_reduce_gather take. Not beside node_reduce. */
static struct shared_reduce *node_main(struct node *g, bool spins)
{
    g->main.barrier.spins = spins;
    return &g->main;
}

int node_share_buffer(struct node *g, bool spins, size_t n, float **own, struct err *e)
{
    size_t nbytes = round_up(n * sizeof(float), 2 << 20);
    struct shared_reduce *all = node_main(g, spins);
    struct node_offer offer = {0};
    struct err why = {.text = "another rank failed"};
    int rc = g->rank ? 0 : offer_shared(&g->buffer, (size_t)g->size * nbytes, &offer, &why);

    if (shared_reduce_broadcast(all, &offer, sizeof offer, e))
        return -1;
    if (g->rank > 0)
        rc = join_buffer(g, nbytes, &offer, &why);
    double failed = rc != 0;
    if (shared_reduce_run(all, (struct slice){&failed, 1, REDUCE_MAX_DOUBLE}, NULL, NULL, e))
        return -1;
    if (failed > 0)
        return err_set(e, ERR_INTERNAL, "cannot share memory for the gradients: %s", why.text);
    g->buffer_bytes = nbytes;
    madvise(g->buffer.base, g->buffer.nbytes, MADV_HUGEPAGE);
    *own = (float *)((char *)g->buffer.base + (size_t)g->rank * nbytes);
    return 0;
}

static bool is_in_buffer(const struct node *g, const void *values)
{
    const char *p = values, *base = g->buffer.base;

    return base && p >= base && p < base + g->buffer.nbytes;
}

/* --- sums --- */

static uint64_t hash_slices(const struct node *g, const struct slice *slices, size_t n)
{
    uint64_t h = HASH_BEGIN;
    const char *own = (char *)g->buffer.base + (size_t)g->rank * g->buffer_bytes;

    for (size_t i = 0; i < n; i++) {
        bool placed = is_in_buffer(g, slices[i].values);
        uint64_t words[] = {slices[i].n, slices[i].op,
                            placed ? (uint64_t)((const char *)slices[i].values - own) + 1 : 0};
        h = hash_bytes(h, words, sizeof words);
    }
    return h;
}

static void find_values(struct node *g, const struct slice *s)
{
    const char *own = (char *)g->buffer.base + (size_t)g->rank * g->buffer_bytes;
    size_t offset = (size_t)((const char *)s->values - own);

    for (int r = 0; r < g->size; r++)
        g->values[r] = (char *)g->buffer.base + (size_t)r * g->buffer_bytes + offset;
}

/* If there are other nodes, rank 0 gets the sum over all of them, and the other ranks copy it. */
static int reduce_placed(struct node *g, const struct slice *slices, size_t n,
                         shared_reduce_across_f across, void *arg, struct err *e)
{
    size_t from, to;

    if (shared_reduce_agree(&g->main, hash_slices(g, slices, n), e))
        return -1;
    for (size_t i = 0; i < n; i++) {
        find_values(g, &slices[i]);
        reduce_share(slices[i].n, g->rank, g->size, &from, &to);
        reduce_into(slices[i].op, NULL, g->values, g->size, from, to);
    }
    if (barrier_wait(&g->main.barrier, e))
        return -1;
    if (!across)
        return 0;
    if ((g->rank == 0 && across(arg, slices, n, e)) || barrier_wait(&g->main.barrier, e))
        return -1;
    for (size_t i = 0; i < n && g->rank > 0; i++) {
        find_values(g, &slices[i]);
        memcpy(slices[i].values, g->values[0], slices[i].n * reduce_element(slices[i].op));
    }
    return barrier_wait(&g->main.barrier, e);
}

int node_reduce(struct node *g, bool spins, const struct slice *slices, size_t nslices,
                shared_reduce_across_f across, void *arg, struct err *e)
{
    g->main.barrier.spins = spins;
    if (nslices > 0 && is_in_buffer(g, slices[0].values))
        return reduce_placed(g, slices, nslices, across, arg, e);
    for (size_t i = 0; i < nslices; i++)
        if (shared_reduce_run(&g->main, slices[i], across, arg, e))
            return -1;
    return 0;
}

int node_start(struct node *g, struct slice s, struct err *e)
{
    if (mem_grow(&g->started, g->nstarted, &g->capacity, sizeof *g->started, e))
        return -1;
    g->started[g->nstarted++] = s;
    return 0;
}

/* Slices that follow each other in the buffer are summed together, and likewise others. */
int node_finish(struct node *g, bool spins, shared_reduce_across_f across, void *arg, struct err *e)
{
    const struct slice *slices = g->started;
    size_t n = g->nstarted, at = 0;

    g->nstarted = 0;
    while (at < n) {
        size_t end = at + 1;

        while (end < n && is_in_buffer(g, slices[end].values) == is_in_buffer(g, slices[at].values))
            end++;
        if (node_reduce(g, spins, slices + at, end - at, across, arg, e))
            return -1;
        at = end;
    }
    return 0;
}

int node_reduce_small(struct node *g, bool spins, struct slice s, shared_reduce_across_f across,
                      void *arg, struct err *e)
{
    g->small.barrier.spins = spins;
    return shared_reduce_run(&g->small, s, across, arg, e);
}

static struct node *node_of(struct comm *c)
{
    return c->priv;
}

static int node_comm_reduce(struct comm *c, void *values, size_t n, enum reduce_op op,
                            struct err *e)
{
    comm_enter(c, reduce_name(op));
    return node_reduce(node_of(c), c->spins, &(struct slice){values, n, op}, 1, NULL, NULL, e);
}

static int node_comm_start_sum_float(struct comm *c, float *values, size_t n, struct err *e)
{
    return node_start(node_of(c), (struct slice){values, n, REDUCE_SUM_FLOAT}, e);
}

static int node_comm_wait(struct comm *c, struct err *e)
{
    comm_enter(c, "a sum of gradients");
    return node_finish(node_of(c), c->spins, NULL, NULL, e);
}

static int node_comm_sum_small(struct comm *c, double *values, size_t n, struct err *e)
{
    comm_count(c);
    return node_reduce_small(node_of(c), c->spins,
                             (struct slice){values, n, REDUCE_SUM_DOUBLE}, NULL, NULL, e);
}

static int node_comm_broadcast(struct comm *c, void *data, size_t nbytes, struct err *e)
{
    comm_enter(c, "a broadcast");
    return shared_reduce_broadcast(node_main(node_of(c), c->spins), data, nbytes, e);
}

static int node_comm_gather(struct comm *c, const void *one, void *all, size_t nbytes,
                            struct err *e)
{
    comm_enter(c, "a gather");
    return shared_reduce_gather(node_main(node_of(c), c->spins), one, all, nbytes, e);
}

static int node_comm_barrier(struct comm *c, struct err *e)
{
    comm_enter(c, "a barrier");
    return shared_reduce_gather(node_main(node_of(c), c->spins), NULL, NULL, 0, e);
}

static int node_comm_reduce_buffer(struct comm *c, size_t n, float **values, struct err *e)
{
    comm_enter(c, "memory for gradients");
    return node_share_buffer(node_of(c), c->spins, n, values, e);
}

static void node_comm_abort(struct comm *c, const struct err *e)
{
    (void)c, (void)e; /* the lifeline ends the others' waits */
}

static void node_comm_close(struct comm *c)
{
    node_destroy(node_of(c));
    free(c);
}

static const struct comm_ops node_ops = {
    .name = "node",
    .reduce_buffer = node_comm_reduce_buffer,
    .reduce = node_comm_reduce,
    .start_sum_float = node_comm_start_sum_float,
    .wait = node_comm_wait,
    .sum_small = node_comm_sum_small,
    .broadcast = node_comm_broadcast,
    .gather = node_comm_gather,
    .barrier = node_comm_barrier,
    .abort = node_comm_abort,
    .close = node_comm_close,
};

struct comm *comm_node_open(const struct comm_config *config, const struct node_offer *offer,
                            struct err *e)
{
    struct node *g = node_join(config->rank, config->size, offer, e);
    struct comm *c = g ? comm_create(&node_ops, config, g, e) : NULL;

    if (c)
        node_set_check(g, comm_check_main, comm_check_small, c);
    else
        node_destroy(g);
    return c;
}
