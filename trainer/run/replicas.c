/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs one replica in the calling thread, or several in a thread each, which it connects. */
#include "config.h"
#include "trainer/run/replicas.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/log.h"
#include "src/mem.h"
#include "trainer/comm/comm_async.h"
#include "trainer/comm/comm_thread.h"
#include "trainer/comm/comm_nccl.h"
#include "trainer/run/roster.h"

struct replica {
    struct session_config config;
    struct session *session;
    pthread_t thread;
    bool nccl;
    struct device_comm device; /* with nccl */
    int rc;
    bool relayed; /* comm.relayed */
    struct err e;
};

struct comm *replicas_connect(const struct settings *c, struct comm *inner, struct err *e)
{
    /* Within a node, sums of buckets are too short for a thread to gain time. */
    if (inner->ops->queue_sum || inner->size == 1 || c->layout.nodes == 1)
        return inner;
    return comm_async_open(inner, e);
}

int replicas_run_one(const struct session_config *common, struct comm *c, struct err *e)
{
    struct session_config config = *common;

    config.comm = c;
    if (c->rank != 0)
        config.record = NULL;
    struct session *s = session_create(&config, e);
    int rc = s ? session_run(s, e) : -1;
    if (rc < 0 && c->ops->queue_sum)
        c->ops->abort(c, e); /* otherwise session_destroy would wait for a device forever */
    session_destroy(s);
    return rc;
}

/* Checks that each replica has a GPU of its own, as NCCL requires. */
static int check_devices(const struct replica *r, struct comm *thread, struct err *e)
{
    struct roster roster;
    struct roster_entry own = {.device = r->device.ops->id(r->device.device)};

    snprintf(own.host, sizeof own.host, "%s", r->config.host);
    if (roster_gather(thread, &own, &roster, e))
        return -1;
    roster_destroy(&roster);
    return 0;
}

/* Opens the replica's GPU and connects it to those of the other replicas, which `thread`
 * connects. */
static struct comm *link_device(struct replica *r, struct comm *thread, struct err *e)
{
    struct comm_nccl_config config = {
        .gpu = &r->device, .rank = thread->rank, .size = thread->size, .host = r->config.host,
        .timeout_s = thread->timeout_s, .interrupt = thread->interrupt, .thread = thread};

    if (device_comm_open(&r->device, r->config.config->train.backend, thread->rank,
                         thread->rank == 0, e) ||
        check_devices(r, thread, e) ||
        thread->ops->broadcast(thread, &r->device.id, sizeof r->device.id, 0, e))
        return NULL;
    return comm_nccl_open(&config, e);
}

static void run_own_session(struct replica *r)
{
    struct comm *c = r->config.comm;

    r->session = session_create(&r->config, &r->e);
    r->rc = r->session ? session_run(r->session, &r->e) : -1;
    r->relayed = c->relayed;
    if (r->rc < 0)
        c->ops->abort(c, &r->e);
}

/* Runs a replica that NCCL connects. In this thread, which uses the GPU, frees first the session,
 * whose recorded steps use the communicator, then the communicator and the GPU's resources. */
static void run_with_nccl(struct replica *r)
{
    struct comm *thread = r->config.comm, *comm = link_device(r, thread, &r->e);
    struct comm *linked = comm ? replicas_connect(r->config.config, comm, &r->e) : NULL;

    if (linked) {
        r->config.comm = linked;
        run_own_session(r);
        session_destroy(r->session);
        r->session = NULL;
        r->config.comm = thread;
    } else {
        r->rc = -1;
        r->relayed = thread->relayed;
        thread->ops->abort(thread, &r->e);
    }
    if (comm)
        comm->ops->close(comm);
    device_comm_close(&r->device);
}

static void *replica_main(void *arg)
{
    struct replica *r = arg;

    if (r->nccl)
        run_with_nccl(r);
    else
        run_own_session(r);
    return NULL;
}

/* Returns the number of threads that were started. If one cannot be started, its replica fails,
 * which ends the others. */
static int start_threads(struct replica *replicas, int n)
{
    for (int i = 0; i < n; i++) {
        struct replica *r = &replicas[i];
        int reason = pthread_create(&r->thread, NULL, replica_main, r);
        if (reason) {
            r->rc = err_errno(&r->e, ERR_INTERNAL, reason,
                              "cannot start a thread for replica %d", i);
            r->config.comm->ops->abort(r->config.comm, &r->e);
            return i;
        }
    }
    return n;
}

/* Sets *e to the first error by rank that is not relayed (reported by another rank), or else to the
 * first relayed one. Returns -1, or 0 if no replica has failed. */
static int first_error(const struct replica *replicas, int n, struct err *e)
{
    int rc = 0;

    for (int i = 0; i < n; i++) {
        if (replicas[i].rc >= 0 || (rc && replicas[i].relayed))
            continue;
        *e = replicas[i].e;
        rc = -1;
        if (!replicas[i].relayed)
            break;
    }
    return rc;
}

static void close_comms(struct replica *replicas, int n)
{
    for (int i = 0; i < n; i++)
        replicas[i].config.comm->ops->close(replicas[i].config.comm);
}

int replicas_run_threads(const struct session_config *common, int n, bool nccl, struct err *e)
{
    if (nccl && n > 1)
        log_info("%d GPUs in one process: steps are queued kernel by kernel; one process per GPU "
                 "(--strategy multi-worker, under srun or mpirun) replays CUDA graphs, which is "
                 "faster", n);
    struct comm_thread_group *g = comm_thread_create(n, common->config->train.timeout_s,
                                                     common->interrupt, e);
    struct replica *replicas = g ? mem_zero((size_t)n, sizeof *replicas, e) : NULL;

    if (!replicas) {
        comm_thread_destroy(g);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        struct comm *member = comm_thread_member(g, i);
        replicas[i].config = *common;
        replicas[i].nccl = nccl;
        replicas[i].config.comm = nccl ? member : replicas_connect(common->config, member, e);
        if (!replicas[i].config.comm) {
            close_comms(replicas, i);
            free(replicas);
            comm_thread_destroy(g);
            return -1;
        }
        replicas[i].config.device = i;
        if (i > 0)
            replicas[i].config.record = NULL;
    }
    int started = start_threads(replicas, n);
    for (int i = 0; i < started; i++)
        pthread_join(replicas[i].thread, NULL);
    int rc = first_error(replicas, n, e);
    if (rc == 0)
        rc = replicas[0].rc; /* 0 or 1, the same for all */
    close_comms(replicas, n); /* first, as their threads may be reading the sessions' memory */
    for (int i = 0; i < n; i++)
        session_destroy(replicas[i].session);
    free(replicas);
    comm_thread_destroy(g);
    return rc;
}
