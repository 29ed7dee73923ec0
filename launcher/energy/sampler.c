/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/energy/energy.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#include "launcher/host/child.h"
#include "launcher/host/path.h"
#include "src/clock.h"
#include "src/files.h"

/* ---- NVML, the library of NVIDIA's driver that measures GPUs. It is loaded with dlopen, and
 * declared here as its ABI defines it, as neither its header nor a GPU need be there. ---- */

#define NVML_ID_SIZE 96
#define NOT_SUPPORTED 3
#define CLOCK_SM 1
#define EVENT_XID 8ULL
/* the reasons of reduced clocks that a power cap, the slow-down of the hardware or heat are */
#define THROTTLED (0x4ULL | 0x8ULL | 0x20ULL | 0x40ULL | 0x80ULL)

/* What a GPU says at one moment; NaN where it does not support a value. */
struct nvml_sample {
    double energy_j;   /* since its driver was loaded */
    double watts;
    double busy;       /* share of the last second or less in which a kernel ran */
    double memory_mib; /* in use, by all processes */
    double mhz;        /* of its multiprocessors */
    bool throttled;    /* its clocks are reduced by a limit of power or by heat */
};

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
    int (*name)(void *gpu, char *name, unsigned n);
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
        {"nvmlDeviceGetName", &nvml.name},
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

/* Loads the library. Returns false where it, its driver or a GPU is missing. */
static bool nvml_open(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library || !load(library) || nvml.init() != 0)
        return false;
    if (nvml.create_events(&events) != 0)
        events = NULL;
    return true;
}

/* Returns the handle of a GPU that CUDA_VISIBLE_DEVICES names, by index or by UUID, and its UUID;
 * NULL if there is none. */
static void *nvml_find(const char *name, char id[NVML_ID_SIZE])
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

/* Reads a GPU. Returns NULL, or what failed: then the GPU is gone, or measures no energy. */
static const char *nvml_read(void *gpu, struct nvml_sample *dst)
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

/* Returns the number of the next critical error (XID) of a GPU that nvml_find has returned, and the
 * handle of the GPU, or 0 if there was none. */
static unsigned long long nvml_next_xid(void **gpu)
{
    struct nvml_event event = {0};

    if (!events || nvml.wait_events(events, &event, 0) || !(event.type & EVENT_XID))
        return 0;
    *gpu = event.device;
    return event.data;
}

/* ---- the sampler ---- */

#define MOST_DEVICES 64
#ifndef SYS_pidfd_open /* headers before glibc 2.31 */
#define SYS_pidfd_open 434
#endif
#define PERIOD_S 1.0
#define LONGEST_PERIOD_S 60.0 /* a counter of RAPL wraps after minutes */
#define BUSY_SHARE 0.001      /* the most of the time that a sampler measures */
#define WRITE_SHARE 0.02      /* rows are written when the time has grown by this share */
#define LOOK_S 0.1            /* where a process cannot be waited for (Linux before 5.3) */

struct device {
    char id[NVML_ID_SIZE]; /* the UUID of a GPU, or "cpu0" */
    void *gpu;             /* its handle of NVML; NULL: this is a CPU package */
    char folder[PATH_MAX]; /* of a CPU package: its folder of RAPL */
    int claim;             /* the socket by which this process alone measures it; -1: none */
    int own;               /* of a GPU: that by which other runs find this one; -1: none */
    bool lost, shared;
    int refused; /* how often `own` was another's */
    /* When it was read first and last, by clock_now, and what it said then. */
    double first, last, counter;
    struct nvml_sample sample;
    double joules, watts; /* since first; between the last two times */
    double busy_s, throttled_s, memory_mib;
    char note[160]; /* for the next row */
    unsigned long long xid; /* of the hardware, to be noted once the device is claimed; 0: none */
};

struct sampler {
    const char *dir;
    char file[PATH_MAX], claim[64], start[64], host[65];
    struct procid rank;
    int pidfd;
    double unix_time; /* at clock_now() == 0 */
    struct device devices[MOST_DEVICES];
    size_t ndevices;
};

/* ---- devices */

