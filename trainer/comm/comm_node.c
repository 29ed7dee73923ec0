/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/comm_node.h"

#include <stdlib.h>

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

static int node_comm_broadcast(struct comm *c, void *data, size_t nbytes, int root, struct err *e)
{
    comm_enter(c, "a broadcast");
    if (root < 0 || root >= c->size)
        return err_set(e, ERR_INTERNAL, "broadcast from rank %d of %d", root, c->size);
    return shared_reduce_broadcast(node_main(node_of(c), c->spins), data, nbytes, root, e);
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
