/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a launch: block by block, each one's warps from barrier to barrier, a warp's lanes in groups
 * that are at one instruction; the group whose instruction comes first in the code runs first. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "t/ptx/machine.h"
#include "trainer/core/vector_clones.h"

void fault(struct block *b, const struct warp *w, const struct insn *i, unsigned lane,
           const char *fmt, ...)
{
    va_list ap;
    int n = snprintf(b->why, PTX_WHY, "%s (sm_%u), block %u, thread %u: ", b->kernel->name,
                     b->ptx->limits->arch, b->index, w->index * LANES + lane);

    va_start(ap, fmt);
    n += vsnprintf(b->why + n, PTX_WHY - (size_t)n, fmt, ap);
    va_end(ap);
    if (i && n < PTX_WHY)
        snprintf(b->why + n, PTX_WHY - (size_t)n, "; line %u: %s", i->line, i->text);
    longjmp(b->failed, 1);
}

/* xorshift64 */
static unsigned draw(struct block *b, unsigned n)
{
    b->random ^= b->random << 13;
    b->random ^= b->random >> 7;
    b->random ^= b->random << 17;
    return (unsigned)(b->random % n);
}

static void shuffle(struct block *b, unsigned *order, unsigned n)
{
    for (unsigned k = 0; k < n; k++) {
        unsigned j = draw(b, k + 1);
        order[k] = order[j];
        order[j] = k;
    }
}

/* ---- groups of lanes */

static unsigned first_lane(uint32_t mask)
{
    return mask ? (unsigned)__builtin_ctz(mask) : 0;
}

/* Lanes that meet at an instruction are one group. */
static void add_group(struct warp *w, unsigned pc, uint32_t mask, bool waits)
{
    for (unsigned k = 0; k < w->ngroups; k++)
        if (w->group[k].pc == pc) {
            w->group[k].mask |= mask;
            w->group[k].waits &= waits && w->group[k].mask != w->live;
            return;
        }
    w->group[w->ngroups++] = (struct group){pc, mask, waits};
}

static struct group take_group(struct block *b, struct warp *w)
{
    unsigned best = w->ngroups;

    for (unsigned k = 0; k < w->ngroups; k++)
        if (!w->group[k].waits && (best == w->ngroups || w->group[k].pc < w->group[best].pc))
            best = k;
    if (best == w->ngroups)
        fault(b, w, &b->ptx->code[w->group[0].pc], first_lane(w->group[0].mask),
              "lanes %#x of a warp wait for the others, which do not come", w->group[0].mask);
    struct group g = w->group[best];
    w->group[best] = w->group[--w->ngroups];
    return g;
}

/* Returns whether another group is at that instruction, or one that can run is at an instruction
 * before it. */
static bool must_yield(const struct warp *w, unsigned pc)
{
    for (unsigned k = 0; k < w->ngroups; k++)
        if (w->group[k].pc == pc || (w->group[k].pc < pc && !w->group[k].waits))
            return true;
    return false;
}

/* ---- instructions */

VECTOR_CLONES static uint32_t mask_of(const uint32_t *predicate)
{
    uint32_t mask = 0;

    for (unsigned l = 0; l < LANES; l++)
        mask |= (predicate[l] & 1) << l;
    return mask;
}

static uint32_t guard_mask(const struct warp *w, const struct insn *i)
{
    uint32_t mask = mask_of(lanes_of(w, &i->guard));

    return i->negated ? ~mask : mask;
}

#define MERGE(t)                                          \
    do {                                                  \
        t *to = out;                                      \
        const t *from = (const t *)result;                \
        for (unsigned l = 0; l < LANES; l++)              \
            to[l] = mask >> l & 1 ? from[l] : to[l];      \
    } while (0)
VECTOR_CLONES static void merge(void *out, const uint64_t *result, uint32_t mask, unsigned nbytes)
{
    if (mask == ALL_LANES)
        memcpy(out, result, (size_t)nbytes * LANES);
    else if (nbytes == 2)
        MERGE(uint16_t);
    else if (nbytes == 4)
        MERGE(uint32_t);
    else
        MERGE(uint64_t);
}

static void run_arithmetic(struct warp *w, const struct insn *i)
{
    uint64_t result[LANES];
    void *in[4] = {NULL, NULL, NULL, NULL};

    for (unsigned k = 1; k < i->noperands; k++)
        in[k - 1] = lanes_of(w, &i->operand[k]);
    void *out = lanes_of(w, &i->operand[0]);
    i->run(w->mask == ALL_LANES ? out : result, in);
    if (w->mask != ALL_LANES)
        merge(out, result, w->mask, i->operand[0].nbytes);
}

