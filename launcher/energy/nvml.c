/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/energy/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOT_SUPPORTED 3
#define CLOCK_SM 1
#define EVENT_XID 8ULL
/* the reasons of reduced clocks that a power cap, the slow-down of the hardware or heat are */
#define THROTTLED (0x4ULL | 0x8ULL | 0x20ULL | 0x40ULL | 0x80ULL)

struct nvml_utilization {
    unsigned gpu, memory; /* percent */
};

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_event {
    void *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

static struct {
    int (*init)(void);
    const char *(*error)(int);
    int (*by_index)(unsigned, void **);
    int (*by_uuid)(const char *, void **);
    int (*uuid)(void *, char *, unsigned);
    int (*energy)(void *, unsigned long long *); /* mJ */
    int (*power)(void *, unsigned *);            /* mW */
    int (*utilization)(void *, struct nvml_utilization *);
    int (*memory)(void *, struct nvml_memory *);
    int (*clock)(void *, int, unsigned *);
    int (*throttle)(void *, unsigned long long *);
    int (*create_events)(void **);
    int (*register_events)(void *, unsigned long long, void *);
    int (*wait_events)(void *, struct nvml_event *, unsigned);
} nvml;

static void *events; /* NULL: XIDs are not seen */

static bool load(void *library)
{
    const struct { const char *name; void *pointer; } symbols[] = {
        {"nvmlInit_v2", &nvml.init},
        {"nvmlErrorString", &nvml.error},
        {"nvmlDeviceGetHandleByIndex_v2", &nvml.by_index},
        {"nvmlDeviceGetHandleByUUID", &nvml.by_uuid},
        {"nvmlDeviceGetUUID", &nvml.uuid},
        {"nvmlDeviceGetTotalEnergyConsumption", &nvml.energy},
        {"nvmlDeviceGetPowerUsage", &nvml.power},
        {"nvmlDeviceGetUtilizationRates", &nvml.utilization},
        {"nvmlDeviceGetMemoryInfo", &nvml.memory},
        {"nvmlDeviceGetClockInfo", &nvml.clock},
        {"nvmlDeviceGetCurrentClocksThrottleReasons", &nvml.throttle},
        {"nvmlEventSetCreate", &nvml.create_events},
        {"nvmlDeviceRegisterEvents", &nvml.register_events},
        {"nvmlEventSetWait_v2", &nvml.wait_events}};

    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol)
            return false;
        memcpy(symbols[i].pointer, &symbol, sizeof symbol);
    }
    return true;
}

bool nvml_open(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library || !load(library) || nvml.init() != 0)
        return false;
    if (nvml.create_events(&events) != 0)
        events = NULL;
    return true;
}

void *nvml_find(const char *name, char id[NVML_ID_SIZE])
{
    char *end;
    unsigned long index = strtoul(name, &end, 10);
    void *gpu;

    if ((end != name && !*end ? nvml.by_index((unsigned)index, &gpu) : nvml.by_uuid(name, &gpu)) ||
        nvml.uuid(gpu, id, NVML_ID_SIZE))
        return NULL;
    if (events && nvml.register_events(gpu, EVENT_XID, events)) {
        /* this GPU does not report them */
    }
    return gpu;
}

const char *nvml_read(void *gpu, struct nvml_sample *dst)
{
    struct nvml_utilization busy;
    struct nvml_memory memory;
    unsigned long long mj, reasons = 0;
    unsigned mw, mhz;
    int energy = nvml.energy(gpu, &mj), power = nvml.power(gpu, &mw);

    if ((energy && energy != NOT_SUPPORTED) || (energy && power))
        return nvml.error(power ? power : energy);
    dst->energy_j = energy ? NAN : (double)mj / 1000;
    dst->watts = power ? NAN : mw / 1000.0;
    dst->busy = nvml.utilization(gpu, &busy) ? NAN : busy.gpu / 100.0;
    dst->memory_mib = nvml.memory(gpu, &memory) ? NAN : (double)memory.used / (1 << 20);
    dst->mhz = nvml.clock(gpu, CLOCK_SM, &mhz) ? NAN : mhz;
    dst->throttled = nvml.throttle(gpu, &reasons) == 0 && (reasons & THROTTLED);
    return NULL;
}

unsigned long long nvml_next_xid(void **gpu)
{
    struct nvml_event event = {0};

    if (!events || nvml.wait_events(events, &event, 0) || !(event.type & EVENT_XID))
        return 0;
    *gpu = event.device;
    return event.data;
}
