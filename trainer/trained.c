/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/trained.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trainer/checkpoint/checkpoint.h"
#include "trainer/strategy.h"

#define WEIGHTS "weights.safetensors"

static int find_weights(const char *path, char dst[PATH_MAX], struct err *e)
{
    struct stat st;

    if (stat(path, &st))
        return err_errno(e, ERR_CHECKPOINT, errno, "%s", path);
    snprintf(dst, PATH_MAX, "%s%s", path, S_ISDIR(st.st_mode) ? "/checkpoint/" WEIGHTS : "");
    if (S_ISDIR(st.st_mode) && access(dst, F_OK))
        snprintf(dst, PATH_MAX, "%s/" WEIGHTS, path);
    return 0;
}

struct network *trained_open(const char *path, struct network_config *config, struct err *e)
{
    int height = config->height, width = config->width;
    char file[PATH_MAX];

    config->classes = 1; /* what checkpoints of before say nothing about */
    config->seed = 1;
    if (find_weights(path, file, e) || checkpoint_read_model(file, config, e))
        return NULL;
    if (height)
        config->height = height;
    if (width)
        config->width = width;
    if (config->threads == 0)
        config->threads = strategy_own_cores();
    struct network *n = network_create(config, e);
    if (n && checkpoint_read_weights(file, network_weights(n), e) == 0)
        return n;
    network_destroy(n);
    return NULL;
}