#define UNPACK_LANES(t)                             \
    for (unsigned l = 0; l < LANES; l++) {          \
        ((t *)value[0])[l] = ((const t *)a)[2 * l]; \
        ((t *)value[1])[l] = ((const t *)a)[2 * l + 1]; \
    }
#define PACK_LANES(t)                               \
    for (unsigned l = 0; l < LANES; l++) {          \
        ((t *)value)[2 * l] = ((const t *)a)[l];    \
        ((t *)value)[2 * l + 1] = ((const t *)b)[l]; \
    }
static void run_halves(struct warp *w, const struct insn *i)
{
    uint64_t value[2][LANES];
    const void *a = lanes_of(w, &i->operand[i->kind == UNPACK ? 2 : 1]);
    const void *b = lanes_of(w, &i->operand[2]);

    if (i->kind == PACK && i->nbytes == 2)
        PACK_LANES(uint16_t)
    else if (i->kind == PACK)
        PACK_LANES(uint32_t)
    else if (i->nbytes == 2)
        UNPACK_LANES(uint16_t)
    else
        UNPACK_LANES(uint32_t)
    merge(lanes_of(w, &i->operand[0]), value[0], w->mask, i->operand[0].nbytes);
    if (i->kind == UNPACK)
        merge(lanes_of(w, &i->operand[1]), value[1], w->mask, i->operand[1].nbytes);
}

static void run_call(struct warp *w, const struct insn *i, unsigned back)
{
    uint64_t result[LANES];

    for (unsigned l = 0; l < LANES; l++)
        ((uint32_t *)result)[l] = back;
    merge(lanes_of(w, &i->operand[0]), result, w->mask, 4);
}

static bool is_of_warp(enum kind kind)
{
    return kind == BARRIER || kind == WARP_BARRIER || kind == LOAD_MATRIX || kind == MULTIPLY;
}

static void run_of_warp(struct block *b, struct warp *w, struct insn *i)
{
    if (i->kind == WARP_BARRIER)
        w->epoch++;
    else if (i->kind == LOAD_MATRIX)
        run_load_matrix(b, w, i);
    else if (i->kind == MULTIPLY) {
        run_multiply(w, i);
        b->kernel->counts.nmultiply++;
    }
}

static void run_plain(struct block *b, struct warp *w, struct insn *i)
{
    if (i->kind == ARITHMETIC)
        run_arithmetic(w, i);
    else if (i->kind == PACK || i->kind == UNPACK)
        run_halves(w, i);
    else if (i->kind == COPY_WAIT)
        wait_copies(b, w, i);
    else if (i->kind == TRAP)
        fault(b, w, i, first_lane(w->mask), "a trap");
    else
        run_memory(b, w, i);
}

/* Moves the group to its next instruction; false: all its lanes have returned. Where only some take
 * a jump, those become another group. */
static bool jump(struct block *b, struct warp *w, struct insn *i, struct group *g)
{
    uint32_t taken = w->mask, rest = g->mask & ~taken;

    if (i->kind == RETURN && i->noperands == 0) {
        w->live &= ~taken;
        for (unsigned l = 0; l < LANES; l++)
            if ((taken >> l & 1) && w->ncopies[l])
                fault(b, w, i, l, "the end, with %u copies that were not waited for",
                      w->ncopies[l]);
        g->pc++;
        g->mask = rest;
        return rest;
    }
    unsigned target = i->target;
    if (i->kind == CALL)
        run_call(w, i, g->pc + 1);
    else if (i->kind == RETURN)
        target = ((const uint32_t *)lanes_of(w, &i->operand[0]))[first_lane(taken)];
    if (taken && rest) {
        add_group(w, target, taken, false);
        g->mask = rest;
        g->pc++;
    } else
        g->pc = taken ? target : g->pc + 1;
    return true;
}

/* Returns whether the group has all lanes that an instruction of the whole warp needs. If not, the
 * group is put back and waits for the others. */
static bool meet(struct block *b, struct warp *w, struct insn *i, const struct group *g)
{
    if (g->mask != w->live) {
        add_group(w, g->pc, g->mask, true);
        return false;
    }
    if (w->live != ALL_LANES)
        fault(b, w, i, first_lane(w->live), "only lanes %#x of a warp are left", w->live);
    if (w->mask != 0 && w->mask != g->mask)
        fault(b, w, i, first_lane(w->mask), "only lanes %#x of a warp take part", w->mask);
    return true;
}

/* Runs a group until its lanes have returned or wait, or until it meets another or one is behind it
 * in the code. */
