/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/comm_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/mem.h"

static const char small_sum[] = "a sum within a step";

struct ranks {
    struct node *node;
    struct reduce_list pending; /* slices started but not summed yet */
};

static struct ranks *ranks_of(struct comm *c)
{
    return c->priv;
}

static int check_main_wait(void *arg, double waited_s, struct err *e)
{
    struct comm *c = arg;

    return comm_check_wait(c, c->what, waited_s, e);
}

static int check_small_wait(void *arg, double waited_s, struct err *e)
{
    return comm_check_wait(arg, small_sum, waited_s, e);
}

static int reduce_slices(struct comm *c, const struct slice *slices, size_t n, const char *what,
                         struct err *e)
{
    comm_enter(c, what);
    return node_reduce(ranks_of(c)->node, c->spins, slices, n, NULL, NULL, e);
}

static int node_comm_reduce(struct comm *c, void *values, size_t n, enum reduce_op op,
                            struct err *e)
{
    return reduce_slices(c, &(struct slice){values, n, op}, 1, reduce_name(op), e);
}

static int node_comm_start_sum_float(struct comm *c, float *values, size_t n, struct err *e)
{
    return reduce_list_add(&ranks_of(c)->pending, (struct slice){values, n, REDUCE_SUM_FLOAT}, e);
}

/* Sums consecutive slices that are in the node's buffer together, and likewise consecutive
 * others. */
static int node_comm_wait(struct comm *c, struct err *e)
{
    struct ranks *r = ranks_of(c);
    const struct slice *slices = r->pending.items;
    size_t n = r->pending.n;
    int rc = 0;

    r->pending.n = 0;
    for (size_t at = 0, end; rc == 0 && at < n; at = end) {
        end = at + node_alike(r->node, slices + at, n - at);
        rc = reduce_slices(c, slices + at, end - at, "a sum of gradients", e);
    }
    return rc;
}

static int node_comm_sum_small(struct comm *c, double *values, size_t n, struct err *e)
{
    comm_count(c);
    return node_reduce_small(ranks_of(c)->node, c->spins,
                             (struct slice){values, n, REDUCE_SUM_DOUBLE}, NULL, NULL, e);
}

static int node_comm_broadcast(struct comm *c, void *data, size_t nbytes, int root, struct err *e)
{
    comm_enter(c, "a broadcast");
    return node_broadcast(ranks_of(c)->node, c->spins, data, nbytes, root, e);
}

static int node_comm_gather(struct comm *c, const void *one, void *all, size_t nbytes,
                            struct err *e)
{
    comm_enter(c, "a gather");
    return node_gather(ranks_of(c)->node, c->spins, one, all, nbytes, e);
}

static int node_comm_barrier(struct comm *c, struct err *e)
{
    comm_enter(c, "a barrier");
    return node_gather(ranks_of(c)->node, c->spins, NULL, NULL, 0, e);
}

static int node_comm_reduce_buffer(struct comm *c, size_t n, float **values, struct err *e)
{
    struct node *g = ranks_of(c)->node;
    struct node_offer offer = {0};
    struct err why = {0};
    int rc = c->rank == 0 ? node_offer_buffer(g, n, &offer, values, &why) : 0;
    double failed;

    if (node_comm_broadcast(c, &offer, sizeof offer, 0, e))
        return -1;
    if (c->rank > 0)
        rc = node_join_buffer(g, n, &offer, values, &why);
    failed = rc != 0;
    if (comm_max_double(c, &failed, 1, e))
        return -1;
    if (failed == 0)
        return 0;
    return err_set(e, ERR_INTERNAL, "rank %d of %d on %s: cannot share memory for the gradients: %s",
                   c->rank, c->size, c->host, why.code ? why.text : "another rank failed");
}

static void node_comm_abort(struct comm *c, const struct err *e)
{
    (void)c, (void)e; /* the lifeline ends the others' waits */
}

static void node_comm_close(struct comm *c)
{
    node_destroy(ranks_of(c)->node);
    free(ranks_of(c)->pending.items);
    free(c->priv);
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

struct comm *comm_node_open(const struct comm_node_config *config, struct err *e)
{
    struct comm *c = mem_zero(1, sizeof *c, e);
    struct ranks *r = c ? mem_zero(1, sizeof *r, e) : NULL;

    if (!r || !(r->node = node_join(config->rank, config->size, config->offer, e))) {
        free(r);
        free(c);
        return NULL;
    }
    *c = (struct comm){.ops = &node_ops, .rank = config->rank, .size = config->size,
                       .timeout_s = config->timeout_s, .interrupt = config->interrupt,
                       .lifeline = config->lifeline, .priv = r};
    snprintf(c->host, sizeof c->host, "%s", config->host);
    node_set_check(r->node, check_main_wait, check_small_wait, c);
    return c;
}
