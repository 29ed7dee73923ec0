/* SPDX-License-Identifier: BSD-3-Clause */
/* unet-train devices: lists devices, backends and communicators of this build, and with --check
 * compares kernels with the reference. */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include <stdlib.h>

#include "trainer/backends/backends.h"
#include "trainer/backends/cuda/runtime/cuda_info.h"
#include "trainer/backends/trial/verdicts.h"
#include "trainer/cmd/cmd.h"
#include "trainer/cmd/options.h"
#include "trainer/comm/comm_mpi.h"
#include "trainer/comm/device_comm.h"
#include "trainer/network/network.h"
#include "trainer/run/compute.h"
#include "trainer/run/ranks/rank_identity.h"

#define CHECK_SIDE 64 /* of images; a multiple of what each model needs */
#define CHECK_BATCH 2

static bool opt_json, opt_check;
static const char *opt_backend = "auto";

static const struct cli_option options[] = {
    {"check", 0, CLI_FLAG, NULL, "also compare the kernels of built-in models with the reference",
     &opt_check, 0, 0},
    OPTIONS_BACKEND(opt_backend),
    OPTIONS_JSON(opt_json),
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

    if (compute_choose(&c, opt_backend, &e))
        snprintf(line, sizeof line, "nothing: %s", e.text);
    else
        compute_describe(&c, NULL, line);
    printf("computes on    %s\n", line);
}

/* Compiles the model for training and inference, which checks its kernels. */
static int check_model(const struct model *model, const char *backend, int gpu, enum dtype dtype,
                       struct err *e)
{
    struct network_config c = {
        .model = model->name, .backend = backend, .dtype = dtype, .device = gpu, .channels = 3,
        .classes = 10, .height = CHECK_SIDE, .width = CHECK_SIDE, .loss = LOSS_CE,
        .batch_norm = BATCH_NORM_LOCAL, .threads = 1};
    struct network *n = network_create(&c, e);
    bool done = n && network_input(n, true, CHECK_BATCH, e) && network_input(n, false, 1, e);

    network_destroy(n);
    return done ? 0 : err_prefix(e, "checking the kernels of %s", model->name);
}

/* The same for each built-in model and each data type of the backend. Variants of a model follow
 * each other and use the same kernels: only the first is compiled. */
static int check_device(const struct backend *backend, int gpu, struct err *e)
{
    const struct description *last = NULL;
    const struct model *m;

    for (size_t i = 0; (m = model_builtin(i)); last = m->description, i++)
        for (int t = DTYPE_F32; m->description != last && t <= DTYPE_F16; t++)
            if ((backend->device || t != DTYPE_F16) &&
                check_model(m, backend->name, gpu, (enum dtype)t, e))
                return -1;
    return 0;
}

/* Checks the kernels of each visible GPU, or of the CPU, and sets *tally. */
static int check_kernels(const struct cuda_info *cuda, struct verdicts_tally *tally, struct err *e)
{
    struct compute compute;

    if (compute_choose(&compute, opt_backend, e))
        return -1;
    setenv("UNET_CUDA_KERNELS", "again", 0); /* an earlier check does not count */
    for (int gpu = 0; gpu < (compute.backend->device ? cuda->ngpus : 1); gpu++)
        if (check_device(compute.backend, gpu, e))
            return -1;
    verdicts_tally(tally);
    return 0;
}

static void print_verdicts(const struct verdicts_tally *tally)
{
    if (tally->nright + tally->nwrong == 0)
        printf("kernels        none of this backend needs a check here\n");
    else
        printf("kernels        %u checked, %u of them right%s%s\n", tally->nright + tally->nwrong,
               tally->nright, *tally->faults ? ": " : "", tally->faults);
}

static void add_compute(cJSON *to)
{
    struct compute c;
    struct err e;

    if (compute_choose(&c, opt_backend, &e))
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
                              const struct cuda_info *cuda, const struct verdicts_tally *tally,
                              struct err *e)
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
    if (opt_check)
        cjson_addf(cjson_object(o, "kernels"), "checked=%u right=%u faults=%s",
                   tally->nright + tally->nwrong, tally->nright, tally->faults);
    return options_print(o, e);
}

static int run_devices(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    struct verdicts_tally tally = {0};
    struct cuda_info cuda;
    struct compute cpu;
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    cuda_info_read(&cuda);
    if (compute_choose(&cpu, "cpu", e) || (opt_check && check_kernels(&cuda, &tally, e)))
        return -1;
    if (opt_json) {
        if (print_devices_json(cpu.device, rank_identity_own_cores(), online, &cuda, &tally, e))
            return -1;
    } else {
        print_devices_text(cpu.device, rank_identity_own_cores(), online, &cuda);
        if (opt_check)
            print_verdicts(&tally);
    }
    if (tally.nwrong)
        return err_set(e, ERR_PEER, "%u of %u kernels failed their check; runs replace them by "
                       "slower ones: update the driver and cuDNN, or have the GPU examined",
                       tally.nwrong, tally.nright + tally.nwrong);
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
               "Each run checks the kernels that it uses before its first step, unless one in the last 30\n"
               "days has done so on the same GPU with the same driver and program. --check does so now, for\n"
               "each built-in model, data type and visible GPU; it ends with 5 if a kernel is wrong.\n"
               "\n"
               "  unet-train devices --json\n"
               "  unet-train devices --check\n",
    .options = options,
    .run = run_devices,
};
