/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/node.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "src/clock.h"
#include "trainer/comm/token.h"

#define LINE 64             /* bytes of a cache line */
#define STAGE (256 * 1024)  /* bytes of a rank's values that go at once */
#define SMALL 4096          /* bytes that every rank sums alone, to save a meeting */
#define SPIN_S 0.0005       /* before the core is offered to others, where each rank has one */
#define YIELD_S 0.002       /* before a wait becomes a sleep, which takes long to end */
#define LOOKS 100           /* between two looks at the clock */
#define NAP_NS 20000000L

/* What a rank shows of itself. Two of some: of this collective and of the last one, which others
 * may still be looking at. */
struct seat {
    _Alignas(LINE) atomic_ulong arrivals;
    atomic_int process;
    uint64_t brings[2]; /* hash of the slices */
};

struct head {
    unsigned char key[16];
    _Alignas(LINE) atomic_uint arrived;
    _Alignas(LINE) atomic_uint generation; /* counts meetings that took place; slept on */
    struct seat seats[];
};

struct memory {
    void *base;
    size_t nbytes;
    int fd; /* of who offers it */
};

struct node {
    int rank, size;
    struct memory control, place;
    struct head *head;
    char *stages; /* [2][size][STAGE] */
    size_t place_bytes; /* of one rank */
    void **values;      /* of the ranks, of the slice that is being reduced */
    int half;
    bool shares_cores;
    node_check_f check;
    void *arg;
};

/* --- the memory --- */

static void release(struct memory *m)
{
    if (m->base)
        munmap(m->base, m->nbytes);
    if (m->fd >= 0)
        close(m->fd);
    *m = (struct memory){.fd = -1};
}

static int map(struct memory *m, int fd, size_t nbytes, struct err *e)
{
    void *base = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (base == MAP_FAILED)
        return err_errno(e, ERR_INTERNAL, errno, "cannot map %zu bytes of shared memory", nbytes);
    m->base = base;
    m->nbytes = nbytes;
    return 0;
}

/* All of it is there at once: nobody dies of a full memory when it is touched. */
static int offer(struct memory *m, size_t nbytes, struct node_offer *dst, struct err *e)
{
    *m = (struct memory){.fd = memfd_create("unet-train", MFD_CLOEXEC)};
    if (m->fd < 0)
        return err_errno(e, ERR_INTERNAL, errno, "memfd_create");
    int reason = posix_fallocate(m->fd, 0, (off_t)nbytes);
    if (reason) {
        release(m);
        return err_errno(e, ERR_INTERNAL, reason, "no %zu bytes of shared memory", nbytes);
    }
    if (map(m, m->fd, nbytes, e)) {
        release(m);
        return -1;
    }
    dst->nbytes = nbytes;
    snprintf(dst->path, sizeof dst->path, "/proc/%d/fd/%d", (int)getpid(), m->fd);
    return 0;
}