/* Notes the model of a GPU of the attempt, for runs whose program does not say what it ran on. */
static void note_model(const struct sampler *s, const struct device *d)
{
    char path[PATH_MAX], name[NVML_ID_SIZE], line[2 * NVML_ID_SIZE + 8];

    if (!s->dir || nvml.name(d->gpu, name, sizeof name))
        return;
    name[strcspn(name, "\n")] = 0;
    int n = snprintf(line, sizeof line, "%s,%s\n", d->id, name);
    int fd = files_open(path_format(path, "%s/gpus", s->dir), O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (fd >= 0 && write(fd, line, (size_t)n) < n) {
        /* a full disk loses lines, not the run */
    }
    if (fd >= 0)
        close(fd);
}

/* Adds the GPUs of this rank: those that CUDA sees or that Slurm gave, outside of Slurm the first
 * ones. */
static void add_gpus(struct sampler *s, int most)
{
    static const char *const names[] = {"CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS",
                                        "SLURM_JOB_GPUS"};
    const char *list = NULL, *kind = getenv("UNET_GPUS");
    char name[NVML_ID_SIZE];
    bool listed;

    for (size_t i = 0; i < sizeof names / sizeof *names && !list; i++)
        list = getenv(names[i]);
    listed = list || getenv("SLURM_JOB_ID");
    if ((listed && !list) || (kind && (!strcmp(kind, "fake") || !strcmp(kind, "foreign"))) ||
        !nvml_open())
        return;
    for (int i = 0; i < most && s->ndevices < MOST_DEVICES && (!listed || *list); i++) {
        struct device *d = &s->devices[s->ndevices];
        size_t n = listed ? strcspn(list, ",") : 0;
        if (listed)
            snprintf(name, sizeof name, "%.*s", (int)n, list);
        else
            snprintf(name, sizeof name, "%d", i);
        d->gpu = nvml_find(name, d->id);
        if (!d->gpu)
            return; /* CUDA, too, ignores the others */
        note_model(s, d);
        s->ndevices += nvml_read(d->gpu, &d->sample) == NULL;
        list += listed ? n + (list[n] == ',') : 0;
    }
}

/* Reads FOLDER/NAME of RAPL, in J. Returns NaN if it cannot be read. */
static double read_rapl(const char *folder, const char *name)
{
    char path[PATH_MAX], line[32];
    double uj;

    path_read_line(path_format(path, "%s/%s", folder, name), line, sizeof line);
    return sscanf(line, "%lf", &uj) == 1 ? uj / 1e6 : NAN;
}

/* Adds the CPU packages that RAPL measures. Returns how many there are, readable or not. */
static size_t add_packages(struct sampler *s)
{
    const char *root = getenv("UNETCTL_POWERCAP");
    char pattern[PATH_MAX], path[PATH_MAX], name[32];
    glob_t found = {0};
    size_t there = 0;

    path_format(pattern, "%s/intel-rapl:*", root ? root : "/sys/class/powercap");
    glob(pattern, 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc && s->ndevices < MOST_DEVICES; i++) {
        path_read_line(path_format(path, "%s/name", found.gl_pathv[i]), name, sizeof name);
        if (strncmp(name, "package", 7) != 0 || strchr(strrchr(found.gl_pathv[i], '/'), ':') !=
                            strrchr(found.gl_pathv[i], ':'))
            continue;
        struct device *d = &s->devices[s->ndevices];
        *d = (struct device){0};
        path_format(d->folder, "%s", found.gl_pathv[i]);
        snprintf(d->id, sizeof d->id, "cpu%zu", there++);
        s->ndevices += !isnan(read_rapl(d->folder, "energy_uj"));
    }
    globfree(&found);
    return there;
}

/* Binds a socket to the name "ATTEMPT DEVICE" and returns it, or -1 if another process of this node
 * has the name. The kernel frees a name when its process ends. If call is not NULL, sends it to the
 * process that has the name instead; -1: there is none. attempt is "" for a name that all runs
 * share. */
static int take_name(const char *attempt, const char *id, const char *call)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int n = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "unetctl-energy %s %.60s",
                     attempt, id);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && (call ? sendto(fd, call, 1, 0, (struct sockaddr *)&name, size) >= 0
                         : bind(fd, (struct sockaddr *)&name, size) == 0))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Notes that another run uses the same GPU, whose energy then is that of both. The sampler of one
 * run has the name of the GPU; that of the other finds it taken and sends a message, so that both
 * know. It does so from the second time on, because the other process may be about to end. */
static void look_for_others(struct device *d)
{
    char call;

    if (d->own < 0)
        d->own = take_name("", d->id, NULL);
    int called = d->own < 0 && d->refused++ ? take_name("", d->id, "x") : -1;
    if (called >= 0)
        close(called);
    d->shared = called >= 0 || (d->own >= 0 && recv(d->own, &call, 1, 0) == 1);
    if (d->shared)
        snprintf(d->note, sizeof d->note, "another run uses it, too");
}

/* ---- samples */

/* Adds what a GPU used since it was last read: by its own counter, or where it has none, or was
 * set back, by the mean of its power then and now. */
static double joules_of_gpu(const struct nvml_sample *then, const struct nvml_sample *now,
                            double seconds)
{
    double counted = now->energy_j - then->energy_j;

    return counted >= 0 ? counted : seconds * (then->watts + now->watts) / 2;
}

