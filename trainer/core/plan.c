/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/core/plan.h"

#include <stdlib.h>
#include <string.h>

#include "src/mem.h"

/* Memory that is in use from op first to op last: that of a tensor and of those computed in place
 * of it, or a workspace. */
struct block {
    size_t offset, size; /* bytes */
    int first, last;
    struct op *workspace_of; /* NULL: tensors */
};

struct plan {
    struct block *blocks;   /* until the end of planning, tensor.offset is an index into it */
    struct block **order;   /* by decreasing size */
    struct block **placed;  /* by increasing offset */
    size_t count, nplaced;
};

static size_t align_size(size_t nbytes)
{
    return (nbytes + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
}

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
        struct op *op = g->ops[i];

        for (int k = -1; op_next_in(op, &k);)
            extend_lifetime(op->in[k], (int)i);
        for (int k = -1; op_next_out(op, &k);)
            extend_lifetime(op->out[k], (int)i);
    }
    for (size_t i = 0; i < g->ntensors; i++)
        if (g->tensors[i]->pinned) {
            g->tensors[i]->first = 0;
            g->tensors[i]->last = (int)g->nops;
        }
}

static bool takes_memory_of_input(const struct op *op, int k, int i)
{
    const struct tensor *in = op_over(op, k), *out = op->out[k];

    return in && in->place == TENSOR_ARENA && out->place == TENSOR_ARENA && in->last == i &&
           !in->pinned && !out->pinned && in->dtype == out->dtype &&
           tensor_count(in) == tensor_count(out);
}

static void add_tensor(struct plan *p, struct tensor *t)
{
    t->offset = p->count;
    p->blocks[p->count++] = (struct block){.size = align_size(tensor_nbytes(t)), .first = t->first,
                                           .last = t->last};
}

/* Gives t the block of an input of its op, which is computed in place. */
static void reuse_block(struct plan *p, const struct tensor *in, struct tensor *t)
{
    struct block *b = &p->blocks[in->offset];

    t->offset = in->offset;
    b->last = t->last > b->last ? t->last : b->last;
}

static void add_op(struct plan *p, struct op *op, int i)
{
    for (int k = -1; op_next_out(op, &k);) {
        struct tensor *t = op->out[k];

        if (t->place != TENSOR_ARENA || t->pinned)
            continue;
        if (takes_memory_of_input(op, k, i))
            reuse_block(p, op_over(op, k), t);
        else
            add_tensor(p, t);
    }
    if (op->workspace_size)
        p->blocks[p->count++] = (struct block){.size = align_size(op->workspace_size), .first = i,
                                               .last = i, .workspace_of = op};
}

static bool is_planned(const struct tensor *t)
{
    return t->place == TENSOR_ARENA && t->first >= 0;
}

static void find_blocks(struct plan *p, struct graph *g)
{
    for (size_t i = 0; i < g->ntensors; i++)
        if (is_planned(g->tensors[i]) && g->tensors[i]->pinned)
            add_tensor(p, g->tensors[i]);
    for (size_t i = 0; i < g->nops; i++)
        add_op(p, g->ops[i], (int)i);
}

static int compare_sizes(const void *left, const void *right)
{
    const struct block *a = *(struct block *const *)left, *b = *(struct block *const *)right;

    if (a->size != b->size)
        return a->size < b->size ? 1 : -1;
    return (a > b) - (a < b);
}

static bool live_together(const struct block *a, const struct block *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Places b into the smallest sufficient gap between blocks that live at the same time, or behind
 * them. */
static void place_block(struct plan *p, struct block *b)
{
    size_t end = 0, best = SIZE_MAX, i = p->nplaced;

    for (size_t k = 0; k < p->nplaced; k++) {
        const struct block *other = p->placed[k];

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

static void place_blocks(struct plan *p, struct graph *g)
{
    for (size_t i = 0; i < p->count; i++)
        p->order[i] = &p->blocks[i];
    qsort(p->order, p->count, sizeof *p->order, compare_sizes);
    g->arena_size = 0;
    for (size_t i = 0; i < p->count; i++) {
        struct block *b = p->order[i];

        place_block(p, b);
        if (b->offset + b->size > g->arena_size)
            g->arena_size = b->offset + b->size;
        if (b->workspace_of)
            b->workspace_of->workspace_offset = b->offset;
    }
    for (size_t i = 0; i < g->ntensors; i++)
        if (is_planned(g->tensors[i]))
            g->tensors[i]->offset =
                p->blocks[g->tensors[i]->offset].offset / dtype_size(g->tensors[i]->dtype);
}

int plan_arena(struct graph *g, struct err *e)
{
    size_t most = g->ntensors + g->nops + 1;
    struct plan p = {.blocks = mem_alloc(most, sizeof *p.blocks, e),
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