static void run_group(struct block *b, struct warp *w, struct group g)
{
    for (;;) {
        if (w->ngroups && must_yield(w, g.pc)) {
            add_group(w, g.pc, g.mask, false);
            return;
        }
        struct insn *i = &b->ptx->code[g.pc];
        w->mask = i->guarded ? g.mask & guard_mask(w, i) : g.mask;
        if (is_of_warp(i->kind) && !meet(b, w, i, &g))
            return;
        i->nruns++;
        b->kernel->counts.nwarp++;
        if (i->kind == BRANCH || i->kind == CALL || i->kind == RETURN) {
            if (!jump(b, w, i, &g))
                return;
            continue;
        }
        g.pc++;
        if (i->kind == BARRIER && w->mask) {
            add_group(w, g.pc, g.mask, false);
            w->barrier = g.pc;
            return;
        }
        if (is_of_warp(i->kind) && w->mask)
            run_of_warp(b, w, i);
        else if (w->mask)
            run_plain(b, w, i);
    }
}

/* ---- blocks */

static void run_warp(struct block *b, struct warp *w)
{
    w->barrier = 0;
    while (w->live && !w->barrier)
        run_group(b, w, take_group(b, w));
}

/* Checks that all warps of a block are at one barrier, which is counted, or all have ended. Returns
 * false for the latter case. Advances b->time. */
static bool pass_barrier(struct block *b)
{
    unsigned barrier = b->warp[0].barrier;

    for (unsigned k = 1; k < b->nwarps; k++) {
        const struct warp *w = &b->warp[k], *at = w->barrier ? w : &b->warp[0];
        unsigned there = w->barrier ? w->barrier : barrier;
        if (w->barrier != barrier)
            fault(b, at, &b->ptx->code[there - 1], 0,
                  "a barrier that not all warps of the block reach");
    }
    b->kernel->counts.nbarriers += barrier != 0;
    b->time++;
    return barrier;
}

static void fill_special(struct block *b, struct warp *w)
{
    uint32_t *tid = (uint32_t *)(w->registers + FUNCTION_BYTES);

    for (unsigned l = 0; l < LANES; l++) {
        tid[l] = w->index * LANES + l;
        tid[LANES + l] = b->launch->nthreads;
        tid[2 * LANES + l] = b->index;
        tid[3 * LANES + l] = b->launch->nblocks;
    }
}

static void run_block(struct block *b)
{
    unsigned order[MAX_WARPS];

    if (b->nshared)
        memset(b->granules, 0, (b->nshared + GRANULE - 1) / GRANULE * sizeof *b->granules);
    b->time = 1;
    for (unsigned k = 0; k < b->nwarps; k++) {
        struct warp *w = &b->warp[k];
        w->live = ALL_LANES;
        w->ngroups = 0;
        w->epoch = 1;
        memset(w->ncopies, 0, sizeof w->ncopies);
        add_group(w, b->kernel->first, ALL_LANES, false);
        fill_special(b, w);
    }
    do {
        shuffle(b, order, b->nwarps);
        for (unsigned k = 0; k < b->nwarps; k++)
            run_warp(b, &b->warp[order[k]]);
    } while (pass_barrier(b));
}

/* ---- launches */

static struct kernel *find_kernel(const struct ptx *p, const char *name)
{
    for (unsigned k = 0; k < p->nkernels; k++)
        if (strcmp(p->kernels[k].name, name) == 0)
            return &p->kernels[k];
    return NULL;
}

bool ptx_has(const struct ptx *p, const char *kernel)
{
    return find_kernel(p, kernel);
}

__attribute__((format(printf, 2, 3))) static bool refuse(char *why, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, PTX_WHY, fmt, ap);
    va_end(ap);
    return false;
}

/* Refuses what the driver would, and threads that do not fill whole warps. */
static bool check_launch(const struct ptx *p, const struct kernel *k, const struct ptx_launch *l,
                         char *why)
{
    size_t nshared = k->nstatic + l->nshared;
    unsigned room = resident_blocks(p->limits, k->nregisters, l->nthreads, nshared);

    if (l->nblocks == 0 || l->nthreads == 0 || l->nthreads % LANES || l->nthreads > 1024)
        return refuse(why, "%s: a launch of %u blocks of %u threads", k->name, l->nblocks,
                      l->nthreads);
    if (k->nthreads_max && l->nthreads > k->nthreads_max)
        return refuse(why, "%s: %u threads, compiled for %u", k->name, l->nthreads,
                      k->nthreads_max);
    if (l->nargs != k->nparams)
        return refuse(why, "%s: %zu bytes of parameters, compiled for %zu", k->name, l->nargs,
                      k->nparams);
    if (nshared > p->limits->shared_block)
        return refuse(why, "%s: %zu bytes of shared memory, sm_%u has %zu", k->name, nshared,
                      p->limits->arch, p->limits->shared_block);
    if (room == 0)
        return refuse(why, "%s: %u threads with %u registers each do not fit into sm_%u", k->name,
                      l->nthreads, k->nregisters, p->limits->arch);
    return true;
}

