/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads, stores, atomics and asynchronous copies: which bytes a lane may touch, whether threads
 * race for them, and how many wavefronts and sectors a warp's access takes. */
#include "config.h"

#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "t/ptx/machine.h"
#include "trainer/core/vector_clones.h"

#define SECTOR 32
#define BANKS 32
#define BANK_BYTES 4
#define SEVERAL 0xffffu

enum how { READ, WRITE, ATOMIC };

/* ---- global memory */

/* What last wrote a unit of global memory: a launch, and its thread, counted over all blocks. */
struct written {
    uint32_t launch, thread;
};
#define UNIT 2 /* bytes */

struct region {
    uintptr_t low, high;
    struct written *by; /* of each unit, by mmap, as allocations are registered; NULL: no kernel */
};

static size_t written_bytes(const struct region *r)
{
    return (r->high - r->low + UNIT - 1) / UNIT * sizeof *r->by;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *regions;

/* Those that overlap are equal: a search for one byte finds the region around it. */
static int compare_regions(const void *a, const void *b)
{
    const struct region *x = a, *y = b;

    return x->high <= y->low ? -1 : x->low >= y->high;
}

void ptx_memory_add(const void *start, size_t nbytes)
{
    struct region *r = malloc(sizeof *r);

    if (!r || nbytes == 0) {
        free(r);
        return;
    }
    *r = (struct region){(uintptr_t)start, (uintptr_t)start + nbytes, NULL};
    pthread_mutex_lock(&lock);
    struct region **there = tsearch(r, &regions, compare_regions);
    bool added = there && *there == r;
    pthread_mutex_unlock(&lock);
    if (!added)
        free(r);
}

void ptx_memory_remove(const void *start)
{
    struct region key = {(uintptr_t)start, (uintptr_t)start + 1, NULL};

    pthread_mutex_lock(&lock);
    struct region **there = tfind(&key, &regions, compare_regions), *r = there ? *there : NULL;
    bool removed = r && r->low == (uintptr_t)start;
    if (removed)
        tdelete(r, &regions, compare_regions);
    pthread_mutex_unlock(&lock);
    if (removed) { /* the program's free(), which comes back here */
        if (r->by)
            munmap(r->by, written_bytes(r));
        free(r);
    }
}

static void find_region(struct block *b, const struct warp *w, struct insn *i, unsigned lane,
                        uintptr_t at, unsigned nbytes)
{
    struct region key = {at, at + 1, NULL};

    pthread_mutex_lock(&lock);
    struct region **there = tfind(&key, &regions, compare_regions), *found = there ? *there : NULL;
    pthread_mutex_unlock(&lock);
    if (!found)
        fault(b, w, i, lane, "%u bytes at %#zx, outside of all memory", nbytes, (size_t)at);
    if (at + nbytes > found->high)
        fault(b, w, i, lane, "%u bytes at %zu of an allocation of %zu", nbytes,
              (size_t)(at - found->low), (size_t)(found->high - found->low));
    i->region = found;
    i->low = found->low;
    i->high = found->high;
    i->launch = b->ptx->nlaunches;
}

static void *global_place(struct block *b, const struct warp *w, struct insn *i, unsigned lane,
                          uint64_t address, unsigned nbytes)
{
    uintptr_t at = (uintptr_t)address;

    if (at % nbytes)
        fault(b, w, i, lane, "%u bytes at %#zx, which is misaligned", nbytes, (size_t)at);
    if (i->launch != b->ptx->nlaunches || at < i->low || at + nbytes > i->high)
        find_region(b, w, i, lane, at, nbytes);
    return (void *)at;
}

/* A thread writes to memory that no other thread of the launch has written. */
static void note_global_write(struct block *b, const struct warp *w, struct insn *i, unsigned lane,
                              uint64_t address, unsigned nbytes)
{
    (void)global_place(b, w, i, lane, address, nbytes); /* finds the lane's own region */
    struct region *r = i->region;
    unsigned nthreads = b->launch->nthreads, thread = w->index * LANES + lane;
    struct written now = {b->ptx->launch, b->index * nthreads + thread};

    if (!r->by) {
        void *p = mmap(NULL, written_bytes(r), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
        if (p == MAP_FAILED)
            fault(b, w, i, lane, "out of memory");
        r->by = p;
    }
    for (unsigned k = 0; k < nbytes; k += UNIT) {
        struct written *last = &r->by[(address - r->low + k) / UNIT];

        if (last->launch == now.launch && last->thread != now.thread)
            fault(b, w, i, lane, "a race with thread %u of block %u, which wrote there",
                  last->thread % nthreads, last->thread / nthreads);
        *last = now;
    }
}

/* Returns whether all lanes' bytes are aligned and in the allocation that i used last. */
VECTOR_CLONES static bool is_inside(const struct insn *i, const uint64_t *address, unsigned nbytes)
{
    uint64_t low = address[0], high = low, all = low;

    for (unsigned l = 1; l < LANES; l++) {
        low = address[l] < low ? address[l] : low;
        high = address[l] > high ? address[l] : high;
        all |= address[l];
    }
    return low >= i->low && high < i->high && high + nbytes <= i->high && all % nbytes == 0;
}

/* ---- shared memory */

/* Did that access of a thread come before what warp w does now, by a barrier of the warp? */
static bool is_ordered(const struct warp *w, unsigned thread, uint32_t epoch)
{
    return thread != SEVERAL && thread / LANES == w->index && epoch < w->epoch;
}

static void check_granule(struct block *b, const struct warp *w, const struct insn *i,
                          unsigned lane, const struct granule *g, enum how how)
{
    unsigned thread = w->index * LANES + lane;

    if (g->in_flight)
        fault(b, w, i, lane, "shared memory that a cp.async of thread %u still writes", g->writer);
    if (how != WRITE && g->wtime == 0)
        fault(b, w, i, lane, "shared memory that nothing has written");
    if (how == ATOMIC && g->atomic)
        return;
    if (g->wtime == b->time && g->writer != thread && !is_ordered(w, g->writer, g->wepoch))
        fault(b, w, i, lane, "a race with thread %u, which wrote there", g->writer);
    if (how != READ && g->rtime == b->time && g->reader != thread &&
        !is_ordered(w, g->reader, g->repoch)) {
        if (g->reader == SEVERAL)
            fault(b, w, i, lane, "a race with several threads, which read there");
        fault(b, w, i, lane, "a race with thread %u, which read there", g->reader);
    }
}

static void note_read(const struct block *b, const struct warp *w, struct granule *g,
                      unsigned thread)
{
    bool first = g->rtime != b->time || is_ordered(w, g->reader, g->repoch);

    g->reader = first || g->reader == thread ? (uint16_t)thread : SEVERAL;
    g->rtime = b->time;
    g->repoch = w->epoch;
}

static void note_write(const struct block *b, const struct warp *w, struct granule *g,
                       unsigned thread, bool atomic)
{
    g->writer = (uint16_t)thread;
    g->wtime = b->time;
    g->wepoch = w->epoch;
    g->atomic = atomic;
}

static void *shared_place(struct block *b, const struct warp *w, const struct insn *i,
                          unsigned lane, uint64_t address, unsigned nbytes, enum how how)
{
    uint64_t at = address - SHARED_BASE;

    if (address < SHARED_BASE || at + nbytes > b->nshared)
        fault(b, w, i, lane, "%u bytes at %lld of %zu bytes of shared memory", nbytes,
              (long long)at, b->nshared);
    if (at % nbytes)
        fault(b, w, i, lane, "%u bytes at %llu of shared memory, which is misaligned", nbytes,
              (unsigned long long)at);
    if (nbytes % GRANULE)
        fault(b, w, i, lane, "accesses to shared memory of less than %d bytes are not supported",
              GRANULE);
    for (unsigned k = 0; k < nbytes / GRANULE; k++) {
        struct granule *g = &b->granules[at / GRANULE + k];

        check_granule(b, w, i, lane, g, how);
        if (how == READ)
            note_read(b, w, g, w->index * LANES + lane);
        else
            note_write(b, w, g, w->index * LANES + lane, how == ATOMIC);
    }
    return b->shared + at;
}

/* ---- what an access costs */

/* Sorts v[0..n) in ascending order and removes duplicates. Returns how many values remain. */
static unsigned distinct(uint64_t *v, unsigned n)
{
    unsigned m = 0;

    for (unsigned k = 0; k < n; k++) {
        uint64_t x = v[k];
        unsigned j = m;
        while (j > 0 && v[j - 1] > x)
            j--;
        if (j > 0 && v[j - 1] == x)
            continue;
        memmove(v + j + 1, v + j, (m - j) * sizeof *v);
        v[j] = x;
        m++;
    }
    return m;
}

/* Counts the distinct addresses, and the sectors that they lie in. Where they ascend, as most do,
 * nothing has to be sorted. */
VECTOR_CLONES static void count_places(const uint64_t *address, unsigned *nplaces,
                                       unsigned *nsectors)
{
    unsigned places = 1, sectors = 1, descents = 0;

    for (unsigned l = 1; l < LANES; l++) {
        places += address[l] != address[l - 1];
        sectors += address[l] / SECTOR != address[l - 1] / SECTOR;
        descents += address[l] < address[l - 1];
    }
    if (descents) {
        uint64_t sorted[LANES];

        memcpy(sorted, address, sizeof sorted);
        places = distinct(sorted, LANES);
        for (unsigned l = 0; l < places; l++)
            sorted[l] /= SECTOR;
        sectors = distinct(sorted, places);
    }
    *nplaces = places;
    *nsectors = sectors;
}

/* The lanes whose bytes fill 128 are served together; two places in the same banks are not. */
static unsigned wavefronts(const uint64_t *address, uint32_t mask, unsigned nbytes)
{
    unsigned together = BANKS * BANK_BYTES / nbytes, total = 0;

    for (unsigned first = 0; first < LANES; first += together) {
        uint64_t seen[BANKS][LANES];
        unsigned nseen[BANKS] = {0}, most = 0;

        for (unsigned l = first; l < first + together; l++) {
            uint64_t place = address[l] / nbytes;
            unsigned bank = place % together, k = 0;

            if (!(mask >> l & 1))
                continue;
            while (k < nseen[bank] && seen[bank][k] != place)
                k++;
            if (k < nseen[bank])
                continue;
            seen[bank][nseen[bank]++] = place;
            most = nseen[bank] > most ? nseen[bank] : most;
        }
        total += most;
    }
    return total;
}

/* Lanes outside of the mask have the addresses of others. */
static void count_access(struct block *b, const uint64_t *address, uint32_t mask, unsigned nbytes,
                         bool shared)
{
    struct counts *c = &b->kernel->counts;
    unsigned nplaces, nsectors;

    count_places(address, &nplaces, &nsectors);
    if (shared) {
        c->nwavefronts += wavefronts(address, mask, nbytes);
        c->nwavefronts_ideal += (nplaces * nbytes + BANKS * BANK_BYTES - 1) / (BANKS * BANK_BYTES);
    } else {
        c->nsectors += nsectors;
        c->nsectors_ideal += (nplaces * nbytes + SECTOR - 1) / SECTOR;
    }
}

/* ---- instructions */

/* A lane outside of the mask gets the address of one that is in it. */
static void find_addresses(const struct warp *w, const struct operand *o, int64_t displacement,
                           uint32_t mask, uint64_t *address)
{
    const void *base = lanes_of(w, o);
    unsigned last = mask ? (unsigned)__builtin_ctz(mask) : 0;

    for (unsigned l = 0; o->nbytes == 4 && l < LANES; l++)
        address[l] = ((const uint32_t *)base)[l] + (uint64_t)displacement;
    for (unsigned l = 0; o->nbytes != 4 && l < LANES; l++)
        address[l] = ((const uint64_t *)base)[l] + (uint64_t)displacement;
    for (unsigned l = 0; mask != ALL_LANES && l < LANES; l++) {
        last = mask >> l & 1 ? l : last;
        address[l] = address[last];
    }
}

static enum space space_of(const struct insn *i, uint64_t address)
{
    if (address >> 56 == SHARED_WINDOW >> 56)
        return SHARED;
    if (address >> 56 == PARAM_WINDOW >> 56)
        return PARAM;
    return i->space == GENERIC ? GLOBAL : i->space;
}

/* Generic addresses become those of their space, which is the same for all lanes. */
static enum space find_space(struct block *b, const struct warp *w, const struct insn *i,
                             uint64_t *address)
{
    uint64_t window = 0;
    enum space found = space_of(i, address[0]);

    for (unsigned l = 0; l < LANES; l++)
        window |= address[l];
    if (window >> 56 == 0)
        return found;
    for (unsigned l = 0; l < LANES; l++) {
        enum space here = space_of(i, address[l]);

        if (i->space != GENERIC && here != i->space)
            fault(b, w, i, l, "an address of another space");
        if (found != here)
            fault(b, w, i, l, "lanes with addresses of several spaces");
        if (here == PARAM || address[l] >> 56 == SHARED_WINDOW >> 56)
            address[l] &= ~((uint64_t)0xff << 56);
    }
    return found;
}

static const void *param_place(struct block *b, const struct warp *w, const struct insn *i,
                               unsigned lane, uint64_t address, unsigned nbytes)
{
    if (address + nbytes > b->launch->nargs)
        fault(b, w, i, lane, "%u bytes at %llu of %zu bytes of parameters", nbytes,
              (unsigned long long)address, b->launch->nargs);
    if (address % (nbytes > 8 ? 8 : nbytes))
        fault(b, w, i, lane, "%u bytes of parameters, misaligned", nbytes);
    return (const char *)b->launch->args + address;
}

/* Where each lane's bytes lie here. */
static void find_places(struct block *b, const struct warp *w, struct insn *i, enum space space,
                        const uint64_t *address, unsigned nbytes, enum how how,
                        char *place[LANES])
{
    bool inside = space == GLOBAL && i->launch == b->ptx->nlaunches &&
                  is_inside(i, address, nbytes);

    for (unsigned l = 0; inside && l < LANES; l++)
        place[l] = (char *)(uintptr_t)address[l];
    for (unsigned l = 0; !inside && l < LANES; l++) {
        if (!(w->mask >> l & 1))
            continue;
        if (space == SHARED)
            place[l] = shared_place(b, w, i, l, address[l], nbytes, how);
        else if (space == PARAM)
            place[l] = (char *)(uintptr_t)param_place(b, w, i, l, address[l], nbytes);
        else
            place[l] = global_place(b, w, i, l, address[l], nbytes);
    }
}

#define EACH_LANE(mask)                     \
    for (unsigned l = 0; l < LANES; l++)    \
        if ((mask) >> l & 1)

/* Loads an element of each lane into lanes of the same size. */
#define LOAD(nbytes)                                                       \
    case nbytes:                                                           \
        EACH_LANE(mask) memcpy(to + (size_t)l * (nbytes), place[l] + offset, nbytes); \
        break
static void load_same(char *to, char *const *place, size_t offset, unsigned nbytes, uint32_t mask)
{
    switch (nbytes) {
        LOAD(2);
        LOAD(4);
        LOAD(8);
    }
}

/* Loads an element of each lane into wider lanes. */
static void load_wider(char *to, char *const *place, size_t offset, const struct insn *i,
                       unsigned lane_bytes, uint32_t mask)
{
    EACH_LANE(mask)
    {
        uint64_t v = 0;

        memcpy(&v, place[l] + offset, i->nbytes);
        if (i->is_signed && v >> (8 * i->nbytes - 1))
            v |= ~(uint64_t)0 << 8 * i->nbytes;
        memcpy(to + (size_t)l * lane_bytes, &v, lane_bytes);
    }
}

static void load(const struct warp *w, const struct insn *i, char *const *place)
{
    for (unsigned k = 0; k < i->nvector; k++) {
        const struct operand *o = &i->operand[1 + k];

        if (o->nbytes == i->nbytes)
            load_same(lanes_of(w, o), place, (size_t)k * i->nbytes, i->nbytes, w->mask);
        else
            load_wider(lanes_of(w, o), place, (size_t)k * i->nbytes, i, o->nbytes, w->mask);
    }
}

#define STORE(nbytes)                                                            \
    case nbytes:                                                                 \
        EACH_LANE(mask) memcpy(place[l] + offset, from + l * lane_bytes, nbytes); \
        break
static void store_lanes(const char *from, size_t lane_bytes, char *const *place, size_t offset,
                        unsigned nbytes, uint32_t mask)
{
    switch (nbytes) {
        STORE(1);
        STORE(2);
        STORE(4);
        STORE(8);
    }
}

static void store(const struct warp *w, const struct insn *i, char *const *place)
{
    for (unsigned k = 0; k < i->nvector; k++) {
        const struct operand *o = &i->operand[1 + k];

        store_lanes(lanes_of(w, o), o->nbytes, place, (size_t)k * i->nbytes, i->nbytes, w->mask);
    }
}

static void add_atomically(const struct warp *w, const struct insn *i, unsigned lane, void *at)
{
    uint64_t old = 0, value = 0;
    size_t offset = (size_t)lane * i->nbytes;

    memcpy(&old, at, i->nbytes);
    memcpy(&value, (char *)lanes_of(w, &i->operand[1]) + offset, i->nbytes);
    if (i->noperands > 2)
        memcpy((char *)lanes_of(w, &i->operand[2]) + offset, &old, i->nbytes);
    value += old;
    memcpy(at, &value, i->nbytes);
}

/* The bytes are read when the copy is waited for, as late as a GPU could. */
static void start_copy(struct block *b, struct warp *w, struct insn *i, unsigned lane,
                       uint64_t to, uint64_t from)
{
    uint32_t size = ((const uint32_t *)lanes_of(w, &i->operand[2]))[lane];

    if (size != 0 && size != 16)
        fault(b, w, i, lane, "a copy of %u of 16 bytes is not supported", size);
    shared_place(b, w, i, lane, to, 16, WRITE);
    for (unsigned k = 0; k < 16 / GRANULE; k++)
        b->granules[(to - SHARED_BASE) / GRANULE + k].in_flight = true;
    if (w->ncopies[lane] == w->copy_room[lane]) {
        unsigned room = w->copy_room[lane] ? 2 * w->copy_room[lane] : 16;
        struct copy *p = realloc(w->copies[lane], room * sizeof *p);
        if (!p)
            fault(b, w, i, lane, "out of memory");
        w->copies[lane] = p;
        w->copy_room[lane] = room;
    }
    w->copies[lane][w->ncopies[lane]++] = (struct copy){
        (uint32_t)to, size ? global_place(b, w, i, lane, from, 16) : NULL};
}

static void run_copy(struct block *b, struct warp *w, struct insn *i)
{
    const uint32_t *size = lanes_of(w, &i->operand[2]);
    uint64_t to[LANES], from[LANES];
    uint32_t real = 0;

    EACH_LANE(w->mask) real |= (uint32_t)(size[l] != 0) << l;
    find_addresses(w, &i->operand[0], i->displacement, w->mask, to);
    find_addresses(w, &i->operand[1], 0, real, from);
    EACH_LANE(w->mask) start_copy(b, w, i, l, to[l], from[l]);
    count_access(b, to, w->mask, 16, true);
    if (real) {
        count_access(b, from, real, 16, false);
        footprint_add(b->ptx, b->kernel, from, real, false);
    }
}

void wait_copies(struct block *b, struct warp *w, struct insn *i)
{
    (void)i;
    for (unsigned l = 0; l < LANES; l++) {
        for (unsigned k = 0; (w->mask >> l & 1) && k < w->ncopies[l]; k++) {
            const struct copy *c = &w->copies[l][k];
            uint32_t at = c->to - SHARED_BASE;

            if (c->from)
                memcpy(b->shared + at, c->from, 16);
            else
                memset(b->shared + at, 0, 16);
            for (unsigned g = 0; g < 16 / GRANULE; g++) {
                b->granules[at / GRANULE + g].in_flight = false;
                note_write(b, w, &b->granules[at / GRANULE + g], w->index * LANES + l, false);
            }
        }
        if (w->mask >> l & 1)
            w->ncopies[l] = 0;
    }
}

void run_memory(struct block *b, struct warp *w, struct insn *i)
{
    uint64_t address[LANES];
    char *place[LANES];
    unsigned nbytes = i->nbytes * i->nvector;
    enum how how = i->kind == LOAD ? READ : i->kind == STORE ? WRITE : ATOMIC;

    if (i->kind == COPY) {
        run_copy(b, w, i);
        return;
    }
    find_addresses(w, &i->operand[0], i->displacement, w->mask, address);
    enum space space = find_space(b, w, i, address);
    if (how != READ && space == PARAM)
        fault(b, w, i, 0, "a write to parameters");
    find_places(b, w, i, space, address, nbytes, how, place);
    for (unsigned l = 0; space == GLOBAL && how == WRITE && l < LANES; l++)
        if (w->mask >> l & 1)
            note_global_write(b, w, i, l, address[l], nbytes);
    if (space != PARAM)
        count_access(b, address, w->mask, nbytes, space == SHARED);
    if (space != PARAM && space != SHARED && how != WRITE)
        footprint_add(b->ptx, b->kernel, address, w->mask, false);
    if (space != PARAM && space != SHARED && how != READ)
        footprint_add(b->ptx, b->kernel, address, w->mask, true);
    if (how == READ)
        load(w, i, place);
    else if (how == WRITE)
        store(w, i, place);
    else
        EACH_LANE(w->mask) add_atomically(w, i, l, place[l]);
}

/* Lane 8 m + r names row r of matrix m; lane l receives two numbers of each matrix. */
void run_load_matrix(struct block *b, struct warp *w, struct insn *i)
{
    uint64_t address[LANES];
    uint16_t row[LANES][8];

    find_addresses(w, &i->operand[4], i->displacement, ALL_LANES, address);
    for (unsigned l = 0; l < LANES; l++)
        memcpy(row[l], shared_place(b, w, i, l, address[l], 16, READ), 16);
    for (unsigned m = 0; m < 4; m++)
        for (unsigned l = 0; l < LANES; l++) {
            unsigned r = l / 4, c = l % 4 * 2;
            const uint16_t(*matrix)[8] = (const uint16_t(*)[8])row + 8 * m;
            ((uint32_t *)lanes_of(w, &i->operand[m]))[l] =
                i->transposed ? matrix[c][r] | (uint32_t)matrix[c + 1][r] << 16
                              : matrix[r][c] | (uint32_t)matrix[r][c + 1] << 16;
        }
    count_access(b, address, ALL_LANES, 16, true);
}
