/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicators, and what they need to be opened. */
#pragma once

#include "trainer/comm/comm.h"
#include "trainer/comm/nccl_library.h"
#include "trainer/comm/rendezvous/rendezvous.h"
#include "trainer/core/kernel.h"

/* What communicators between processes are opened with; see the members of struct comm. */
struct comm_config {
    int rank, size;
    const char *host;
    double timeout_s;
    const atomic_int *interrupt;
    struct lifeline *lifeline;
};

struct node;

/* What the first rank sends to the others by other means (MPI) so that they can map its memory. */
struct node_offer {
    char path[64];
    /* Random, also at the beginning of the memory of node_offer, which is thus recognised: another
     * process may have got the process id in path. */
    unsigned char key[16];
    size_t nbytes;
};

/* Allocates the memory of a node of `size` ranks, to be offered to all of them, and joins it as
 * rank 0 of those. NULL on error. */
struct node *node_offer(int size, struct node_offer *dst, struct err *e);
void node_destroy(struct node *g); /* NULL is allowed */

/* The communicator of a run with one replica. Collectives leave their values as they are. */

/* Returns NULL if memory is short. ops->close frees the result. */
struct comm *comm_self_open(struct err *e);

/* Ranks of one node, each a process, which exchange everything in shared memory (comm_internal.h).
 * Sums add in the order of ranks, so the result always has the same bits. */

/* offer: the memory of all ranks, rank 0 included, that is joined. NULL on error. */
struct comm *comm_node_open(const struct comm_config *config, const struct node_offer *offer,
                            struct err *e);

/* Ranks that MPI connects (the multi-worker strategy). Collectives are MPI-3's non-blocking ones,
 * polled until a deadline, so that a lost rank ends the others with a message. A rank that fails
 * reports its error before MPI ends the other ranks.
 *
 * The ranks of a host sum in shared memory (comm_internal.h), in the order of ranks; then one rank
 * of each host sums with the other hosts by MPI. UNET_SHARED_MEMORY=off treats every rank as a host
 * of its own. */

/* Starts MPI, at most once per process; ops->close ends it. config: rank and size are what the
 * launcher announced (-1 and 0 if unknown), for error texts. Without a lifeline, as of ranks that
 * have no cluster spec, the ranks connect when MPI has started, and lost is called with arg when a
 * rank is lost (comm/rendezvous/rendezvous.h). Returns NULL on error: ERR_PEER if MPI fails or does
 * not start within timeout_s, 128 + signal if *interrupt asks the run to end, ERR_CONFIG in a build
 * without MPI. */
struct comm *comm_mpi_open(const struct comm_config *config, lifeline_lost_f lost, void *arg,
                           struct err *e);

/* Starts a thread that executes the sums of start_sum_float while the rank computes
 * (comm_internal.h); the other collectives, except sum_small, first wait for it. */
int comm_mpi_start_thread(struct comm *c, struct err *e);

/* Returns name and version of the MPI library, such as "Open MPI v4.1.4", or "" in a build without
 * MPI. */
const char *comm_mpi_version(void);

/* The GPU of a rank and the NCCL library, opened before the ranks connect. */

struct device_comm {
    const struct nccl_calls *nccl;
    const struct device_ops *ops;
    struct device *device;
    int version;     /* of NCCL; 0: unknown */
    bool is_ordered; /* see device_comm_prepare */
    char name[64]; /* unique to this device; "" while none is open */
    struct nccl_id id; /* which all ranks need to connect */
};

struct device_comm_config {
    const char *backend;
    int index;  /* as for device_ops.open */
    int driver; /* the CUDA that the driver supports: 12090 is 12.9 */
    bool first; /* this is rank 0, which creates the id; the caller sends it to the other ranks */
    bool deterministic; /* repeated sums give the same bits */
};

/* Called by the thread that will use the device. After an error *d may be closed. */
int device_comm_open(struct device_comm *d, const struct device_comm_config *c, struct err *e);

/* Sets environment variables of NCCL of this version before its first call, except those that the
 * user has set. Returns whether NCCL then orders the work of two communicators of a process, which
 * otherwise must not be in flight at the same time.
 *   NCCL_GRAPH_REGISTER=0, as registering the buffers of captured sums synchronises the processes
 *     of a node
 *   NCCL_LAUNCH_ORDER_IMPLICIT=1, which NCCL 2.26 knows, with a driver for CUDA 12.9
 *   NCCL_ALGO=Ring, if deterministic: other algorithms, such as NVLS, need not repeat their bits */
bool device_comm_prepare(int version, int driver, bool deterministic);

/* Writes those variables as this process has them: "NCCL_ALGO=Ring NCCL_GRAPH_REGISTER=0". */
#define DEVICE_COMM_SETTINGS 256
void device_comm_describe(char dst[DEVICE_COMM_SETTINGS]);

/* Called after the communicator is closed. A zeroed *d is allowed. */
void device_comm_close(struct device_comm *d);

/* Ranks with one GPU each, connected by NCCL.
 * Values in host memory are copied to the GPU and back; queue_sum sums on the GPU, in a stream of
 * the caller.
 *
 * No call of NCCL blocks, and every wait before close checks the other ranks, NCCL's errors,
 * signals and the deadline. abort waits at most 3 s: it aborts NCCL's communicators, which ends
 * their work on the GPU, all at the same time, in threads. */

/* Collective. gpu: opened by the calling thread, with the id of rank 0; must outlive the
 * communicator. Fails after timeout_s and some seconds that it takes to find the reason. Returns
 * NULL on error. */
struct comm *comm_nccl_open(const struct comm_config *config, const struct device_comm *gpu,
                            struct err *e);
