/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/spec/spec_gpus.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/host/child.h"

static int count_listed(void)
{
    static const char *const ask[] = {"nvidia-smi", "--list-gpus", NULL};
    struct child c = {.argv = ask, .out = CHILD_READ, .err = CHILD_NULL};
    struct child_end end;
    struct err ignored;
    int n = child_run(&c, &end, &ignored) == 0 && end.code == 0 ? 0 : -1;

    for (const char *line = n ? NULL : end.out.data; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        n += strncmp(line, "GPU ", 4) == 0;
    }
    child_destroy(&end);
    return n;
}

/* Returns whether name is a device. CUDA ignores all devices from the first that is invalid: -1, an
 * empty one, or "NoDevFiles", which Slurm may write. */
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
