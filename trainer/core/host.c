/* SPDX-License-Identifier: BSD-3-Clause */
/* What the host has: memory, and libraries that are opened when they are needed. */
#include "src/base.h"
#include "trainer/core/host.h"

#include <dlfcn.h>
#include <math.h>
#include <sys/resource.h>

/* Reads control groups, Slurm's variables and resource limits; a source that cannot be read is
 * ignored. */

#define MIB (1024.0 * 1024.0)
#define JOB "the job's: slurm.mem, --mem"

/* Lowers the limit to nbytes, unless that is larger, or 0 for unknown. */
static void lower_limit(struct host_memory *m, double nbytes, const char *reason)
{
    if (nbytes > 0 && nbytes < (double)m->nbytes)
        *m = (struct host_memory){(size_t)nbytes, reason};
}

/* Returns the number at the start of the file, or 0 if there is none ("max") or no such file. */
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

/* A group is also limited by all groups above it. In a container that shows only part of the tree,
 * files of the lower groups are missing and those of the upper ones are still found. */
static void take_groups(struct host_memory *m, const char *mount, const char *group,
                        const char *file, int sharers)
{
    const char *reason = getenv("SLURM_JOB_ID") ? JOB : "the control group's limit";
    char path[PATH_MAX], up[PATH_MAX];

    snprintf(up, sizeof up, "%s", strcmp(group, "/") == 0 ? "" : group);
    for (;;) {
        char *slash = strrchr(up, '/');
        snprintf(path, sizeof path, "%.1000s%.2000s/%s", mount, up, file);
        lower_limit(m, read_number(path) / sharers, reason);
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

/* Slurm's variables are in MiB. Slurm may enforce the limit even without control groups. */
static void take_slurm(struct host_memory *m, int sharers)
{
    double node = number_of("SLURM_MEM_PER_NODE");

    if (node <= 0)
        node = number_of("SLURM_MEM_PER_CPU") * number_of("SLURM_CPUS_ON_NODE");
    lower_limit(m, node * MIB / sharers, JOB);
}

/* Takes the unused part of a limit of this process, which uses `pages` pages of it. */
static void take_own(struct host_memory *m, int resource, double pages, const char *reason)
{
    double used = pages * (double)sysconf(_SC_PAGESIZE);
    struct rlimit limit;

    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        lower_limit(m, fmax((double)limit.rlim_cur - used, 1), reason);
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
    lower_limit(&m, pages * (double)sysconf(_SC_PAGESIZE) / sharers, "the machine's memory");
    take_all_groups(&m, root, sharers);
    take_slurm(&m, sharers);
    take_own_limits(&m);
    return m;
}

/* Opens libraries with dlopen, first by name and then in the folders of CUDA. */

#ifndef CUDA_ROOT
#define CUDA_ROOT "/usr/local/cuda"
#endif

void *library_open(const char *name, struct err *e)
{
    static const char *const folders[] = {"", CUDA_ROOT "/lib64/", CUDA_ROOT "/lib/"};
    char path[PATH_MAX], why[256] = "";

    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s%s", folders[i], name);
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
        if (!*why)
            snprintf(why, sizeof why, "%s", dlerror());
    }
    err_set(e, ERR_CONFIG, "%s; it is not in %s/lib64 either: install it, load the site's module "
            "for it, or put its folder into LD_LIBRARY_PATH", why, CUDA_ROOT);
    return NULL;
}

int library_find(void *library, const char *symbol, void *function, struct err *e)
{
    void *address = dlsym(library, symbol);

    if (!address)
        return err_set(e, ERR_CONFIG, "%s; a newer release of that library is needed", dlerror());
    memcpy(function, &address, sizeof address);
    return 0;
}
