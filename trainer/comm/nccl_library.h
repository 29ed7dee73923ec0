/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL as a table of its functions: found when the program runs, so that one binary serves nodes
 * without it, and without its header, of which these few numbers are the part that never changes.
 * The tests fill such a table with functions that do the same between threads and processes
 * (test/nccl_emulated.c). */
#ifndef UNETCTL_TRAINER_COMM_NCCL_LIBRARY_H
#define UNETCTL_TRAINER_COMM_NCCL_LIBRARY_H

#include <stddef.h>

#include "src/err.h"

/* Results of a call. Anything else is an error; under way: async tells when and how it has
 * ended. */
enum nccl_result { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7 };
enum nccl_type { NCCL_BYTE = 0, NCCL_INT64 = 4, NCCL_FLOAT = 7, NCCL_DOUBLE = 8 };
enum nccl_op { NCCL_SUM = 0, NCCL_MAX = 2 };

/* What rank 0 makes and all ranks need to find each other. */
struct nccl_id {
    char bytes[128];
};

/* comm: a communicator of NCCL's; stream: a cudaStream_t. */
struct nccl_calls {
    int (*get_version)(int *version); /* 22809: 2.28.9 */
    int (*get_id)(struct nccl_id *id);
    /* Returns at once, and so do the others below: no call blocks. */
    int (*init)(void **comm, int size, const struct nccl_id *id, int rank);
    int (*get_async_error)(void *comm, int *result);
    int (*all_reduce)(const void *src, void *dst, size_t n, int type, int op, void *comm,
                      void *stream);
    int (*broadcast)(const void *src, void *dst, size_t n, int type, int root, void *comm,
                     void *stream);
    int (*all_gather)(const void *src, void *dst, size_t n, int type, void *comm, void *stream);
    int (*finalize)(void *comm);
    int (*destroy)(void *comm);
    int (*abort)(void *comm); /* also what is running on the device ends */
    const char *(*get_error_string)(int result);
    const char *(*get_last_error)(void *comm);
    /* Memory that others' GPUs and network cards reach directly. All four or none (before 2.19). */
    int (*mem_alloc)(void **p, size_t nbytes);
    int (*mem_free)(void *p);
    int (*enroll)(void *comm, void *p, size_t nbytes, void **handle);
    int (*dismiss)(void *comm, void *handle);
};

/* Opened on the first call, and open to the end of the process. NULL with ERR_CONFIG if there is
 * none, or one before 2.14, whose calls can block. */
const struct nccl_calls *nccl_library_open(struct err *e);

#endif
