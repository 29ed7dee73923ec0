/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/spec/spec_gpus.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int count_listed(void)
{
    FILE *f = popen("exec nvidia-smi --list-gpus 2>/dev/null", "r");
    char line[1024];
    int n = 0;

    if (!f)
        return -1;
    while (fgets(line, sizeof line, f))
        n += strncmp(line, "GPU ", 4) == 0;
    return pclose(f) == 0 ? n : -1;
}

/* Is name a device? CUDA ignores all devices from the first that is invalid: -1, an empty one,
 * or "NoDevFiles", which Slurm may write. */
static bool is_device(const char *name)
{
    return *name && *name != ',' && *name != '-' && strncmp(name, "NoDevFiles", 10) != 0;
}

int spec_gpus_count(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int n = 0;

    if (!visible)
        return count_listed();
    while (is_device(visible)) {
        n++;
        visible += strcspn(visible, ",");
        visible += *visible == ',';
    }
    return n;
}

void spec_gpus_encode(int slot, int per_task, struct buf *dst)
{
    for (int i = 0; i < per_task; i++)
        buf_addf(dst, "%s%d", i ? "," : "", slot * per_task + i);
}
