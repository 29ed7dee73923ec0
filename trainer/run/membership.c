/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/run/membership.h"

#include <math.h>

#include "trainer/comm/comm_async.h"
#include "trainer/comm/comm_mpi.h"
#include "trainer/comm/comm_nccl.h"
#include "trainer/comm/comm_node.h"
#include "trainer/comm/comm_self.h"
#include "trainer/run/roster.h"
#include "trainer/run/shutdown.h"

#define MPI_START_S 60.0

void membership_prepare(struct membership *k, const struct settings *c)
{
    const struct strategy *s = &k->strategy;

    if (s->comm == STRATEGY_NCCL)
        (void)device_comm_open(&k->device, c->train.backend, strategy_local_rank(), s->task == 0,
                               &k->error);
}

int membership_meet(struct membership *k, const struct settings *c, const char *folder,
                    bool *relayed, struct err *e)
{
    const struct strategy *s = &k->strategy;
    struct rendezvous *rendezvous = NULL;
    const char *own = roster_shares_gpus() ? "" : k->device.name;
    size_t nid = s->comm == STRATEGY_NCCL ? sizeof k->device.id : 0;

    if (strategy_meet(s, c, folder, own, &k->device.id, nid, &shutdown_any, &rendezvous, relayed,
                      e))
        return -1;
    if (!rendezvous)
        return 0;
    k->lifeline = lifeline_open(rendezvous, (const char *const *)s->spec.hosts, k->lost, k->arg, e);
    return k->lifeline ? 0 : -1;
}

static struct comm *open_node(const struct membership *k, const struct settings *c, struct err *e)
{
    const struct strategy *s = &k->strategy;
    struct comm_node_config config = {
        .rank = s->task, .size = s->tasks, .host = s->host, .offer = &s->local->node,
        .timeout_s = c->train.timeout_s, .interrupt = &shutdown_any, .lifeline = k->lifeline};

    return comm_node_open(&config, e);
}

/* Returns the timeout of MPI_Init. After a rendezvous all ranks are running, so it ends within
 * seconds or never. A third of train.timeout_s, but at least MPI_START_S, then frees the GPUs of a
 * start that hangs. */
static double mpi_timeout(const struct settings *c, bool have_met)
{
    double all = c->train.timeout_s, some = fmax(all / 3, MPI_START_S);

    return have_met ? fmin(all, some) : all;
}

static struct comm *open_mpi(const struct membership *k, const struct settings *c, struct err *e)
{
    const struct strategy *s = &k->strategy;
    struct comm_mpi_config config = {
        .rank = s->task, .size = s->tasks, .host = s->host,
        .timeout_s = mpi_timeout(c, k->lifeline != NULL), .interrupt = &shutdown_any,
        .lifeline = k->lifeline, .lost = k->lost, .arg = k->arg};
    struct comm *comm = comm_mpi_open(&config, e);

    if (comm)
        comm->interrupt = &shutdown_signal;
    /* Within a node, sums of buckets are too short for a thread to gain time. */
    if (!comm || comm->size == 1 || c->layout.nodes == 1)
        return comm;
    struct comm *async = comm_async_open(comm, e);
    if (!async)
        comm->ops->abort(comm, e);
    return async;
}

static struct comm *open_nccl(const struct membership *k, const struct settings *c, struct err *e)
{
    const struct strategy *s = &k->strategy;
    struct comm_nccl_config config = {
        .gpu = &k->device, .rank = s->task, .size = s->tasks, .host = s->host,
        .timeout_s = c->train.timeout_s, .interrupt = &shutdown_any, .lifeline = k->lifeline};

    return comm_nccl_open(&config, e);
}

struct comm *membership_connect(const struct membership *k, const struct settings *c,
                                struct err *e)
{
    struct comm *comm = NULL;

    if (k->error.code) {
        *e = k->error;
        return NULL;
    }
    switch (k->strategy.comm) {
    case STRATEGY_SELF: comm = comm_self_open(e); break;
    case STRATEGY_NODE: comm = open_node(k, c, e); break;
    case STRATEGY_MPI: comm = open_mpi(k, c, e); break;
    case STRATEGY_NCCL: comm = open_nccl(k, c, e); break;
    }
    if (comm)
        comm->interrupt = &shutdown_signal;
    return comm;
}

void membership_close(struct membership *k)
{
    lifeline_close(k->lifeline);
    device_comm_close(&k->device);
    strategy_destroy(&k->strategy);
}
