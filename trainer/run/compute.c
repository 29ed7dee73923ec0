/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process computes with: its backend, and the software of its record. */
#include "src/base.h"
#include "trainer/run/setup.h"

#include <sys/utsname.h>

#include "trainer/backends/backends.h"
#include "trainer/backends/cuda/runtime/cuda_info.h"
#include "trainer/run/run_internal.h"

/* Reads the environment, the CUDA driver and /proc/cpuinfo. */

/* Writes the first variable that gives GPUs to this process, such as "SLURM_JOB_GPUS=0,1", to dst.
 * Returns false if there is none. */
static bool find_given_gpus(char *dst, size_t size)
{
    static const char *const lists[] = {"CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS",
                                        "SLURM_JOB_GPUS"};
    static const char count[] = "SLURM_GPUS_ON_NODE";
    const char *value = getenv(count), *name = value && atoi(value) > 0 ? count : NULL;

    for (size_t i = 0; !name && i < sizeof lists / sizeof *lists; i++) {
        value = getenv(lists[i]);
        if (value && *value && *value != '-' && strcmp(value, "NoDevFiles") != 0)
            name = lists[i];
    }
    if (name)
        snprintf(dst, size, "%s=%.60s", name, value);
    return name;
}

/* Writes the name of the processor in /proc/cpuinfo, or "CPU". */
static void compute_cpu_name(char *dst, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "re");

    snprintf(dst, size, "CPU");
    while (f && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (colon && colon[1] && strncmp(line, "model name", 10) == 0) {
            snprintf(dst, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
            break;
        }
    }
    if (f)
        fclose(f);
}

static int choose_cpu(struct compute *c, const char *word, struct err *e)
{
    bool any = strcmp(word, "auto") == 0 || strcmp(word, "cpu") == 0;

    c->backend = any ? backends[0] : backend_find(word);
    if (!c->backend)
        return err_set(e, ERR_CONFIG,
                       "this build has no backend \"%s\"; auto and cpu choose the best, "
                       "and \"unet-train devices\" lists all",
                       word);
    compute_cpu_name(c->device, sizeof c->device);
    return 0;
}

/* Sets c->backend and c->device if this process has a GPU that works, otherwise c->why. */
static void choose_gpu(struct compute *c)
{
    struct cuda_info info;

    cuda_info_read_gpus(&info);
    const struct cuda_info_gpu *gpu = cuda_info_own(&info, rank_identity_local_rank());
    snprintf(c->device, sizeof c->device, "%s", gpu ? gpu->name : "");
    snprintf(c->why, sizeof c->why, "%s", info.why);
    if (!gpu)
        return;
    c->backend = backend_find("cuda");
    c->tf32 = gpu->major >= 8;
}

int compute_choose(struct compute *c, const char *word, struct err *e)
{
    bool automatic = strcmp(word, "auto") == 0;
    const char *gpus = getenv("UNET_GPUS");
    char given[128];

    *c = (struct compute){0};
    if (!automatic && strcmp(word, "cuda") != 0)
        return choose_cpu(c, word, e);
    c->fake = automatic && gpus && strcmp(gpus, "fake") == 0;
    if (c->fake) {
        snprintf(c->why, sizeof c->why, "the GPUs here are fake (UNET_GPUS=fake)");
        return choose_cpu(c, word, e);
    }
    choose_gpu(c);
    if (c->backend)
        return 0;
    if (!automatic)
        return err_set(e, ERR_PEER, "backend cuda: %s; train.backend: cpu (--backend cpu) computes "
                       "on the CPU", c->why);
    if (find_given_gpus(given, sizeof given))
        return err_set(e, ERR_PEER, "this process was given GPUs (%s) and cannot use them: %s; "
                       "train.backend: cpu (--backend cpu) computes on the CPU", given, c->why);
    return choose_cpu(c, word, e);
}

void compute_describe(const struct compute *c, const char *comm, char dst[COMPUTE_LINE])
{
    snprintf(dst, COMPUTE_LINE, "%s%s (backend %s%s%s)%s%s", c->backend->device ? "" : "the CPU, ",
             c->device, c->backend->name, comm ? ", comm " : "", comm ? comm : "",
             *c->why ? ": " : "", c->why);
}

const char *compute_dtype(const struct compute *c, const char *dtype)
{
    return strcmp(dtype, "auto") != 0 ? dtype : c->tf32 ? "tf32" : "f32";
}

void compute_log(const struct compute *c, const char *comm, const char *dtype)
{
    const char *gpu = c->backend->device ? compute_dtype(c, dtype) : "";
    char line[COMPUTE_LINE];

    compute_describe(c, comm, line);
    log_info("computing on %s%s%s%s", line, *gpu ? " in " : "", gpu,
             strcmp(dtype, "bf16") == 0 && !*gpu
                 ? "; bf16 is rounded between ops, which takes longer than f32"
             : *gpu && !c->tf32 && strcmp(gpu, "fp16") != 0
                 ? "; its tensor cores, if it has any, compute train.dtype: fp16 only"
                 : "");
}

int compute_take(const char **word, const char **dtype, struct err *e)
{
    struct compute c;

    if (compute_choose(&c, *word, e))
        return -1;
    *word = c.backend->name;
    *dtype = compute_dtype(&c, *dtype);
    if (rank_identity_launched_task() == 0)
        compute_log(&c, NULL, *dtype);
    return 0;
}

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