static double joules_of_package(struct device *d, double *counter)
{
    *counter = read_rapl(d->folder, "energy_uj");
    double joules = *counter - d->counter;
    return joules >= 0 ? joules : joules + read_rapl(d->folder, "max_energy_range_uj");
}

static void read_device(struct device *d, bool first)
{
    struct nvml_sample now = {.energy_j = NAN, .watts = NAN, .busy = NAN, .memory_mib = NAN,
                              .mhz = NAN};
    const char *error = d->gpu ? nvml_read(d->gpu, &now) : NULL;
    double time = clock_now(), seconds = time - d->last, counter = 0;
    double joules = error    ? NAN
                    : first  ? 0
                    : d->gpu ? joules_of_gpu(&d->sample, &now, seconds)
                             : joules_of_package(d, &counter);

    if (first) {
        d->counter = d->gpu ? 0 : read_rapl(d->folder, "energy_uj");
        d->first = d->last = time;
        d->watts = NAN;
    } else if (isnan(joules)) {
        d->lost = true;
        snprintf(d->note, sizeof d->note, "it cannot be read any more: %s",
                 error ? error : "the counter is not there");
        return;
    } else {
        d->joules += joules;
        d->watts = joules / seconds;
        d->busy_s += now.busy * seconds;
        d->throttled_s += now.throttled * seconds;
        d->counter = counter;
        d->last = time;
    }
    d->memory_mib = fmax(d->memory_mib, now.memory_mib);
    d->sample = now;
}

/* Returns whether the GPU, its memory or its links are at fault, and not the program (NVIDIA, "XID
 * Errors"). */
static bool is_of_hardware(unsigned long long xid)
{
    static const unsigned char known[] = {48, 62, 64, 74, 79, 92, 94, 95, 119, 120, 121, 140, 143};

    return xid < 256 && memchr(known, (int)xid, sizeof known);
}

/* Notes that this node may end the run (doc/SLURM.md, "Bad nodes"). */
static void note_bad_node(const struct sampler *s, unsigned long long xid, const char *gpu)
{
    const char *node = getenv("SLURMD_NODENAME");
    char path[PATH_MAX];
    FILE *f = files_stream(path_format(path, "%s/bad-nodes", s->dir), "a", 0);

    if (f) {
        fprintf(f, "%lld %s XID %llu of %s\n", (long long)time(NULL), node ? node : s->host, xid,
                gpu);
        fclose(f);
    }
}

static void note_xids(struct sampler *s)
{
    unsigned long long xid;
    void *gpu;

    while ((xid = nvml_next_xid(&gpu)) != 0)
        for (size_t i = 0; i < s->ndevices; i++)
            if (s->devices[i].gpu == gpu) {
                snprintf(s->devices[i].note, sizeof s->devices[i].note, "XID %llu", xid);
                if (is_of_hardware(xid))
                    s->devices[i].xid = xid;
            }
}

/* Reads all devices, and while the rank runs claims those that no other sampler measures any more.
 * Returns whether one begins or has a note, so that rows are to be written. */
static bool take_sample(struct sampler *s, bool runs)
{
    bool changed = false;

    note_xids(s);
    for (size_t i = 0; i < s->ndevices; i++) {
        struct device *d = &s->devices[i];
        bool first = d->claim < 0;
        if (first && runs && !d->lost)
            d->claim = take_name(s->claim, d->id, NULL); /* one sampler of a run measures it */
        if (d->xid && d->claim >= 0) {
            note_bad_node(s, d->xid, d->id);
            d->xid = 0;
        }
        if (d->lost || d->claim < 0)
            continue;
        read_device(d, first);
        if (d->gpu && !d->lost && !d->shared)
            look_for_others(d);
        changed |= first || *d->note;
    }
    return changed;
}

static void add_value(struct buf *b, double value, const char *format)
{
    if (isfinite(value))
        buf_addf(b, format, value);
    buf_add(b, ",");
}

static void add_row(struct sampler *s, struct device *d, struct buf *b)
{
    double seconds = d->last - d->first;

    buf_addf(b, "%.3f,%s,", s->unix_time + d->last, d->id);
    add_value(b, d->joules, "%.3f");
    add_value(b, d->watts, "%.1f");
    add_value(b, d->gpu ? d->busy_s / seconds : NAN, "%.4f");
    add_value(b, d->gpu ? d->throttled_s / seconds : NAN, "%.4f");
    add_value(b, d->gpu ? d->memory_mib : NAN, "%.0f");
    add_value(b, d->sample.mhz, "%.0f");
    buf_addf(b, "%s,", s->start);
    csv_add_cell(b, d->note);
    buf_add(b, "\n");
    *d->note = 0;
}

/* Appends a row for each device that this process measures. A disk that is full loses rows, not the
 * run. */