/* Returns room for nbytes, those behind `kept` NaN, as nothing has written there; NULL: out of
 * memory, and p is freed. */
static void *need_room(void *p, size_t *room, size_t kept, size_t nbytes)
{
    if (*room < nbytes) {
        free(p);
        p = malloc(nbytes);
        *room = p ? nbytes : 0;
        kept = 0;
    }
    if (p)
        memset((char *)p + kept, 0xff, nbytes - kept);
    return p;
}

static bool make_warps(struct block *b)
{
    size_t ngranules = b->nshared / GRANULE + 1;

    b->shared = need_room(b->shared, &b->shared_room, 0, b->nshared + 1);
    b->granules = need_room(b->granules, &b->granule_room, 0, ngranules * sizeof *b->granules);
    bool made = b->shared && b->granules;
    for (unsigned k = 0; k < b->nwarps; k++) {
        struct warp *w = &b->warp[k];

        w->index = k;
        w->registers = need_room(w->registers, &w->room, FUNCTION_BYTES,
                                 b->kernel->register_bytes);
        made &= w->registers != NULL;
    }
    return made;
}

static void free_block(struct block *b)
{
    for (unsigned k = 0; b && k < MAX_WARPS; k++) {
        for (unsigned l = 0; l < LANES; l++)
            free(b->warp[k].copies[l]);
        free(b->warp[k].registers);
    }
    if (b) {
        free(b->shared);
        free(b->granules);
    }
    free(b);
}

static bool run_blocks(struct block *b)
{
    unsigned n = b->launch->nblocks, *order = malloc(n * sizeof *order);
    volatile bool run = order && make_warps(b);

    if (!run)
        refuse(b->why, "out of memory");
    if (run && setjmp(b->failed) == 0) {
        shuffle(b, order, n);
        for (unsigned k = 0; k < n; k++) {
            b->index = order[k];
            run_block(b);
        }
    } else
        run = false;
    free(order);
    return run;
}

static void count_launch(struct kernel *k, const struct ptx_launch *l)
{
    size_t nshared = k->nstatic + l->nshared;

    k->counts.nlaunches++;
    k->counts.nblocks += l->nblocks;
    k->nthreads = l->nthreads;
    k->nshared = nshared > k->nshared ? nshared : k->nshared;
}

static uint32_t nlaunches; /* of all sets */

bool ptx_launch(struct ptx *p, const struct ptx_launch *launch, char why[PTX_WHY])
{
    struct kernel *k = find_kernel(p, launch->kernel);

    if (!k)
        return refuse(why, "%s: no such kernel for sm_%u", launch->kernel, p->limits->arch);
    if (!check_launch(p, k, launch, why))
        return false;
    if (!p->block && !(p->block = calloc(1, sizeof *p->block)))
        return refuse(why, "out of memory");
    struct block *b = p->block;
    p->nlaunches++;
    p->launch = ++nlaunches;
    b->ptx = p;
    b->kernel = k;
    b->launch = launch;
    b->why = why;
    b->nwarps = launch->nthreads / LANES;
    b->nshared = k->nstatic + launch->nshared;
    b->random = (launch->seed + p->nlaunches) * 0x9e3779b97f4a7c15u | 1;
    count_launch(k, launch);
    footprint_clear(p);
    return run_blocks(b);
}

/* ---- the set */

struct ptx *ptx_new(unsigned arch)
{
    struct ptx *p = calloc(1, sizeof *p);

    if (p && !(p->limits = limits_of(arch))) {
        free(p);
        return NULL;
    }
    return p;
}

void ptx_free(struct ptx *p)
{
    if (p)
        footprint_free(p);
    for (unsigned k = 0; p && k < p->ncode; k++) {
        struct insn *i = &p->code[k];
        for (unsigned o = 0; o < i->noperands; o++)
            free(i->operand[o].fixed);
        free(i->text);
        free(i->words);
    }
    for (unsigned k = 0; p && k < p->nkernels; k++)
        free(p->kernels[k].name);
    if (p) {
        free_block(p->block);
        free(p->code);
        free(p->kernels);
    }
    free(p);
}
