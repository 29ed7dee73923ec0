/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of a graph: offsets in an arena, and the arena. */
#include "src/base.h"
#include "trainer/core/graph.h"

#include <sys/mman.h>

/* Finds the blocks of memory and their lifetimes, and then places the blocks, largest first. */

/* Memory that is in use from op first to op last: that of a tensor and of those computed in place
 * of it, a workspace, or what an op keeps. */
struct memory_block {
    size_t offset, size; /* bytes */
    int first, last;
    size_t *place; /* where the offset of a workspace, or of what an op keeps, is set; else NULL */
};

struct memory_plan {
    struct memory_block *blocks;  /* during planning, tensor.offset is an index into it */
    struct memory_block **order;  /* by decreasing size */
    struct memory_block **placed; /* by increasing offset */
    size_t count, nplaced;
};

static void extend_lifetime(struct tensor *t, int i)
{
    if (t->first < 0)
        t->first = i;
    t->last = i;
}

static void find_lifetimes(struct graph *g)
{
    for (size_t i = 0; i < g->ntensors; i++)
        g->tensors[i]->first = g->tensors[i]->last = -1;
    for (size_t i = 0; i < g->nops; i++) {
        struct tensor *t;

        for (int k = -1; (t = op_next(g->ops[i], &k));)
            extend_lifetime(t, (int)i);
    }
    for (size_t i = 0; i < g->ntensors; i++)
        if (g->tensors[i]->pinned) {
            g->tensors[i]->first = 0;
            g->tensors[i]->last = (int)g->nops;
        }
}

static bool takes_memory_of_input(const struct op *op, int k, int i)
{
    const struct tensor *in = op->in[0], *out = op->out[k];

    return k == 0 && op_is_inplace(op) && in->place == TENSOR_ARENA &&
           out->place == TENSOR_ARENA && in->last == i && !in->pinned && !out->pinned &&
           in->dtype == out->dtype && tensor_count(in) == tensor_count(out);
}

static void add_block(struct memory_plan *p, size_t nbytes, int first, int last,
                      size_t *place)
{
    p->blocks[p->count++] = (struct memory_block){.size = round_up(nbytes, PLAN_ALIGN),
                                                  .first = first, .last = last, .place = place};
}

static void add_tensor(struct memory_plan *p, struct tensor *t)
{
    t->offset = p->count;
    add_block(p, tensor_nbytes(t), t->first, t->last, NULL);
}

/* Gives t the block of `in`, an input of its op, in whose place t is computed. */
static void reuse_block(struct memory_plan *p, const struct tensor *in, struct tensor *t)
{
    struct memory_block *b = &p->blocks[in->offset];

    t->offset = in->offset;
    b->last = t->last > b->last ? t->last : b->last;
}

static void add_op(struct memory_plan *p, struct op *op, int i)
{
    for (int k = -1; op_next_out(op, &k);) {
        struct tensor *t = op->out[k];

        if (t->place != TENSOR_ARENA || t->pinned)
            continue;
        if (takes_memory_of_input(op, k, i))
            reuse_block(p, op->in[0], t);
        else
            add_tensor(p, t);
    }
    if (op->workspace_size)
        add_block(p, op->workspace_size, i, i, &op->workspace_offset);
}

static bool is_planned(const struct tensor *t)
{
    return t->place == TENSOR_ARENA && t->first >= 0;
}

static void find_blocks(struct memory_plan *p, struct graph *g)
{
    for (size_t i = 0; i < g->ntensors; i++)
        if (is_planned(g->tensors[i]) && g->tensors[i]->pinned)
            add_tensor(p, g->tensors[i]);
    for (size_t i = 0; i < g->nops; i++)
        add_op(p, g->ops[i], (int)i);
    for (size_t i = 0; i < g->nops; i++)
        if (g->ops[i]->kept_size)
            add_block(p, g->ops[i]->kept_size, 0, (int)g->nops, &g->ops[i]->kept_offset);
}

