/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/comm/nccl_library.h"

#ifndef HAVE_CUDA

const struct nccl_calls *nccl_library_open(struct err *e)
{
    err_set(e, ERR_CONFIG, "this unet-train was built without CUDA (./configure --with-cuda=DIR), "
            "so it has no NCCL");
    return NULL;
}

#else

#include <limits.h>
#include <stdbool.h>

#include "trainer/core/host.h"

#if __has_include(<nccl.h>)
#include <nccl.h>

_Static_assert((int)NCCL_SUCCESS == (int)ncclSuccess &&
                   (int)NCCL_IN_PROGRESS == (int)ncclInProgress, "results");
_Static_assert((int)NCCL_BYTE == (int)ncclInt8 && (int)NCCL_INT64 == (int)ncclInt64 &&
                   (int)NCCL_FLOAT == (int)ncclFloat && (int)NCCL_DOUBLE == (int)ncclDouble,
               "types");
_Static_assert((int)NCCL_SUM == (int)ncclSum && (int)NCCL_MAX == (int)ncclMax, "operations");
_Static_assert(sizeof(struct nccl_id) == sizeof(ncclUniqueId), "the id");
_Static_assert(offsetof(ncclConfig_t, blocking) == sizeof(size_t) + 2 * sizeof(unsigned),
               "the settings");
#endif

#define OLDEST 21400 /* version 2.14.0, the first whose calls need not block */

/* ncclConfig_t of 2.14, and of 2.17 without its last member; every later release accepts both. */
struct nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking;
    int cluster_size, least_blocks, most_blocks; /* from LIMITED on */
};
#define CONFIG_MAGIC 0xcafebeef
#define LIMITED 21700

static struct nccl_calls calls;
static int (*init_rank)(void **comm, int size, struct nccl_id id, int rank, struct nccl_config *s);

static int init_comm(void **comm, int size, const struct nccl_id *id, int rank, int most_blocks)
{
    struct nccl_config s = {offsetof(struct nccl_config, cluster_size), CONFIG_MAGIC, OLDEST, 0,
                            INT_MIN, INT_MIN, most_blocks}; /* INT_MIN: not set */
    int version;

    if (calls.get_version(&version) == NCCL_SUCCESS && version >= LIMITED) {
        s.size = sizeof s;
        s.version = LIMITED;
    }
    return init_rank(comm, size, *id, rank, &s);
}

static int (*group_start)(void), (*group_end)(void);
static int (*send_bytes)(const void *src, size_t n, int type, int peer, void *comm, void *stream);
static int (*receive_bytes)(void *dst, size_t n, int type, int peer, void *comm, void *stream);

/* Both directions are one group, since each may wait for the other. */
static int exchange_bytes(const void *src, void *dst, size_t nbytes, int peer, void *comm,
                          void *stream)
{
    int rc = group_start(), ended;

    if (rc == NCCL_SUCCESS) {
        rc = send_bytes(src, nbytes, NCCL_BYTE, peer, comm, stream);
        if (rc == NCCL_SUCCESS || rc == NCCL_IN_PROGRESS)
            rc = receive_bytes(dst, nbytes, NCCL_BYTE, peer, comm, stream);
        ended = group_end();
        rc = rc == NCCL_SUCCESS || rc == NCCL_IN_PROGRESS ? ended : rc;
    }
    return rc;
}

static struct nccl_calls calls = {.init = init_comm, .exchange = exchange_bytes};

static int find_all(void *library, struct err *e)
{
    struct { const char *symbol; void *function; } needed[] = {
        {"ncclGetUniqueId", &calls.get_id},
        {"ncclCommInitRankConfig", &init_rank},
        {"ncclCommGetAsyncError", &calls.get_async_error},
        {"ncclAllReduce", &calls.all_reduce},
        {"ncclBroadcast", &calls.broadcast},
        {"ncclAllGather", &calls.all_gather},
        {"ncclSend", &send_bytes},
        {"ncclRecv", &receive_bytes},
        {"ncclGroupStart", &group_start},
        {"ncclGroupEnd", &group_end},
        {"ncclCommFinalize", &calls.finalize},
        {"ncclCommDestroy", &calls.destroy},
        {"ncclCommAbort", &calls.abort},
        {"ncclGetErrorString", &calls.get_error_string},
        {"ncclGetLastError", &calls.get_last_error},
    };

    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (library_find(library, needed[i].symbol, needed[i].function, e))
            return -1;
    return 0;
}

static int load_nccl(struct err *e)
{
    void *library = library_open(LIBRARY_NCCL, e);
    int version = 0;

    if (!library)
        return err_prefix(e, "several GPUs need NCCL");
    if (library_find(library, "ncclGetVersion", &calls.get_version, e))
        return -1;
    if (calls.get_version(&version) || version < OLDEST)
        return err_set(e, ERR_CONFIG, "NCCL has version number %d; 2.14 or later is needed: "
                       "install it, or load the site's module for it", version);
    return find_all(library, e);
}

const struct nccl_calls *nccl_library_open(struct err *e)
{
    static bool found;

    found = found || load_nccl(e) == 0;
    return found ? &calls : NULL;
}

#endif
