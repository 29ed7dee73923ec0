/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/study/engine.h"

#include <stdio.h>
#include <string.h>

#include "src/cli.h"
#include "src/settings/settings.h"

static const struct engine engines[] = {
    {.name = "embedded", .embedded = true},
    {.name = "tensorflow", .is_python = true, .script = "templates/tensorflow/train.py"},
    {.name = "horovod", .is_python = true, .rank_per_gpu = true, .always_launched = true,
     .script = "templates/horovod/train.py"},
    {.name = "pytorch", .is_python = true, .rank_per_gpu = true,
     .script = "templates/pytorch/train.py"},
    {.name = "torchrun", .is_python = true, .rank_per_gpu = true,
     .launcher = "-m torch.distributed.run --nnodes=$UNETCTL_NODES --node_rank=$GROUP_RANK "
                 "--nproc_per_node=$LOCAL_WORLD_SIZE --master_addr=$MASTER_ADDR "
                 "--master_port=$MASTER_PORT"},
    {.name = "jax", .is_python = true, .rank_per_gpu = true, .always_launched = true},
    {.name = "mpi", .rank_per_gpu = true, .always_launched = true},
    {.name = "command"},
};

const struct engine *engine_find(const char *name, struct err *e)
{
    const char *const *known = setting_find(settings_of_study, "engine")->words;
    char list[ERR_TEXT_SIZE] = "";

    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (strcmp(engines[i].name, name) == 0)
            return &engines[i];
    for (size_t i = 0, n = 0; known[i] && n < sizeof list; i++)
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", known[i]);
    err_set(e, ERR_CONFIG, "unknown engine '%s'%s (known: %s)", name,
            cli_suggest(name, known, (char[CLI_SUGGESTION]){0}), list);
    return NULL;
}
