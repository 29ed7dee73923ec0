/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/core/plan.h"

#include <stdlib.h>
#include <string.h>

struct block {
    size_t offset, size;
};

struct free_list {
    struct block *blocks; /* sorted by offset, neighbours merged */
    size_t count;
    size_t end;  /* everything from here on is free */
    size_t high; /* largest end so far */
};

static size_t align(size_t nbytes)
{
    return (nbytes + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
}

static void remove_block(struct free_list *list, size_t i)
{
    list->count--;
    memmove(&list->blocks[i], &list->blocks[i + 1], (list->count - i) * sizeof *list->blocks);
}

static size_t take(struct free_list *list, size_t size)
{
    size_t best = list->count, offset;

    for (size_t i = 0; i < list->count; i++)
        if (list->blocks[i].size >= size &&
            (best == list->count || list->blocks[i].size < list->blocks[best].size))
            best = i;
    if (best == list->count) {
        offset = list->end;
        list->end += size;
        if (list->end > list->high)
            list->high = list->end;
        return offset;
    }
    offset = list->blocks[best].offset;
    list->blocks[best].offset += size;
    list->blocks[best].size -= size;
    if (list->blocks[best].size == 0)
        remove_block(list, best);
    return offset;
}

/* plan_arena made room for all the blocks that there can be. */
static void give(struct free_list *list, size_t offset, size_t size)
{
    struct block *b = list->blocks;
    size_t i = 0;

    if (size == 0)
        return;
    while (i < list->count && b[i].offset < offset)
        i++;
    memmove(&b[i + 1], &b[i], (list->count - i) * sizeof *b);
    b[i] = (struct block){offset, size};
    list->count++;
    if (i + 1 < list->count && b[i].offset + b[i].size == b[i + 1].offset) {
        b[i].size += b[i + 1].size;
        remove_block(list, i + 1);
    }
    if (i > 0 && b[i - 1].offset + b[i - 1].size == b[i].offset) {
        b[i - 1].size += b[i].size;
        remove_block(list, i);
        i--;
    }
    if (b[i].offset + b[i].size == list->end) {
        list->end = b[i].offset;
        remove_block(list, i);
    }
}

static size_t size_of(const struct tensor *t)
{
    return align(tensor_nbytes(t));
}

static void place(struct free_list *list, struct tensor *t)
{
    t->offset = take(list, size_of(t)) / dtype_size(t->dtype);
}

static void give_tensor(struct free_list *list, const struct tensor *t)
{
    give(list, t->offset * dtype_size(t->dtype), size_of(t));
}

static void use(struct tensor *t, int i)
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

        for (int k = 0; k < op_nin(op); k++)
            use(op->in[k], (int)i);
        for (int k = 0; k < op_nout(op); k++)
            use(op->out[k], (int)i);
    }
    for (size_t i = 0; i < g->ntensors; i++)
        if (g->tensors[i]->pinned) {
            g->tensors[i]->first = 0;
            g->tensors[i]->last = (int)g->nops;
        }
}

static bool takes_memory_of_input(const struct op *op, int i)
{
    const struct tensor *in = op->in[0], *out = op->out[0];

    return op->kind->inplace && in->place == TENSOR_ARENA && out->place == TENSOR_ARENA &&
           in->last == i && !out->pinned && in->dtype == out->dtype &&
           tensor_count(in) == tensor_count(out);
}

static void plan_outputs(struct free_list *list, struct op *op, int i)
{
    for (int k = 0; k < op_nout(op); k++) {
        struct tensor *t = op->out[k];

        if (t->place != TENSOR_ARENA || t->pinned)
            continue;
        if (k == 0 && takes_memory_of_input(op, i))
            t->offset = op->in[0]->offset;
        else
            place(list, t);
    }
}

/* What nobody needs after op i: inputs used for the last time, results that nobody reads. */
static void give_back(struct free_list *list, struct op *op, int i)
{
    bool inherited = takes_memory_of_input(op, i);

    for (int k = 0; k < op_nin(op); k++) {
        struct tensor *t = op->in[k];
        bool again = k == 0 && inherited;

        for (int j = 0; j < k; j++)
            again = again || op->in[j] == t;
        if (t->place == TENSOR_ARENA && t->last == i && !again)
            give_tensor(list, t);
    }
    for (int k = 0; k < op_nout(op); k++)
        if (op->out[k]->place == TENSOR_ARENA && op->out[k]->last == i)
            give_tensor(list, op->out[k]);
}

static void plan_op(struct free_list *list, struct op *op, int i)
{
    size_t workspace = align(op->workspace_size);

    plan_outputs(list, op, i);
    if (workspace) {
        op->workspace_offset = take(list, workspace);
        give(list, op->workspace_offset, workspace);
    }
    give_back(list, op, i);
}

int plan_arena(struct graph *g, struct err *e)
{
    struct free_list list = {0};

    /* Never more free blocks than tensors and workspaces, plus the one being inserted. */
    list.blocks = malloc((g->ntensors + g->nops + 1) * sizeof *list.blocks);
    if (!list.blocks)
        return err_set(e, ERR_INTERNAL, "memory plan: out of memory");
    find_lifetimes(g);
    for (size_t i = 0; i < g->ntensors; i++)
        if (g->tensors[i]->place == TENSOR_ARENA && g->tensors[i]->pinned)
            place(&list, g->tensors[i]);
    for (size_t i = 0; i < g->nops; i++)
        plan_op(&list, g->ops[i], (int)i);
    g->arena_size = list.high;
    free(list.blocks);
    return 0;
}
