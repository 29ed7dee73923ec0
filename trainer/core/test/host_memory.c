/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of memory from control groups, with the folders of both versions, and from Slurm. */
#include "src/base.h"
#include "trainer/core/host.h"

#include <sys/stat.h>

#include "t/tap.h"

static char root[64];

static void write_limit(const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", root, name);
    for (char *p = path + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        mkdir(path, 0777);
        *p = '/';
    }
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f))
        bail_out("%s", path);
}

static void is_limit(double mib, const char *reason, int sharers, const char *text)
{
    struct host_memory m = host_memory_limit(root, sharers);

    ok((double)m.nbytes == mib * 1048576 && strstr(m.reason, reason), "%s: %.1f MiB, %s", text,
       (double)m.nbytes / 1048576, m.reason);
}

int main(void)
{
    char command[96];

    snprintf(root, sizeof root, "/tmp/host-memory-test.%d", (int)getpid());
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_MEM_PER_NODE");
    unsetenv("SLURM_MEM_PER_CPU");
    struct host_memory none = host_memory_limit(root, 1);
    ok(none.nbytes > 1 << 20 && !strstr(none.reason, "group"),
       "without groups: %s", none.reason);

    write_limit("proc/self/cgroup", "0::/slurm/job_1/step_0/user/task_0\n");
    write_limit("sys/fs/cgroup/slurm/job_1/memory.max", "8388608\n");
    write_limit("sys/fs/cgroup/slurm/job_1/step_0/memory.max", "max\n");
    is_limit(8, "control group", 1, "version 2, of the job that the task belongs to");
    is_limit(2, "control group", 4, "shared by four");
    write_limit("proc/self/cgroup", "0::/../elsewhere\n");
    write_limit("sys/fs/cgroup/memory.max", "4194304\n");
    is_limit(4, "control group", 1, "a container that shows its own group only");

    write_limit("proc/self/cgroup", "12:pids:/x\n5:memory:/slurm/uid_0/job_2\n0::/\n");
    write_limit("sys/fs/cgroup/memory.max", "max\n");
    write_limit("sys/fs/cgroup/memory/slurm/uid_0/memory.limit_in_bytes", "3145728\n");
    write_limit("sys/fs/cgroup/memory/slurm/uid_0/job_2/memory.limit_in_bytes", "9223372036854771712\n");
    is_limit(3, "control group", 1, "version 1, of the group above");

    setenv("SLURM_MEM_PER_NODE", "2", 1);
    is_limit(2, "--mem", 1, "Slurm's --mem");
    unsetenv("SLURM_MEM_PER_NODE");
    setenv("SLURM_MEM_PER_CPU", "1", 1);
    setenv("SLURM_CPUS_ON_NODE", "2", 1);
    is_limit(1, "--mem", 2, "Slurm's --mem-per-cpu, by two tasks");

    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command) == 0 ? done_testing() : 1;
}
