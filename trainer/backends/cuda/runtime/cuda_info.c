/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/backends/cuda/runtime/cuda_info.h"

#ifdef HAVE_CUDA
#ifndef GPU_EMULATE
#include <cuda_runtime_api.h>
#endif

#include "trainer/backends/cuda/runtime/cudnn_library.h"
#include "trainer/core/host.h"

#ifndef BUILT_ARCHS
#define BUILT_ARCHS CUDA_ARCHS
#endif

#define NO_VOLTA 91100 /* from cuDNN 9.11 on a GPU has at least compute capability 7.5 */

static int cudnn_number(void)
{
    struct err e;
    const struct cudnn_calls *calls = cudnn_library_open(&e);

    return calls ? (int)calls->get_version() : 0;
}

static int nccl_number(void)
{
    struct err e;
    int (*get)(int *version), version = 0;
    void *library = library_open(LIBRARY_NCCL, &e);

    return library && library_find(library, "ncclGetVersion", &get, &e) == 0 &&
           get(&version) == 0 ? version : 0;
}

static void describe_uuid(const cudaUUID_t *uuid, char *dst, size_t size)
{
    size_t n = (size_t)snprintf(dst, size, "GPU");

    for (size_t i = 0; i < sizeof uuid->bytes; i++)
        n += (size_t)snprintf(dst + n, size - n, "%s%02x",
                              i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                              (unsigned)(unsigned char)uuid->bytes[i]);
}

/* fp32 lanes of a multiprocessor by compute capability: CUDA C++ Programming Guide, "Arithmetic
 * Instructions". */
static int fp32_lanes(int major, int minor)
{
    if (major == 6)
        return minor == 0 ? 64 : 128;
    if (major == 7 || (major == 8 && minor == 0))
        return 64;
    return 128;
}

static void read_peaks(int i, struct cuda_info_gpu *gpu)
{
    int clock = 0, memory_clock = 0, width = 0; /* kHz, kHz, bits */

    if (cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, i) == cudaSuccess)
        gpu->flop = 2e3 * clock * gpu->processors * fp32_lanes(gpu->major, gpu->minor);
    if (cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, i) == cudaSuccess &&
        cudaDeviceGetAttribute(&width, cudaDevAttrGlobalMemoryBusWidth, i) == cudaSuccess)
        gpu->bytes = 2e3 * memory_clock * width / 8; /* double data rate */
}

static cudaError_t read_gpu(int i, struct cuda_info_gpu *gpu)
{
    struct cudaDeviceProp p;
    cudaError_t rc = cudaGetDeviceProperties(&p, i);

    if (rc != cudaSuccess)
        return rc;
    snprintf(gpu->name, sizeof gpu->name, "%s", p.name);
    snprintf(gpu->pci, sizeof gpu->pci, "%08x:%02x:%02x.0", (unsigned)p.pciDomainID,
             (unsigned)p.pciBusID, (unsigned)p.pciDeviceID);
    describe_uuid(&p.uuid, gpu->uuid, sizeof gpu->uuid);
    gpu->memory = p.totalGlobalMem;
    gpu->major = p.major;
    gpu->minor = p.minor;
    gpu->processors = p.multiProcessorCount;
    read_peaks(i, gpu);
    return cudaSuccess;
}

static void explain(struct cuda_info *info, cudaError_t rc)
{
    if (info->driver == 0)
        snprintf(info->why, sizeof info->why, "there is no NVIDIA driver on this machine "
                 "(libcuda.so.1)");
    else if (rc == cudaErrorInsufficientDriver)
        snprintf(info->why, sizeof info->why, "the driver serves CUDA up to %d.%d and this program "
                 "has %d.%d; update the driver, or build with an older CUDA "
                 "(./configure --with-cuda=DIR)",
                 info->driver / 1000, info->driver % 1000 / 10, info->runtime / 1000,
                 info->runtime % 1000 / 10);
    else
        snprintf(info->why, sizeof info->why, "CUDA: %s; see nvidia-smi and "
                 "CUDA_VISIBLE_DEVICES", cudaGetErrorString(rc));
}

/* Binaries run on later minor versions of their architecture. The driver compiles the PTX of the
 * last one in BUILT_ARCHS for later architectures. */
static bool is_built_for(const struct cuda_info_gpu *gpu)
{
    long own = 10 * gpu->major + gpu->minor, last = own + 1;
    char *end;

    for (const char *p = BUILT_ARCHS;; p = end) {
        long arch = strtol(p, &end, 10);
        if (end == p)
            return last <= own;
        if (arch / 10 == gpu->major && arch <= own)
            return true;
        last = arch;
    }
}

const struct cuda_info_gpu *cuda_info_own(struct cuda_info *info, int i)
{
    const struct cuda_info_gpu *gpu = info->ngpus ? &info->gpus[i % info->ngpus] : NULL;

    struct err e;

    if (!gpu)
        return NULL;
    if (is_built_for(gpu)) {
        const struct cudnn_calls *calls = cudnn_library_open(&e);
        size_t version = calls ? calls->get_version() : 0;
        if (calls && (10 * gpu->major + gpu->minor > 70 || version < NO_VOLTA))
            return gpu;
        if (calls)
            err_set(&e, ERR_PEER, "9.0 to 9.10 serve compute capability %d.%d, and %zu.%zu is "
                    "loaded", gpu->major, gpu->minor, version / 10000, version / 100 % 100);
        snprintf(info->why, sizeof info->why, "GPU %d (%.80s) needs cuDNN 9: %.600s",
                 i % info->ngpus, gpu->name, e.text);
        return NULL;
    }
    snprintf(info->why, sizeof info->why, "GPU %d (%s) has compute capability %d.%d and this "
             "program was built for " BUILT_ARCHS "; build it with ./configure CUDA_ARCHS=%d%d",
             i % info->ngpus, gpu->name, gpu->major, gpu->minor, gpu->major, gpu->minor);
    return NULL;
}

void cuda_info_read_gpus(struct cuda_info *info)
{
    int count = 0;

    *info = (struct cuda_info){0};
    (void)cudaRuntimeGetVersion(&info->runtime);
    if (cudaDriverGetVersion(&info->driver) != cudaSuccess)
        info->driver = 0;
    cudaError_t rc = cudaGetDeviceCount(&count);
    for (int i = 0; rc == cudaSuccess && i < count && i < CUDA_INFO_GPUS; i++) {
        rc = read_gpu(i, &info->gpus[i]);
        info->ngpus += rc == cudaSuccess;
    }
    if (rc == cudaSuccess && count == 0)
        rc = cudaErrorNoDevice;
    if (rc != cudaSuccess) {
        info->ngpus = 0;
        explain(info, rc);
    }
}

void cuda_info_read(struct cuda_info *info)
{
    cuda_info_read_gpus(info);
    info->cudnn = cudnn_number();
    info->nccl = nccl_number();
}

#else

void cuda_info_read_gpus(struct cuda_info *info)
{
    *info = (struct cuda_info){0};
    snprintf(info->why, sizeof info->why, "this program was built without CUDA; build it with "
             "./configure --with-cuda=DIR");
}

void cuda_info_read(struct cuda_info *info)
{
    cuda_info_read_gpus(info);
}

const struct cuda_info_gpu *cuda_info_own(struct cuda_info *info, int i)
{
    return NULL;
}

#endif