static int compare_sizes(const void *left, const void *right)
{
    const struct memory_block *a = *(struct memory_block *const *)left;
    const struct memory_block *b = *(struct memory_block *const *)right;

    if (a->size != b->size)
        return a->size < b->size ? 1 : -1;
    return (a > b) - (a < b);
}

static bool live_together(const struct memory_block *a, const struct memory_block *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Places b into the smallest sufficient gap between blocks that live at the same time, or behind
 * them. */
static void place_block(struct memory_plan *p, struct memory_block *b)
{
    size_t end = 0, best = SIZE_MAX, i = p->nplaced;

    for (size_t k = 0; k < p->nplaced; k++) {
        const struct memory_block *other = p->placed[k];

        if (!live_together(b, other))
            continue;
        if (other->offset >= end + b->size && other->offset - end < best) {
            best = other->offset - end;
            b->offset = end;
        }
        if (other->offset + other->size > end)
            end = other->offset + other->size;
    }
    if (best == SIZE_MAX)
        b->offset = end;
    while (i > 0 && p->placed[i - 1]->offset > b->offset)
        i--;
    memmove(p->placed + i + 1, p->placed + i, (p->nplaced++ - i) * sizeof *p->placed);
    p->placed[i] = b;
}

static void place_blocks(struct memory_plan *p, struct graph *g)
{
    for (size_t i = 0; i < p->count; i++)
        p->order[i] = &p->blocks[i];
    qsort(p->order, p->count, sizeof *p->order, compare_sizes);
    g->arena_size = 0;
    for (size_t i = 0; i < p->count; i++) {
        struct memory_block *b = p->order[i];

        place_block(p, b);
        if (b->offset + b->size > g->arena_size)
            g->arena_size = b->offset + b->size;
        if (b->place)
            *b->place = b->offset;
    }
    for (size_t i = 0; i < g->ntensors; i++)
        if (is_planned(g->tensors[i]))
            g->tensors[i]->offset =
                p->blocks[g->tensors[i]->offset].offset / dtype_size(g->tensors[i]->dtype);
}

int plan_arena(struct graph *g, struct err *e)
{
    size_t most = g->ntensors + 2 * g->nops + 1;
    struct memory_plan p = {.blocks = mem_alloc(most, sizeof *p.blocks, e),
                     .order = mem_alloc(most, sizeof *p.order, e),
                     .placed = mem_alloc(most, sizeof *p.placed, e)};
    bool allocated = p.blocks && p.order && p.placed;

    if (allocated) {
        find_lifetimes(g);
        find_blocks(&p, g);
        place_blocks(&p, g);
    }
    free(p.placed);
    free(p.order);
    free(p.blocks);
    return allocated ? 0 : -1;
}

/* Anonymous mappings, which the kernel zeroes and can back with huge pages. */

#define HUGE_PAGE ((size_t)2 << 20)

int arena_reserve(struct arena *a, size_t nbytes, bool *moved, struct err *e)
{
    struct arena grown = {.size = round_up(nbytes, HUGE_PAGE)};

    *moved = false;
    if (nbytes <= a->size)
        return 0;
    grown.mapping_size = grown.size + HUGE_PAGE;
    grown.mapping = mmap(NULL, grown.mapping_size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (grown.mapping == MAP_FAILED)
        return err_errno(e, ERR_INTERNAL, errno,
                         "no memory for %.1f GiB of activations; a smaller batch needs less",
                         (double)nbytes / (1 << 30));
    grown.base = (void *)round_up((uintptr_t)grown.mapping, HUGE_PAGE);
    /* Only advice: it may fail where huge pages are disabled, and small pages are used. */
    (void)madvise(grown.base, grown.size, MADV_HUGEPAGE);
    arena_release(a);
    *a = grown;
    *moved = true;
    return 0;
}

void arena_release(struct arena *a)
{
    if (a->mapping)
        munmap(a->mapping, a->mapping_size);
    *a = (struct arena){0};
}
