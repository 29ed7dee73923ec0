/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL as a table of functions, loaded at run time: the build needs neither library nor header, and
 * one binary also serves nodes without NCCL. The constants below are the same in every release.
 * Tests fill the table with an emulation (test/nccl_emulated.c). */
#pragma once

#include "src/base.h"

/* Results of a call; any other is an error. After NCCL_IN_PROGRESS, get_async_error stores the
 * result once the call is complete, and NCCL_IN_PROGRESS until then. */
enum nccl_result { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7 };
enum nccl_type { NCCL_BYTE = 0, NCCL_INT64 = 4, NCCL_FLOAT = 7, NCCL_DOUBLE = 8 };
enum nccl_op { NCCL_SUM = 0, NCCL_MAX = 2 };

/* Made by rank 0 (get_id); all ranks need it to connect. */
struct nccl_id {
    char bytes[128];
};

/* comm: an ncclComm_t; stream: a cudaStream_t. */
struct nccl_calls {
    int (*get_version)(int *version); /* 22809 is 2.28.9 */
    int (*get_id)(struct nccl_id *id);
    /* init, the collectives and finalize may return NCCL_IN_PROGRESS. most_blocks: the most blocks
     * of threads of a collective's kernel, from 2.17 on. */
    int (*init)(void **comm, int size, const struct nccl_id *id, int rank, int most_blocks);
    int (*get_async_error)(void *comm, int *result);
    int (*all_reduce)(const void *src, void *dst, size_t n, int type, int op, void *comm,
                      void *stream);
    int (*broadcast)(const void *src, void *dst, size_t n, int type, int root, void *comm,
                     void *stream);
    int (*all_gather)(const void *src, void *dst, size_t n, int type, void *comm, void *stream);
    /* Sends nbytes of src to peer, and receives as many from it to dst. */
    int (*exchange)(const void *src, void *dst, size_t nbytes, int peer, void *comm, void *stream);
    int (*finalize)(void *comm);
    int (*destroy)(void *comm);
    int (*abort)(void *comm); /* also ends its work on the device */
    const char *(*get_error_string)(int result);
    const char *(*get_last_error)(void *comm);
};

/* Loads NCCL once per process; it stays loaded. Returns NULL with ERR_CONFIG if it is missing or
 * older than 2.14, whose calls may block, or in a build without CUDA. */
const struct nccl_calls *nccl_library_open(struct err *e);
