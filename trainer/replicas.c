/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/replicas.h"

#include <pthread.h>
#include <stdlib.h>

#include "trainer/comm/comm_thread.h"
#include "trainer/exchange.h"

struct replica {
    struct session session;
    pthread_t thread;
    int rc;
    struct err e;
};

int replicas_run_one(const struct session *common, struct comm *c, struct err *e)
{
    struct session s = *common;

    s.comm = c;
    if (c->rank != 0)
        s.record = NULL;
    int rc = session_run(&s, e);
    session_destroy(&s);
    return rc;
}

static void *replica_main(void *arg)
{
    struct replica *r = arg;

    r->rc = session_run(&r->session, &r->e);
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
        if (replicas[i].rc >= 0 || (rc && replicas[i].session.comm->relayed))
            continue;
        *e = replicas[i].e;
        rc = -1;
        if (!replicas[i].session.comm->relayed)
            break;
    }
    return rc;
}

static void close_comms(struct replica *replicas, int n)
{
    for (int i = 0; i < n; i++)
        replicas[i].session.comm->ops->close(replicas[i].session.comm);
}

int replicas_run_threads(const struct session *common, int n, struct err *e)
{
    struct comm_thread_group *g = comm_thread_create(n, common->config->train.timeout_s,
                                                     common->interrupt, e);
    struct replica *replicas = g ? calloc((size_t)n, sizeof *replicas) : NULL;

    if (!replicas) {
        comm_thread_destroy(g);
        return g ? err_set(e, ERR_INTERNAL, "out of memory for %d replicas", n) : -1;
    }
    for (int i = 0; i < n; i++) {
        replicas[i].session = *common;
        replicas[i].session.comm = exchange_open_comm(common->config, comm_thread_member(g, i), e);
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
