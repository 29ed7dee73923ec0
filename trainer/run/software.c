/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/run/software.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "src/mem.h"
#include "trainer/backends/cuda/runtime/cuda_info.h"
#include "trainer/comm/comm_mpi.h"

/* Adds number as major.minor, or major.minor.patch if patches are numbered by one. */
static void add_version(struct buf *b, const char *key, int number, int major, int minor, int patch)
{
    char text[48];

    if (patch)
        snprintf(text, sizeof text, "%d.%d.%d", number / major, number % major / minor,
                 number % minor / patch);
    else
        snprintf(text, sizeof text, "%d.%d", number / major, number % major / minor);
    buf_json_text(b, key, number ? text : NULL);
}

static void add_cuda(struct buf *b)
{
    struct err ignored;
    struct cuda_info *info = mem_zero(1, sizeof *info, &ignored);

    if (!info)
        return;
    cuda_info_read(info);
    add_version(b, "cuda", info->runtime, 1000, 10, 0);
    add_version(b, "driver", info->driver, 1000, 10, 0);
    add_version(b, "cudnn", info->cudnn, 10000, 100, 1);
    add_version(b, "nccl", info->nccl, 10000, 100, 1);
    free(info);
}

void software_encode(const struct compute *c, struct buf *b)
{
    char kernel[sizeof((struct utsname *)0)->release + 80], processor[256];
    struct utsname host;

    compute_cpu_name(processor, sizeof processor);
    buf_json_key(b, "versions");
    buf_add(b, "{");
    buf_json_text(b, "compiler", "cc " __VERSION__);
    buf_json_text(b, "mpi", comm_mpi_version());
    if (uname(&host) == 0) {
        snprintf(kernel, sizeof kernel, "%s %s", host.sysname, host.release);
        buf_json_text(b, "kernel", kernel);
    }
    buf_json_text(b, "processor", processor);
    buf_json_text(b, "slurm", getenv("UNETCTL_SLURM_VERSION"));
    if (strcmp(c->backend->name, "cuda") == 0)
        add_cuda(b);
    buf_add(b, "}");
}
