/* SPDX-License-Identifier: BSD-3-Clause */
/* The compiled graphs of a network, one for each mode and batch size. Each is built when it is
 * first needed, and kept. All share one arena, on the host or on the device. */
#ifndef UNETCTL_TRAINER_NETWORK_COMPILED_H
#define UNETCTL_TRAINER_NETWORK_COMPILED_H

#include "src/err.h"
#include "trainer/core/graph.h"
#include "trainer/models/model.h"
#include "trainer/network/network.h"
#include "trainer/network/runner.h"

enum compiled_mode { COMPILED_INFER, COMPILED_TRAIN, COMPILED_MEASURE };

struct compiled {
    enum compiled_mode mode;
    struct graph *graph; /* bound to memory */
    int batch;
    struct compiled *next;
};

/* The pointers before arena are the network's and outlive the set. */
struct compiled_set {
    const struct network_config *config;
    const struct model *model;
    const struct backend *backend;
    struct weights *weights;
    struct runner *runner; /* if it has a device, it also has the arena */
    struct captures *captures; /* contain addresses in the arena */
    bool sums; /* replicas add up the sums of synchronised norms */
    struct arena arena;
    struct compiled *first; /* newest first */
};

/* Returns a graph of the model, with its gradients in mode COMPILED_TRAIN, that is not compiled;
 * the caller destroys it. */
struct graph *compiled_build(const struct compiled_set *s, enum compiled_mode mode, int batch,
                             struct err *e);

/* Returns the graph of this mode and batch size, which is built if needed. NULL on error:
 * ERR_CONFIG if batch is below 1 or needs more memory than the device has, or the backend has no
 * kernel for an op; ERR_INTERNAL if the host has no memory. */
struct compiled *compiled_get(struct compiled_set *s, enum compiled_mode mode, int batch,
                              struct err *e);

/* As network_check_room. */
int compiled_check_room(const struct compiled_set *s, int batch, size_t beside, int sharers,
                        struct err *e);

/* Returns the size of the arena in bytes. */
size_t compiled_arena(const struct compiled_set *s);

/* Frees all graphs and the host's arena. The device must be idle. */
void compiled_release(struct compiled_set *s);

#endif
