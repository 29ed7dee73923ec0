/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/run/replicas.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "trainer/comm/comm_thread.h"
#include "trainer/comm/device_comm.h"
#include "trainer/step/exchange.h"
#include "trainer/run/roster.h"

struct replica {
    struct session session;
    pthread_t thread;
    bool nccl;
    struct device_comm device; /* with nccl */
    int rc;
    bool relayed; /* comm.relayed */
    struct err e;
};

int replicas_run_one(const struct session *common, struct comm *c, struct err *e)
{
    struct session s = *common;

    s.comm = c;
    if (c->rank != 0)
        s.record = NULL;
    int rc = session_run(&s, e);
    if (rc < 0 && c->ops->queue_sum)
        c->ops->abort(c, e); /* the device may be waiting for others, and its end be waited for */
    session_destroy(&s);
    return rc;
}

/* Two replicas with one GPU: NCCL must not be asked to connect them. */
static int check_devices(const struct replica *r, struct comm *thread, struct err *e)
{
    struct roster roster;
    struct roster_entry own = {.device = r->device.ops->id(r->device.device)};

    snprintf(own.host, sizeof own.host, "%s", r->session.host);
    if (roster_gather(thread, &own, &roster, e))
        return -1;
    roster_destroy(&roster);
    return 0;
}

/* From threads that can speak to GPUs that can. */
static struct comm *link_device(struct replica *r, struct comm *thread, struct err *e)
{
    struct comm_nccl_config config = {
        .rank = thread->rank, .size = thread->size, .host = r->session.host,
        .timeout_s = thread->timeout_s, .interrupt = thread->interrupt, .thread = thread};

    if (device_comm_open(&r->device, r->session.config->train.backend, thread->rank,
                         thread->rank == 0, e) ||
        check_devices(r, thread, e) ||
        thread->ops->broadcast(thread, &r->device.id, sizeof r->device.id, 0, e))
        return NULL;
    return device_comm_link(&r->device, &config, e);
}

/* What a replica has of its GPU it must free itself: recorded steps first, as they are NCCL's too. */
static void run_linked(struct replica *r)
{
    struct comm *thread = r->session.comm, *comm = link_device(r, thread, &r->e);
    struct comm *linked = comm ? exchange_open_comm(r->session.config, comm, &r->e) : NULL;

    r->rc = -1;
    if (linked) {
        r->session.comm = linked;
        r->rc = session_run(&r->session, &r->e);
        r->relayed = linked->relayed;
        if (r->rc < 0)
            linked->ops->abort(linked, &r->e);
        session_destroy(&r->session);
        r->session.comm = thread;
    } else {
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

    if (r->nccl) {
        run_linked(r);
        return NULL;
    }
    r->rc = session_run(&r->session, &r->e);
    r->relayed = r->session.comm->relayed;
    if (r->rc < 0)
        r->session.comm->ops->abort(r->session.comm, &r->e);
    return NULL;
}

/* Starts what it can; a replica without a thread fails, and by that the others end. */
static int start_threads(struct replica *replicas, int n)
{
    for (int i = 0; i < n; i++) {
        struct replica *r = &replicas[i];
        int reason = pthread_create(&r->thread, NULL, replica_main, r);
        if (reason) {
            r->rc = err_errno(&r->e, ERR_INTERNAL, reason,
                              "cannot start a thread for replica %d", i);
            r->session.comm->ops->abort(r->session.comm, &r->e);
            return i;
        }
    }
    return n;
}

/* The error that was not heard from another replica. */
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
        replicas[i].session.comm->ops->close(replicas[i].session.comm);
}

int replicas_run_threads(const struct session *common, int n, bool nccl, struct err *e)
{
    struct comm_thread_group *g = comm_thread_create(n, common->config->train.timeout_s,
                                                     common->interrupt, e);
    struct replica *replicas = g ? calloc((size_t)n, sizeof *replicas) : NULL;

    if (!replicas) {
        comm_thread_destroy(g);
        return g ? err_set(e, ERR_INTERNAL, "out of memory for %d replicas", n) : -1;
    }
    for (int i = 0; i < n; i++) {
        struct comm *member = comm_thread_member(g, i);
        replicas[i].session = *common;
        replicas[i].nccl = nccl;
        replicas[i].session.comm = nccl ? member : exchange_open_comm(common->config, member, e);
        if (!replicas[i].session.comm) {
            close_comms(replicas, i);
            free(replicas);
            comm_thread_destroy(g);
            return -1;
        }
        replicas[i].session.device = i;
        if (i > 0)
            replicas[i].session.record = NULL;
    }
    int started = start_threads(replicas, n);
    for (int i = 0; i < started; i++)
        pthread_join(replicas[i].thread, NULL);
    int rc = first_error(replicas, n, e);
    if (rc == 0)
        rc = replicas[0].rc; /* all have left, or none */
    close_comms(replicas, n); /* before what their threads may be reading */
    for (int i = 0; i < n; i++)
        session_destroy(&replicas[i].session);
    free(replicas);
    comm_thread_destroy(g);
    return rc;
}
