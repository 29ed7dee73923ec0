/* SPDX-License-Identifier: BSD-3-Clause */
/* The compiled graphs of a network, one for each mode and batch size. Each is built when it is
 * first needed, and kept. All share one arena, on the host or on the device. */
#ifndef UNETCTL_TRAINER_NETWORK_COMPILED_H
#define UNETCTL_TRAINER_NETWORK_COMPILED_H

#include "src/err.h"
#include "trainer/core/arena.h"
#include "trainer/core/graph.h"
#include "trainer/models/model.h"
#include "trainer/network/network.h"
#include "trainer/network/stage.h"

enum compiled_mode { COMPILED_INFER, COMPILED_TRAIN, COMPILED_MEASURE };

/* A run on a device, without and with the optimizer's step. */
struct compiled_way {
    int nruns; /* 0, or 1 for some */
    struct device_program *program;
};

struct compiled {
    enum compiled_mode mode;
    struct graph *graph; /* bound to memory */
    int batch;
    struct compiled_way ways[2];
    struct compiled *next;
};

/* What they are made of outlives them. */
struct compiled_set {
    const struct network_config *config;
    const struct model *model;
    const struct backend *backend;
    struct weights *weights;
    struct stage *stage; /* with a device it has the arena */
    struct arena arena;
    struct compiled *first; /* the newest */
};

/* A graph of the model with its gradients, not compiled. */
struct graph *compiled_build(const struct compiled_set *s, enum compiled_mode mode, int batch,
                             struct err *e);

/* NULL: ERR_CONFIG if there is no such batch, or no room for it. */
struct compiled *compiled_get(struct compiled_set *s, enum compiled_mode mode, int batch,
                              struct err *e);

/* network_check_room */
int compiled_check_room(const struct compiled_set *s, int batch, size_t beside, int sharers,
                        struct err *e);

/* Bytes of the arena. */
size_t compiled_arena(const struct compiled_set *s);

/* All of them. The device has nothing more to do. */
void compiled_release(struct compiled_set *s);

#endif
