/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/spec/spec_source.h"

#include "t/tap.h"

static void encodes(int slot, int per_task, const char *want)
{
    struct buf b = {0};

    spec_source_add_gpus(slot, per_task, &b);
    is_str(b.data, want, "task %d of a node, %d each", slot, per_task);
    buf_destroy(&b);
}

int main(void)
{
    setenv("CUDA_VISIBLE_DEVICES", "0,1,3", 1);
    is_int(spec_source_count_gpus(), 3, "each name is a device");
    setenv("CUDA_VISIBLE_DEVICES", "GPU-1234", 1);
    is_int(spec_source_count_gpus(), 1, "a UUID is a device");
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    is_int(spec_source_count_gpus(), 0, "an empty list has no devices");
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    is_int(spec_source_count_gpus(), 0, "-1 is not a device");
    setenv("CUDA_VISIBLE_DEVICES", "0,2,-1,3", 1);
    is_int(spec_source_count_gpus(), 2, "-1 hides the names after it");
    setenv("CUDA_VISIBLE_DEVICES", "NoDevFiles", 1);
    is_int(spec_source_count_gpus(), 0, "Slurm's NoDevFiles is not a device");
    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("PATH", "/nonexistent", 1);
    is_int(spec_source_count_gpus(), -1, "without nvidia-smi the number is unknown");
    encodes(0, 1, "0");
    encodes(3, 1, "3");
    encodes(0, 2, "0,1");
    encodes(2, 3, "6,7,8");
    return done_testing();
}
