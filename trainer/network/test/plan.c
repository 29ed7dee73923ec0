/* SPDX-License-Identifier: BSD-3-Clause */
/* In the memory plan of a U-Net, what is in use at the same time (tensors, workspaces, what ops
 * keep) does not overlap, except a result with the input whose memory it takes; and the plan is
 * small. */
#include "src/base.h"
#include "trainer/core/graph.h"

#include "t/tap.h"
#include "trainer/models/model.h"

#define MAX_LIVE 256

struct piece {
    size_t begin, end; /* bytes */
    const struct tensor *tensor; /* NULL: a workspace, or what an op keeps */
};

static struct graph *build_unet(bool training, enum batch_norm_mode mode)
{
    const struct network_config config = {.model = "unet", .base = 8, .depth = 4, .channels = 1,
                                          .classes = 1, .height = 32, .width = 48,
                                          .batch_norm = mode};
    struct graph *g;
    struct err e;

    g = graph_create(training, &e);
    if (!g || model_build(model_find("unet"), g, &config, 2, &e) < 0 ||
        (training && graph_backward(g, &e) < 0))
        bail_out("%s", e.text);
    for (size_t i = 0; i < g->nops; i++) { /* sizes that are no multiples of PLAN_ALIGN */
        g->ops[i]->workspace_size = i % 3 * 1000 + 4;
        g->ops[i]->kept_size = i % 5 == 1 ? 100 + i : 0;
    }
    if (plan_arena(g, &e) < 0)
        bail_out("%s", e.text);
    return g;
}

static size_t live_at(const struct graph *g, int i, struct piece *pieces)
{
    const struct op *op = g->ops[i];
    size_t n = 0;

    pieces[n++] = (struct piece){op->workspace_offset, op->workspace_offset + op->workspace_size,
                                 NULL};
    for (size_t k = 0; k < g->nops; k++) {
        const struct op *other = g->ops[k];

        if (other->kept_size)
            pieces[n++] = (struct piece){other->kept_offset,
                                         other->kept_offset + other->kept_size, NULL};
    }
    for (size_t k = 0; k < g->ntensors; k++) {
        const struct tensor *t = g->tensors[k];

        if (t->place != TENSOR_ARENA || t->first > i || t->last < i || t->first < 0)
            continue;
        if (n == MAX_LIVE)
            bail_out("more than %d tensors live at once", MAX_LIVE);
        pieces[n++] = (struct piece){t->offset * sizeof(float),
                                     (t->offset + tensor_count(t)) * sizeof(float), t};
    }
    return n;
}

/* Returns whether the op may write b in the memory of its input a. */
static bool takes(const struct op *op, const struct tensor *a, const struct tensor *b)
{
    return b == op->out[0] && a == op->in[0] && op_is_inplace(op);
}

static bool shares(const struct op *op, const struct piece *a, const struct piece *b)
{
    return takes(op, a->tensor, b->tensor) || takes(op, b->tensor, a->tensor);
}

/* Returns whether out[0] is in the memory of in[0]. */
static bool is_over(const struct op *op)
{
    return op->out[0] && op_is_inplace(op) && op->in[0]->offset == op->out[0]->offset;
}

static int count_overlaps(const struct graph *g, size_t *highest)
{
    struct piece pieces[MAX_LIVE];
    int noverlaps = 0;

    *highest = 0;
    for (size_t i = 0; i < g->nops; i++) {
        size_t n = live_at(g, (int)i, pieces);

        for (size_t a = 0; a < n; a++) {
            *highest = pieces[a].end > *highest ? pieces[a].end : *highest;
            for (size_t b = 0; b < a; b++)
                if (pieces[a].begin < pieces[b].end && pieces[b].begin < pieces[a].end &&
                    !shares(g->ops[i], &pieces[a], &pieces[b]))
                    noverlaps++;
        }
    }
    return noverlaps;
}

/* Returns the most bytes that live at the same time, a lower bound of every plan. */
static size_t count_live(const struct graph *g)
{
    struct piece pieces[MAX_LIVE];
    size_t most = 0;

    for (size_t i = 0; i < g->nops; i++) {
        const struct op *op = g->ops[i];
        size_t n = live_at(g, (int)i, pieces), sum = 0;

        for (size_t k = 0; k < n; k++) {
            bool again = pieces[k].tensor == op->out[0] && is_over(op);

            sum += again ? 0 : pieces[k].end - pieces[k].begin;
        }
        most = sum > most ? sum : most;
    }
    return most;
}

static void check_plan(bool training, enum batch_norm_mode mode, const char *what)
{
    struct graph *g = build_unet(training, mode);
    size_t highest, sum = 0, ninplace = 0, nmisaligned = 0;

    is_int(count_overlaps(g, &highest), 0, "%s: what lives at the same time lies apart", what);
    ok(highest <= g->arena_size && g->arena_size < highest + PLAN_ALIGN,
       "%s: the arena ends where the last piece does", what);
    for (size_t i = 0; i < g->ntensors; i++) {
        const struct tensor *t = g->tensors[i];

        sum += t->place == TENSOR_ARENA ? tensor_count(t) * sizeof(float) : 0;
        nmisaligned += t->place == TENSOR_ARENA && t->offset * sizeof(float) % PLAN_ALIGN != 0;
    }
    is_int(nmisaligned, 0, "%s: all tensors are aligned", what);
    for (size_t i = 0; i < g->nops; i++)
        ninplace += is_over(g->ops[i]);
    ok(g->arena_size < sum * 3 / 5, "%s: %zu bytes hold tensors of %zu", what, g->arena_size, sum);
    ok(g->arena_size <= count_live(g) * 21 / 20, "%s: at most 5 %% more than what lives at once, %zu", what,
       count_live(g));
    ok(ninplace > 10, "%s: %zu ops write over their input", what, ninplace);
    ok(g->input->offset != g->target->offset && g->input->pinned && g->target->pinned,
       "%s: input and target stay", what);
    graph_destroy(g);
}

int main(void)
{
    check_plan(true, BATCH_NORM_LOCAL, "training");
    check_plan(true, BATCH_NORM_NONE, "training without batch norm");
    check_plan(false, BATCH_NORM_LOCAL, "inference");
    return done_testing();
}
