/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting and ending MPI, and the ranks of a host, who share memory. Only these functions make MPI
 * calls that block. */
#include "config.h"
#include "trainer/comm/comm_internal.h"

#ifndef HAVE_MPI

struct comm *comm_mpi_open(const struct comm_config *config, lifeline_lost_f lost, void *arg,
                           struct err *e)
{
    err_set(e, ERR_CONFIG, "this unet-train was built without MPI, which runs of several tasks "
                           "need; install an MPI library with its compiler wrapper, run configure "
                           "--with-mpi=yes, and build again");
    return NULL;
}

int comm_mpi_start_thread(struct comm *c, struct err *e)
{
    return 0;
}

const char *comm_mpi_version(void)
{
    return "";
}

#else

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/clock.h"
#include "src/cluster/connection.h"
#include "src/log.h"
#include "src/mem.h"
#include "trainer/comm/mpi_ranks.h"

/* MPICH before 4.2 may never return from MPI_Finalize if UCX sends by TCP. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40200000
#define MOST_FINALIZE_S 2.0
#else
#define MOST_FINALIZE_S HUGE_VAL
#endif
#define NAP_S 0.02 /* between two looks at the thread and the interrupt flag */

/* --- the calls of MPI that have no deadline --- */

static int (*called)(void);

static void *run_body(void *arg)
{
    return (void *)(intptr_t)called();
}

/* Runs body, which has no deadline of its own, in a thread. Returns 0 with the result of body in
 * *rc, 1 if body has not returned within timeout_s, 128 + n if *interrupt became n, the number of a
 * signal, or -1 if no thread could be started. After 1 and 128 + n the thread keeps running.
 * interrupt may be NULL. Only one call at a time, and none while such a thread runs. */
static int bounded_call(int (*body)(void), double timeout_s, const atomic_int *interrupt, int *rc)
{
    double deadline = clock_now() + timeout_s;
    pthread_t thread;
    void *result;
    int verdict = 0;

    called = body;
    if (pthread_create(&thread, NULL, run_body, NULL))
        return -1;
    while (verdict == 0) {
        if (pthread_tryjoin_np(thread, &result) == 0) {
            *rc = (int)(intptr_t)result;
            return 0;
        }
        clock_sleep(NAP_S);
        verdict = interrupt && *interrupt ? 128 + *interrupt : clock_now() >= deadline;
    }
    pthread_detach(thread);
    return verdict;
}

static int provided_level;

static int call_init(void)
{
    return MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided_level);
}

static int call_finalize(void)
{
    return MPI_Finalize();
}

/* Shortens the library's description to its first line up to a comma, without the word "Version:":
 * "Open MPI v4.1.4", "MPICH 4.0.2". */
const char *comm_mpi_version(void)
{
    static char text[MPI_MAX_LIBRARY_VERSION_STRING];
    static const char label[] = "Version:";
    int length = 0;

    if (text[0] || MPI_Get_library_version(text, &length) != MPI_SUCCESS)
        return text;
    text[strcspn(text, ",\n")] = 0;
    char *at = strstr(text, label);
    if (at) {
        const char *number = at + strlen(label);
        number += strspn(number, " \t");
        memmove(at, number, strlen(number) + 1);
    }
    return text;
}

static int init_mpi(const struct comm_config *config, struct err *e)
{
    char who[300];
    int rc = 0, verdict = bounded_call(call_init, config->timeout_s, config->interrupt, &rc);

    if (config->rank >= 0 && config->size > 0)
        snprintf(who, sizeof who, "rank %d of %d on %s", config->rank, config->size, config->host);
    else
        snprintf(who, sizeof who, "a rank on %s", config->host);
    if (verdict < 0)
        return err_set(e, ERR_INTERNAL, "%s: cannot start a thread for MPI", who);
    if (verdict > 128)
        return err_signal(e, verdict - 128);
    if (verdict)
        return err_set(e, ERR_PEER, "%s: MPI did not come up within %g s: not all ranks started, "
                       "or they cannot reach each other", who, config->timeout_s);
    if (rc != MPI_SUCCESS || provided_level < MPI_THREAD_SERIALIZED)
        return err_set(e, ERR_PEER, "%s: MPI_Init_thread failed (code %d, thread level %d)", who,
                       rc, provided_level);
    return 0;
}

