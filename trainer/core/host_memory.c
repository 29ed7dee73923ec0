/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/core/host_memory.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIB (1024.0 * 1024.0)
#define JOB "the job's: slurm.mem, --mem"

static void take(struct host_memory *m, double nbytes, const char *reason)
{
    if (nbytes > 0 && nbytes < (double)m->nbytes)
        *m = (struct host_memory){(size_t)nbytes, reason};
}

/* The number that the file begins with; 0: it has none ("max"), or is not there. */
static double read_number(const char *path)
{
    double v = 0;
    FILE *f = fopen(path, "re");

    if (f && fscanf(f, "%lf", &v) != 1)
        v = 0;
    if (f)
        fclose(f);
    return v;
}

/* A group is limited by all above it. Where a container shows a part of the tree only, the upper
 * ones are found all the same. */
static void take_groups(struct host_memory *m, const char *mount, const char *group,
                        const char *file, int sharers)
{
    const char *reason = getenv("SLURM_JOB_ID") ? JOB : "the control group's limit";
    char path[PATH_MAX], up[PATH_MAX];

    snprintf(up, sizeof up, "%s", strcmp(group, "/") == 0 ? "" : group);
    for (;;) {
        char *slash = strrchr(up, '/');
        snprintf(path, sizeof path, "%.1000s%.2000s/%s", mount, up, file);
        take(m, read_number(path) / sharers, reason);
        if (!slash)
            return;
        *slash = 0;
    }
}

static void take_all_groups(struct host_memory *m, const char *root, int sharers)
{
    char path[PATH_MAX], line[PATH_MAX], mount[PATH_MAX];

    snprintf(path, sizeof path, "%.1000s/proc/self/cgroup", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        group[strcspn(group, "\n")] = 0;
        bool unified = strcmp(names, ":") == 0;
        if (!unified && !strstr(names, "memory"))
            continue;
        snprintf(mount, sizeof mount, "%.1000s/sys/fs/cgroup%s", root, unified ? "" : "/memory");
        take_groups(m, mount, group, unified ? "memory.max" : "memory.limit_in_bytes", sharers);
    }
    if (f)
        fclose(f);
}

static double number_of(const char *variable)
{
    const char *text = getenv(variable);

    return text ? strtod(text, NULL) : 0;
}

/* The job's limit in MiB: without control groups, Slurm itself kills a job above it. */
static void take_slurm(struct host_memory *m, int sharers)
{
    double node = number_of("SLURM_MEM_PER_NODE");

    if (node <= 0)
        node = number_of("SLURM_MEM_PER_CPU") * number_of("SLURM_CPUS_ON_NODE");
    take(m, node * MIB / sharers, JOB);
}

/* What is left: pages are in use. */
static void take_own(struct host_memory *m, int resource, double pages, const char *reason)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        take(m, fmax((double)limit.rlim_cur - pages * (double)sysconf(_SC_PAGESIZE), 1), reason);
}

static void take_own_limits(struct host_memory *m)
{
    double size = 0, data = 0;
    FILE *f = fopen("/proc/self/statm", "re");

    if (f && fscanf(f, "%lf %*s %*s %*s %*s %lf", &size, &data) != 2)
        size = data = 0;
    if (f)
        fclose(f);
    take_own(m, RLIMIT_DATA, data, "ulimit -d");
    take_own(m, RLIMIT_AS, size, "ulimit -v");
}

struct host_memory host_memory_limit(const char *root, int sharers)
{
    struct host_memory m = {SIZE_MAX, "no limit"};
    double pages = (double)sysconf(_SC_PHYS_PAGES);

    if (sharers < 1)
        sharers = 1;
    take(&m, pages * (double)sysconf(_SC_PAGESIZE) / sharers, "the machine's memory");
    take_all_groups(&m, root, sharers);
    take_slurm(&m, sharers);
    take_own_limits(&m);
    return m;
}
