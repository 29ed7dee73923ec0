/* SPDX-License-Identifier: BSD-3-Clause */
/* A libnvidia-ml.so.1 for tests. GPU i of NVML_GPUS (2) uses 100 (i + 1) W, 80 % of the time, at a
 * constant power, and is throttled if i is odd. NVML_LOST=SECONDS: after these the last GPU is
 * lost; NVML_XID=SECONDS: it reports XID 79, or
 * NVML_XID_NUMBER, then; NVML_POWER=only: there are no energy counters;
 * NVML_RESET=SECONDS: the counters begin anew. UUIDs have the name of the node of Slurm.
 * NVML_NAME: the model of all. */
#include "src/base.h"

#include <time.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* they are called by name */

enum { SUCCESS, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TIMEOUT = 10, LOST = 15 };

static char gpus[16]; /* the handle of GPU i is gpus + i */
static double began;
static int xid_seen;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9 - began;
}

static int count(void)
{
    return getenv("NVML_GPUS") ? atoi(getenv("NVML_GPUS")) : 2;
}

/* Returns whether the GPU is the last one, and the time of this event has come for it. */
static int is_after(const char *event, const void *gpu)
{
    const char *s = getenv(event);

    return s && (const char *)gpu - gpus == count() - 1 && now() >= atof(s);
}

int nvmlInit_v2(void)
{
    began = now();
    return count() ? SUCCESS : NOT_FOUND;
}

const char *nvmlErrorString(int error)
{
    return error == LOST ? "GPU is lost" : error == NOT_SUPPORTED ? "Not Supported" : "error";
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **gpu)
{
    *gpu = gpus + i;
    return i < (unsigned)count() ? SUCCESS : INVALID;
}

int nvmlDeviceGetUUID(void *gpu, char *id, unsigned n)
{
    const char *node = getenv("SLURMD_NODENAME");

    snprintf(id, n, "GPU-%s%d", node ? node : "", (int)((char *)gpu - gpus));
    return SUCCESS;
}

int nvmlDeviceGetName(void *gpu, char *name, unsigned n)
{
    const char *own = getenv("NVML_NAME");

    (void)gpu;
    snprintf(name, n, "%s", own ? own : "Test GPU");
    return SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *id, void **gpu)
{
    char own[96];

    for (int i = 0; i < count(); i++) {
        *gpu = gpus + i;
        nvmlDeviceGetUUID(*gpu, own, sizeof own);
        if (strcmp(own, id) == 0)
            return SUCCESS;
    }
    return NOT_FOUND;
}

int nvmlDeviceGetPowerUsage(void *gpu, unsigned *mw)
{
    *mw = 100000 * (unsigned)((char *)gpu - gpus + 1);
    return is_after("NVML_LOST", gpu) ? LOST : SUCCESS;
}

int nvmlDeviceGetTotalEnergyConsumption(void *gpu, unsigned long long *mj)
{
    unsigned mw;

    nvmlDeviceGetPowerUsage(gpu, &mw);
    *mj = is_after("NVML_RESET", gpu) ? (unsigned long long)(mw * (now() - atof(getenv("NVML_RESET"))))
                                      : 1000000 + (unsigned long long)(mw * now());
    return getenv("NVML_POWER") ? NOT_SUPPORTED : is_after("NVML_LOST", gpu) ? LOST : SUCCESS;
}

int nvmlDeviceGetUtilizationRates(void *gpu, unsigned percent[2])
{
    (void)gpu;
    percent[0] = 80;
    percent[1] = 40;
    return SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void *gpu, unsigned long long bytes[3])
{
    (void)gpu;
    bytes[2] = 1024ULL << 20;
    return SUCCESS;
}

int nvmlDeviceGetClockInfo(void *gpu, int clock, unsigned *mhz)
{
    (void)gpu;
    *mhz = clock == 1 ? 1410 : 1215;
    return SUCCESS;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *gpu, unsigned long long *reasons)
{
    *reasons = ((char *)gpu - gpus) % 2 ? 0x4 : 0x1;
    return SUCCESS;
}

int nvmlEventSetCreate(void **set)
{
    *set = gpus;
    return SUCCESS;
}

int nvmlDeviceRegisterEvents(void *gpu, unsigned long long types, void *set)
{
    (void)gpu, (void)set;
    return types == 8 ? SUCCESS : INVALID;
}

int nvmlEventSetWait_v2(void *set, void *event, unsigned timeout_ms)
{
    void *gpu = gpus + count() - 1;
    const char *xid = getenv("NVML_XID_NUMBER");
    unsigned long long values[2] = {8, xid ? strtoull(xid, NULL, 10) : 79};

    (void)set, (void)timeout_ms;
    if (xid_seen || !is_after("NVML_XID", gpu))
        return TIMEOUT;
    xid_seen = 1;
    memcpy(event, &gpu, sizeof gpu);
    memcpy((char *)event + sizeof gpu, values, sizeof values);
    return SUCCESS;
}