static void destroy_mpi(struct mpi *m)
{
    node_destroy(m->node);
    pthread_mutex_destroy(&m->lock);
    free(m->hosts);
    free(m->requests);
    free(m);
}

void mpi_close(struct comm *c)
{
    struct mpi *m = mpi_of(c);
    double limit = c->timeout_s < MOST_FINALIZE_S ? c->timeout_s : MOST_FINALIZE_S;
    struct err e;
    int rc;

    comm_async_close(m->async, false);
    m->async = NULL;
    if (c->ops->barrier(c, &e)) {
        log_warn("%s", e.text);
    } else {
        if (m->across_small != MPI_COMM_NULL)
            MPI_Comm_free(&m->across_small);
        if (m->node && m->across != MPI_COMM_NULL)
            MPI_Comm_free(&m->across);
        MPI_Comm_free(&m->local);
        if (bounded_call(call_finalize, limit, NULL, &rc) != 0)
            log_warn("rank %d of %d on %s: MPI_Finalize of %s did not return within %g s; the "
                     "results are complete", c->rank, c->size, c->host, comm_mpi_version(), limit);
    }
    lifeline_close(m->lifeline);
    destroy_mpi(m);
    free(c);
}

/* --- the ranks of a host --- */

/* Makes a node of this rank alone: hosts without shared memory must follow the same steps as the
 * others. */
static int make_own_node(struct comm *c, struct err *e)
{
    struct mpi *m = mpi_of(c);
    struct node_offer offer;
    int rc = MPI_Comm_dup(MPI_COMM_SELF, &m->local);

    m->node = rc == MPI_SUCCESS ? node_offer(1, &offer, e) : NULL;
    if (rc != MPI_SUCCESS)
        return mpi_fail(c, rc, "MPI_Comm_dup", e);
    return m->node ? 0 : -1;
}

static bool all_agree(struct mpi *m, bool local_ok)
{
    int all = local_ok;

    return MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, m->local) == MPI_SUCCESS && all;
}

/* Shares memory with the ranks of this host. If that is impossible, as between containers, each
 * rank becomes a node of its own and MPI does all sums. */
static int join_node(struct comm *c, struct err *e)
{
    struct mpi *m = mpi_of(c);
    struct node_offer offer = {0};
    struct err why = {0};
    int rank, size;

    MPI_Comm_rank(m->local, &rank);
    MPI_Comm_size(m->local, &size);
    if (rank == 0)
        m->node = node_offer(size, &offer, &why);
    MPI_Bcast(&offer, (int)sizeof offer, MPI_BYTE, 0, m->local);
    if (rank > 0)
        m->node = node_join(rank, size, &offer, &why);
    if (all_agree(m, m->node != NULL))
        return 0;
    node_destroy(m->node);
    m->node = NULL;
    if (why.code)
        log_warn("rank %d of %d on %s: cannot share memory with the ranks of this host, so MPI "
                 "does all sums: %s", c->rank, c->size, c->host, why.text);
    MPI_Comm_free(&m->local);
    return make_own_node(c, e);
}

static int open_nodes(struct comm *c, struct err *e)
{
    struct mpi *m = mpi_of(c);
    int rank, size, several;
    int rc = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, c->rank, MPI_INFO_NULL,
                                 &m->local);

    if (rc != MPI_SUCCESS)
        return mpi_fail(c, rc, "MPI_Comm_split_type", e);
    const char *shared = getenv("UNET_SHARED_MEMORY");
    bool alone = shared && strcmp(shared, "off") == 0;
    if (alone)
        MPI_Comm_free(&m->local);
    if (alone ? make_own_node(c, e) : join_node(c, e))
        return -1;
    MPI_Comm_rank(m->local, &rank);
    MPI_Comm_size(m->local, &size);
    several = size > 1;
    rc = MPI_Allreduce(MPI_IN_PLACE, &several, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rc == MPI_SUCCESS && !several) {
        node_destroy(m->node);
        m->node = NULL;
        return 0;
    }
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, c->rank, &m->across);
    if (rc == MPI_SUCCESS && m->across != MPI_COMM_NULL)
        MPI_Comm_size(m->across, &m->nacross);
    if (rc == MPI_SUCCESS)
        rc = MPI_Bcast(&m->nacross, 1, MPI_INT, 0, m->local);
    if (rc != MPI_SUCCESS)
        return mpi_fail(c, rc, "MPI_Comm_split", e);
    node_set_check(m->node, comm_check_main, comm_check_small, c);
    return 0;
}

