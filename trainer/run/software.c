/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/run/software.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "src/mem.h"
#include "trainer/backends/cuda/runtime/cuda_info.h"
#include "trainer/comm/comm_open.h"

/* Adds number as major.minor, or major.minor.patch if patches are numbered by one. */
static void add_version(cJSON *to, const char *key, int number, int major, int minor, int patch)
{
    char text[48];

    if (patch)
        snprintf(text, sizeof text, "%d.%d.%d", number / major, number % major / minor,
                 number % minor / patch);
    else
        snprintf(text, sizeof text, "%d.%d", number / major, number % major / minor);
    cjson_add(to, key, number ? cJSON_CreateString(text) : cJSON_CreateNull());
}

static void add_cuda(cJSON *to)
{
    struct err ignored;
    struct cuda_info *info = mem_zero(1, sizeof *info, &ignored);

    if (!info)
        return;
    cuda_info_read(info);
    add_version(to, "cuda", info->runtime, 1000, 10, 0);
    add_version(to, "driver", info->driver, 1000, 10, 0);
    add_version(to, "cudnn", info->cudnn, 10000, 100, 1);
    add_version(to, "nccl", info->nccl, 10000, 100, 1);
    free(info);
}

void software_encode(const struct compute *c, cJSON *to)
{
    char kernel[sizeof((struct utsname *)0)->release + 80], processor[256];
    struct utsname host;

    compute_cpu_name(processor, sizeof processor);
    cjson_addf(to, "compiler=%s mpi=%s", "cc " __VERSION__, comm_mpi_version());
    if (uname(&host) == 0) {
        snprintf(kernel, sizeof kernel, "%s %s", host.sysname, host.release);
        cjson_addf(to, "kernel=%s", kernel);
    }
    cjson_addf(to, "processor=%s slurm=%s", processor, getenv("UNETCTL_SLURM_VERSION"));
    if (strcmp(c->backend->name, "cuda") == 0)
        add_cuda(to);
}