static void write_rows(struct sampler *s)
{
    struct buf b = {0};

    for (size_t i = 0; i < s->ndevices; i++)
        if (s->devices[i].claim >= 0 && (!s->devices[i].lost || *s->devices[i].note))
            add_row(s, &s->devices[i], &b);
    int fd = b.length && !b.failed ? files_open(s->file, O_WRONLY | O_CREAT | O_APPEND, 0666)
                                     : -1;
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 &&
        (st.st_size || write(fd, SAMPLER_HEADER, strlen(SAMPLER_HEADER)) > 0) &&
        write(fd, b.data, b.length) < (ssize_t)b.length)
        s->ndevices = 0;
    if (fd >= 0)
        close(fd);
    buf_destroy(&b);
}

/* ---- the process */

/* Waits for so many seconds or until the rank ends. Returns whether the rank still runs. */
static bool rank_runs(const struct sampler *s, double seconds)
{
    struct pollfd p = {.fd = s->pidfd, .events = POLLIN};
    double end = clock_now() + seconds;

    if (s->pidfd >= 0)
        return poll(&p, 1, (int)(1000 * seconds)) != 1;
    while (procid_is_alive(&s->rank) && clock_now() < end)
        clock_sleep(LOOK_S);
    return procid_is_alive(&s->rank);
}

static void measure(struct sampler *s)
{
    double began = clock_now(), written = began, period = PERIOD_S;
    bool runs = true;

    while (s->ndevices) {
        double start = clock_now();
        bool changed = take_sample(s, runs);
        double end = clock_now();
        if (changed || !runs || end - written >= fmax(PERIOD_S, WRITE_SHARE * (end - began))) {
            write_rows(s);
            written = end;
        }
        if (!runs)
            return;
        period = fmin(fmax((end - start) / BUSY_SHARE, PERIOD_S), LONGEST_PERIOD_S);
        runs = rank_runs(s, period);
    }
}

/* Closes the files and leaves the folder of the rank, so that its job can end, and ignores the
 * signals that ask the rank to stop, so that its last seconds are measured, too. */
static void detach(void)
{
    static const int ignored[] = {SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
    int null = open("/dev/null", O_RDWR);

    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    closefrom(STDERR_FILENO + 1);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    setpriority(PRIO_PROCESS, 0, 19);
    (void)!chdir("/"); /* otherwise the folder stays in use until the rank has ended */
}

static void run_sampler(struct sampler *s, int ngpus)
{
    const char *start = getenv("UNETCTL_START");
    struct timespec now;
    struct stat st;

    detach();
    s->pidfd = (int)syscall(SYS_pidfd_open, s->rank.pid, 0);
    if (!procid_is_alive(&s->rank) || stat(s->dir, &st))
        return;
    gethostname(s->host, sizeof s->host - 1);
    path_format(s->file, "%s/energy-%s-%d.csv", s->dir, s->host, (int)getpid());
    snprintf(s->claim, sizeof s->claim, "%lx %lx", (unsigned long)st.st_dev,
             (unsigned long)st.st_ino);
    start = start ? strstr(start, "running-") : NULL;
    snprintf(s->start, sizeof s->start, "%s", start ? start + strlen("running-") : "");
    clock_gettime(CLOCK_REALTIME, &now);
    s->unix_time = (double)now.tv_sec + (double)now.tv_nsec / 1e9 - clock_now();
    add_gpus(s, ngpus);
    add_packages(s);
    for (size_t i = 0; i < s->ndevices; i++)
        s->devices[i].claim = s->devices[i].own = -1;
    measure(s);
}

int sampler_start(const char *attempt_dir, pid_t rank, int ngpus, struct err *e)
{
    static struct sampler s;
    static char dir[PATH_MAX];

    if (!realpath(attempt_dir, dir))
        return err_errno(e, ERR_USAGE, errno, "energy: %s", attempt_dir);
    files_own(dir);
    s.dir = dir;
    if (procid_get(rank, &s.rank))
        return err_set(e, ERR_USAGE, "energy: there is no process %d", (int)rank);
    pid_t child = fork();
    if (child == 0) {
        run_sampler(&s, ngpus);
        _exit(0);
    }
    return child < 0 ? err_errno(e, ERR_INTERNAL, errno, "energy") : 0;
}

void sampler_describe(struct buf *dst)
{
    static struct sampler s;

    s.ndevices = 0;
    add_gpus(&s, MOST_DEVICES / 2);
    size_t ngpus = s.ndevices, npackages = add_packages(&s);
    buf_add(dst, ngpus ? "of GPUs: by NVML; "
                       : "of GPUs: not measured (no NVML, or no GPU that it measures); ");
    buf_add(dst, s.ndevices > ngpus ? "of CPU packages: by RAPL"
                 : npackages ? "of CPU packages: not measured (RAPL is readable for root only)"
                             : "of CPU packages: not measured (no RAPL)");
}