/* --- the lifeline, and opening --- */

static int gather_hosts(struct comm *c, struct err *e)
{
    size_t n = (size_t)c->size;
    char **hosts = mem_zero(n, sizeof *hosts + sizeof c->host, e);
    char *names = (char *)(hosts + n);

    mpi_of(c)->hosts = hosts;
    for (size_t r = 0; hosts && r < n; r++)
        hosts[r] = names + r * sizeof c->host;
    return hosts ? c->ops->gather(c, c->host, names, sizeof c->host, e) : -1;
}

static bool is_one_host(const struct comm *c)
{
    char *const *hosts = mpi_of((struct comm *)(uintptr_t)c)->hosts;
    bool one = true;

    for (int r = 1; r < c->size; r++)
        one &= strcmp(hosts[r], hosts[0]) == 0;
    return one;
}

/* Opens the lifeline of ranks that have no cluster spec: rank 0 listens at any port. */
static int open_lifeline(struct comm *c, lifeline_lost_f lost, void *arg, struct err *e)
{
    struct mpi *m = mpi_of(c);
    struct { unsigned char token[TOKEN_SIZE]; int port; } mine = {.port = 0};
    int listener = c->rank == 0 ? listener_open(NULL, 0) : 0;
    bool relayed;

    if (listener < 0 || (listener > 0 && token_draw(mine.token, sizeof mine.token, e)))
        mine.port = 0;
    else if (listener > 0)
        mine.port = listener_port(listener);
    int *ports = mem_zero((size_t)c->size, sizeof *ports, e);
    if (!ports || gather_hosts(c, e) || c->ops->broadcast(c, &mine, sizeof mine, 0, e)) {
        free(ports);
        return -1;
    }
    ports[0] = mine.port;
    struct rendezvous_config r = {
        .rank = c->rank, .size = c->size, .hosts = (const char *const *)m->hosts, .ports = ports,
        .address = is_one_host(c) ? "127.0.0.1" : NULL, .listener = listener, .host = c->host,
        .device = "", .program = "unet-train " PACKAGE_VERSION, .timeout_s = c->timeout_s,
        .interrupt = c->interrupt};
    memcpy(r.token, mine.token, sizeof r.token);
    struct rendezvous *met = rendezvous_open(&r, NULL, 0, &relayed, e);
    free(ports);
    if (met)
        c->lifeline = m->lifeline = lifeline_open(met, r.hosts, lost, arg, e);
    return c->lifeline ? 0 : -1;
}

struct comm *comm_mpi_open(const struct comm_config *config, lifeline_lost_f lost, void *arg,
                           struct err *e)
{
    struct mpi *m = mem_zero(1, sizeof *m, e);
    struct comm *c = m ? comm_create(&mpi_ops, config, m, e) : NULL;

    if (!c) {
        free(m);
        return NULL;
    }
    pthread_mutex_init(&m->lock, NULL);
    m->across_small = MPI_COMM_NULL;
    if (init_mpi(config, e))
        goto fail;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &c->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &c->size);
    m->across = MPI_COMM_WORLD;
    if ((c->size > 1 && !c->lifeline && open_lifeline(c, lost, arg, e)) || open_nodes(c, e))
        goto fail;
    int rc = MPI_SUCCESS;
    if (m->across != MPI_COMM_NULL)
        rc = MPI_Comm_dup(m->across, &m->across_small);
    if (rc == MPI_SUCCESS)
        return c;
    mpi_fail(c, rc, "MPI_Comm_dup", e);
fail:
    lifeline_close(m->lifeline);
    destroy_mpi(m);
    free(c);
    return NULL;
}

#endif