static int join(struct memory *m, const struct node_offer *from, struct err *e)
{
    struct stat st;
    int fd = open(from->path, O_RDWR | O_CLOEXEC);

    *m = (struct memory){.fd = -1};
    if (fd < 0)
        return err_errno(e, ERR_INTERNAL, errno, "cannot open shared memory at %s", from->path);
    int rc = fstat(fd, &st) || (size_t)st.st_size != from->nbytes
                 ? err_set(e, ERR_INTERNAL, "%s is another process's", from->path)
                 : map(m, fd, from->nbytes, e);
    close(fd);
    return rc;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static size_t head_bytes(int size)
{
    return round_up(sizeof(struct head) + (size_t)size * sizeof(struct seat), 4096);
}

static struct node *create(int rank, int size, struct err *e)
{
    struct node *g = calloc(1, sizeof *g);

    if (!g || !(g->values = calloc((size_t)size, sizeof *g->values))) {
        free(g);
        err_set(e, ERR_INTERNAL, "out of memory");
        return NULL;
    }
    g->rank = rank;
    g->size = size;
    g->control.fd = g->place.fd = -1;
    g->shares_cores = size > (int)sysconf(_SC_NPROCESSORS_ONLN);
    return g;
}

static void take_seat(struct node *g)
{
    g->head = g->control.base;
    g->stages = (char *)g->control.base + head_bytes(g->size);
    g->head->seats[g->rank].process = (int)getpid();
}

struct node *node_offer(int size, struct node_offer *dst, struct err *e)
{
    struct node *g = create(0, size, e);

    *dst = (struct node_offer){0};
    if (!g)
        return NULL;
    if (token_draw(dst->key, sizeof dst->key, e) ||
        offer(&g->control, head_bytes(size) + 2 * (size_t)size * STAGE, dst, e)) {
        node_destroy(g);
        return NULL;
    }
    take_seat(g);
    memcpy(g->head->key, dst->key, sizeof dst->key);
    return g;
}

struct node *node_join(int rank, int size, const struct node_offer *from, struct err *e)
{
    struct node *g = create(rank, size, e);

    if (!g)
        return NULL;
    if (join(&g->control, from, e) == 0 &&
        memcmp(g->control.base, from->key, sizeof from->key) == 0) {
        take_seat(g);
        return g;
    }
    if (g->control.base)
        err_set(e, ERR_INTERNAL, "%s is another process's", from->path);
    node_destroy(g);
    return NULL;
}

void node_destroy(struct node *g)
{
    if (!g)
        return;
    release(&g->control);
    release(&g->place);
    free(g->values);
    free(g);
}

void node_set_yielding(struct node *g)
{
    g->shares_cores = true;
}

void node_set_check(struct node *g, node_check_f check, void *arg)
{
    g->check = check;
    g->arg = arg;
}

static size_t place_bytes(size_t n)
{
    return round_up(n * sizeof(float), 2 << 20);
}

static void take_place(struct node *g, size_t n, float **own)
{
    g->place_bytes = place_bytes(n);
    madvise(g->place.base, g->place.nbytes, MADV_HUGEPAGE);
    *own = (float *)((char *)g->place.base + (size_t)g->rank * g->place_bytes);
}

int node_offer_place(struct node *g, size_t n, struct node_offer *dst, float **own, struct err *e)
{
    *dst = (struct node_offer){0};
    if (offer(&g->place, (size_t)g->size * place_bytes(n), dst, e))
        return -1;
    take_place(g, n, own);
    return 0;
}

int node_join_place(struct node *g, size_t n, const struct node_offer *from, float **own,
                    struct err *e)
{
    if (from->nbytes != (size_t)g->size * place_bytes(n))
        return err_set(e, ERR_INTERNAL, "another number of gradients than the node's first rank");
    if (join(&g->place, from, e))
        return -1;
    take_place(g, n, own);
    return 0;
}

bool node_has_place(const struct node *g, const void *values)
{
    const char *p = values, *base = g->place.base;

    return base && p >= base && p < base + g->place.nbytes;
}

/* --- meetings --- */

static void futex(atomic_uint *word, int op, unsigned value, const struct timespec *timeout)
{
    syscall(SYS_futex, (void *)word, op, value, timeout, NULL, 0);
}

static int await(struct node *g, unsigned generation, struct err *e)
{
    struct head *h = g->head;
    double began = clock_now();

    while (h->generation == generation && !g->shares_cores && clock_now() - began < SPIN_S)
        for (int i = 0; i < LOOKS && h->generation == generation; i++)
            continue;
    while (h->generation == generation && clock_now() - began < YIELD_S)
        sched_yield();
    while (h->generation == generation) {
        futex(&h->generation, FUTEX_WAIT, generation, &(struct timespec){.tv_nsec = NAP_NS});
        if (h->generation == generation && g->check && g->check(g->arg, clock_now() - began, e))
            return -1;
    }
    return 0;
}

/* Nobody gets past it before everybody has come. */
static int meet(struct node *g, struct err *e)
{
    struct head *h = g->head;
    unsigned generation = h->generation;

    h->seats[g->rank].arrivals++;
    if (atomic_fetch_add(&h->arrived, 1) + 1 < (unsigned)g->size)
        return await(g, generation, e);
    h->arrived = 0;
    h->generation++;
    futex(&h->generation, FUTEX_WAKE, INT_MAX, NULL);
    return 0;
}

int node_find_lost(const struct node *g)
{
    for (int r = 0; r < g->size; r++)
        if (g->head->seats[r].process && kill(g->head->seats[r].process, 0) && errno == ESRCH)
            return r;
    return -1;
}

int node_find_absent(const struct node *g)
{
    for (int r = 0; r < g->size; r++)
        if (g->head->seats[r].arrivals < g->head->seats[g->rank].arrivals)
            return r;
    return -1;
}

/* --- sums --- */

static uint64_t hash_slices(const struct node *g, const struct slice *slices, size_t n)
{
    uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a */
    const char *own = (char *)g->place.base + (size_t)g->rank * g->place_bytes;

    for (size_t i = 0; i < n; i++) {
        bool placed = node_has_place(g, slices[i].values);
        uint64_t words[] = {slices[i].n, slices[i].op,
                            placed ? (uint64_t)((const char *)slices[i].values - own) + 1 : 0};
        for (size_t w = 0; w < sizeof words / sizeof *words; w++)
            h = (h ^ words[w]) * UINT64_C(1099511628211);
    }
    return h;
}

static void show(struct node *g, uint64_t brings)
{
    g->half = !g->half;
    g->head->seats[g->rank].brings[g->half] = brings;
}

/* After a meeting: every rank sees the same, so every rank comes to the same verdict. */
static int check_same(const struct node *g, struct err *e)
{
    for (int r = 1; r < g->size; r++)
        if (g->head->seats[r].brings[g->half] != g->head->seats[0].brings[g->half])
            return err_set(e, ERR_INTERNAL, "rank %d of its node brings other slices than the "
                           "first", r);
    return 0;
}

static void point_to(struct node *g, const struct slice *s)
{
    const char *own = (char *)g->place.base + (size_t)g->rank * g->place_bytes;
    size_t offset = (size_t)((const char *)s->values - own);

    for (int r = 0; r < g->size; r++)
        g->values[r] = (char *)g->place.base + (size_t)r * g->place_bytes + offset;
}

/* With other nodes: rank 0's memory gets the sum over all, the others fetch it from there. */
static int reduce_placed(struct node *g, const struct slice *slices, size_t n,
                         node_across_f across, void *arg, struct err *e)
{
    size_t from, to;

    show(g, hash_slices(g, slices, n));
    if (meet(g, e) || check_same(g, e))
        return -1;
    for (size_t i = 0; i < n; i++) {
        point_to(g, &slices[i]);
        reduce_share(slices[i].n, g->rank, g->size, &from, &to);
        reduce_slice(slices[i].op, g->values, g->size, from, to);
    }
    if (meet(g, e))
        return -1;
    if (!across)
        return 0;
    if ((g->rank == 0 && across(arg, slices, n, e)) || meet(g, e))
        return -1;
    for (size_t i = 0; i < n && g->rank > 0; i++) {
        point_to(g, &slices[i]);
        memcpy(slices[i].values, g->values[0], slices[i].n * reduce_element(slices[i].op));
    }
    return meet(g, e);
}

static int reduce_staged(struct node *g, struct slice s, node_across_f across, void *arg,
                         struct err *e)
{
    size_t nbytes = s.n * reduce_element(s.op), from, to;
    bool alone = nbytes <= SMALL && !across;

    show(g, hash_slices(g, &s, 1));
    for (int r = 0; r < g->size; r++)
        g->values[r] = g->stages + (size_t)(g->half * g->size + r) * STAGE;
    memcpy(g->values[g->rank], s.values, nbytes);
    if (meet(g, e) || check_same(g, e))
        return -1;
    if (alone) {
        reduce_into(s.op, s.values, g->values, g->size, 0, s.n);
        return 0;
    }
    reduce_share(s.n, g->rank, g->size, &from, &to);
    reduce_slice(s.op, g->values, g->size, from, to);
    if (meet(g, e))
        return -1;
    if (across) {
        struct slice first = {g->values[0], s.n, s.op};
        if ((g->rank == 0 && across(arg, &first, 1, e)) || meet(g, e))
            return -1;
    }
    memcpy(s.values, g->values[across ? 0 : g->rank], nbytes);
    return 0;
}

int node_reduce(struct node *g, const struct slice *slices, size_t nslices,
                node_across_f across, void *arg, struct err *e)
{
    if (nslices > 0 && node_has_place(g, slices[0].values))
        return reduce_placed(g, slices, nslices, across, arg, e);
    for (size_t i = 0; i < nslices; i++) {
        struct slice s = slices[i];
        size_t element = reduce_element(s.op), most = STAGE / element, left = s.n;
        do {
            s.n = left < most ? left : most;
            if (reduce_staged(g, s, across, arg, e))
                return -1;
            s.values = (char *)s.values + s.n * element;
            left -= s.n;
        } while (left > 0);
    }
    return 0;
}
