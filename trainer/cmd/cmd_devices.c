/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train devices: lists devices, backends and communicators of this build. */
#include "src/base.h"

#include "trainer/backends/backends.h"
#include "trainer/backends/cuda/runtime/cuda_info.h"
#include "trainer/cmd/cmd.h"
#include "trainer/comm/comm_open.h"
#include "trainer/run/ranks/ranks.h"
#include "trainer/run/setup.h"

static struct {
    bool json, check;
    const char *backend;
} given = {.backend = "auto"};

static const struct cli_option options[] = {
    {"check", 0, CLI_FLAG, NULL, "is gone: the error says what compares kernels", &given.check, 0, 0},
    OPTIONS_BACKEND(given.backend),
    OPTIONS_JSON(given.json),
    {0}};

/* Returns a version number as text: "9.19.0" for 91900, "none" for 0. */
static const char *version_text(int version, char *dst, size_t size)
{
    if (version == 0)
        snprintf(dst, size, "none");
    else
        snprintf(dst, size, "%d.%d.%d", version / 10000, version % 10000 / 100,
                 version % 100);
    return dst;
}

/* Writes the variables that a run on several GPUs gives NCCL; "" without GPUs or NCCL. */
static void describe_nccl(const struct cuda_info *c, char dst[DEVICE_COMM_SETTINGS])
{
    const struct nccl_calls *nccl;
    struct err ignored;
    int version;

    *dst = 0;
    if (c->ngpus == 0 || !(nccl = nccl_library_open(&ignored)) || nccl->get_version(&version))
        return;
    (void)device_comm_prepare(version, c->driver, false);
    device_comm_describe(dst);
}

static void print_cuda(const struct cuda_info *c)
{
    char cudnn[32], nccl[32], driver[32] = "no driver", settings[DEVICE_COMM_SETTINGS];

    if (c->driver)
        snprintf(driver, sizeof driver, "driver for %d.%d", c->driver / 1000,
                 c->driver % 1000 / 10);
    for (int i = 0; i < c->ngpus; i++) {
        const struct cuda_info_gpu *g = &c->gpus[i];
        printf("GPU %-10d %s, %.1f GiB, compute capability %d.%d, %d multiprocessors, %s, PCI %s\n",
               i, g->name, (double)g->memory / (1 << 30), g->major, g->minor, g->processors,
               g->uuid, g->pci);
    }
    if (c->ngpus == 0)
        printf("GPU            none: %s\n", c->why);
    if (c->runtime)
        printf("CUDA           runtime %d.%d, %s, cuDNN %s, NCCL %s\n",
               c->runtime / 1000, c->runtime % 1000 / 10, driver,
               version_text(c->cudnn, cudnn, sizeof cudnn),
               version_text(c->nccl, nccl, sizeof nccl));
    describe_nccl(c, settings);
    if (*settings)
        printf("NCCL           %s\n", settings);
}

/* Prints the device that a run with this --backend computes on, or the error with which it ends. */
static void print_compute(void)
{
    struct compute c;
    struct err e;
    char line[COMPUTE_LINE];

    if (compute_choose(&c, given.backend, &e))
        snprintf(line, sizeof line, "nothing: %s", e.text);
    else
        compute_describe(&c, NULL, line);
    printf("computes on    %s\n", line);
}

static void add_compute(cJSON *to)
{
    struct compute c;
    struct err e;

    if (compute_choose(&c, given.backend, &e))
        cjson_addf(to, "error=%s", e.text);
    else
        cjson_addf(to, "backend=%s fake=%i device=%s why_cpu=%s", c.backend->name, c.fake,
                   c.device, c.why);
}

static void print_devices_text(const char *name, int cores, long online,
                               const struct cuda_info *cuda)
{
    printf("CPU            %s, %d of %ld cores for this process\n", name, cores, online);
    print_cuda(cuda);
    printf("backends      ");
    for (size_t i = 0; backends[i]; i++)
        printf(" %s", backends[i]->name);
    printf("\ncommunicators  self node");
    if (cuda->nccl)
        printf(" nccl");
    if (*comm_mpi_version())
        printf(" mpi (%s)", comm_mpi_version());
    putchar('\n');
    print_compute();
}

static void add_gpus(cJSON *list, const struct cuda_info *c)
{
    char capability[32];

    for (int i = 0; i < c->ngpus; i++) {
        const struct cuda_info_gpu *g = &c->gpus[i];
        snprintf(capability, sizeof capability, "%d.%d", g->major, g->minor);
        cjson_addf(cjson_object(list, NULL), "id=%d kind=%s name=%s uuid=%s pci=%s memory=%zu "
                   "compute_capability=%s multiprocessors=%d", i, "gpu", g->name, g->uuid, g->pci,
                   g->memory, capability, g->processors);
    }
}

static int print_devices_json(const char *name, int cores, long online,
                              const struct cuda_info *cuda, struct err *e)
{
    const char *names[] = {"self", "node", NULL, NULL};
    int nnames = 2;
    cJSON *o = cJSON_CreateObject(), *list;
    char settings[DEVICE_COMM_SETTINGS];

    cjson_addf(o, "schema=%d", 1);
    list = cjson_array(o, "devices");
    cjson_addf(cjson_object(list, NULL), "id=%d kind=%s name=%s cores=%d cores_online=%ld", 0,
               "cpu", name, cores, online);
    add_gpus(list, cuda);
    describe_nccl(cuda, settings);
    cjson_addf(cjson_object(o, "cuda"), "runtime=%d driver=%d cudnn=%d nccl=%d nccl_settings=%s "
               "gpus=%d why_none=%s", cuda->runtime, cuda->driver, cuda->cudnn, cuda->nccl,
               settings, cuda->ngpus, cuda->why);
    list = cjson_array(o, "backends");
    for (size_t i = 0; backends[i]; i++)
        cjson_add(list, NULL, cJSON_CreateString(backends[i]->name));
    if (cuda->nccl)
        names[nnames++] = "nccl";
    if (*comm_mpi_version())
        names[nnames++] = "mpi";
    cjson_add(o, "communicators", cJSON_CreateStringArray(names, nnames));
    cjson_addf(o, "mpi=%s", comm_mpi_version());
    add_compute(cjson_object(o, "compute"));
    return options_print(o, e);
}

static int run_devices(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct cuda_info cuda;
    struct compute cpu;
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    if (given.check)
        return err_set(e, ERR_USAGE, "devices: --check is gone: trainer/ops/test/opcheck.t --check "
                       "cuda compares every kernel with the reference (make check-gpu runs it)");
    cuda_info_read(&cuda);
    if (compute_choose(&cpu, "cpu", e))
        return -1;
    if (given.json)
        return print_devices_json(cpu.device, rank_identity_own_cores(), online, &cuda, e);
    print_devices_text(cpu.device, rank_identity_own_cores(), online, &cuda);
    return 0;
}

const struct cli_command cmd_devices = {
    .name = "devices",
    .args = "",
    .summary = "List CPU, GPUs, backends and communicators of this build, and what runs use",
    .details = "The last line is the device that a run with --backend uses here; JSON has it as "
               "\"compute\".\n"
               "Versions in --json are the libraries' own numbers: CUDA 13010 is 13.1, cuDNN 91900 is\n"
               "9.19.0.\n"
               "\n"
               "  unet-train devices --json\n",
    .options = options,
    .run = run_devices,
};
