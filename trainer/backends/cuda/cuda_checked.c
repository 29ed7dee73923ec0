/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/cuda_checked.h"

#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/clock.h"
#include "src/hash.h"
#include "trainer/backends/cuda/cuda_backend.h"
#include "trainer/backends/cuda/cudnn/cudnn_library.h"
#include "trainer/backends/cuda/runtime/cuda_info.h"
#include "trainer/core/memo.h"

#define EVERY_S 1.0 /* between writes of the file */
#define DAY_S 86400

/* A value is "right DAY CONDITIONS". */
static bool read_right(const char *value, long *day, const char **conditions)
{
    int used = 0;

    if (sscanf(value, "right %ld %n", day, &used) != 1 || !used)
        return false;
    *conditions = value + used;
    return strncmp(*conditions, "driver ", 7) == 0;
}

static bool is_sound_check(const char *value)
{
    const char *conditions;
    long day;

    return read_right(value, &day, &conditions);
}

static struct memo checks = {.name = "kernel-checks",
                             .what = "the checks of kernels",
                             .loss = "kernels are checked again at each start",
                             .is_sound = is_sound_check};

/* ---- conditions */

/* Copies the id among the notes of a segment to dst as hexadecimal digits. */
static void read_notes(const char *p, size_t n, size_t align, char dst[64])
{
    while (n >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, p, sizeof note);
        size_t name = (note.n_namesz + 3) / 4 * 4, at = sizeof note + name;
        size_t all = (at + note.n_descsz + align - 1) / align * align;
        if (all > n || at + note.n_descsz > n)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && memcmp(p + sizeof note, "GNU", 4) == 0)
            for (size_t i = 0; i < note.n_descsz && i < 20; i++)
                snprintf(dst + 2 * i, 3, "%02x", (unsigned)(unsigned char)p[at + i]);
        p += all;
        n -= all;
    }
}

/* The first object is the program. */
static int read_program(struct dl_phdr_info *info, size_t size, void *dst)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_NOTE)
            read_notes((const char *)(info->dlpi_addr + h->p_vaddr), h->p_memsz,
                       h->p_align < 4 ? 4 : h->p_align, dst);
    }
    return 1;
}

/* Sets dst to the driver's own version, as nvidia-smi prints it, or "". */
static void read_driver(char *dst, int size)
{
    FILE *f = fopen("/sys/module/nvidia/version", "re");

    *dst = 0;
    if (f && fgets(dst, size, f))
        dst[strcspn(dst, " \t\n")] = 0;
    if (f)
        (void)fclose(f);
}

struct identity {
    int gpu;
    char uuid[48]; /* "": the GPU or the build cannot be identified */
    char driver[64], build[64];
};

static void identify_gpu(int gpu, struct identity *id)
{
    struct cuda_info info;
    char version[32];

    *id = (struct identity){.gpu = gpu};
    cuda_info_read_gpus(&info);
    (void)dl_iterate_phdr(read_program, id->build);
    read_driver(version, sizeof version);
    snprintf(id->driver, sizeof id->driver, "%d %s", info.driver, version);
    if (*id->build && gpu < info.ngpus)
        snprintf(id->uuid, sizeof id->uuid, "%s", info.gpus[gpu].uuid);
}

/* Sets key and conditions. Returns -1 if this build or this GPU cannot be identified. */
static int describe_check(int gpu, const struct kernel *kernel, const struct trial_problem *problem,
                          char key[MEMO_KEY], char conditions[MEMO_VALUE])
{
    static _Thread_local struct identity id = {.gpu = -1};
    struct trial_problem p;
    struct err e;
    int index = 0;

    if (id.gpu != gpu)
        identify_gpu(gpu, &id);
    if (!*id.uuid)
        return -1;
    while (cuda_backend.kernels[index] != kernel)
        index++;
    memcpy(&p, problem, sizeof p); /* with its padding */
    p.kernel = NULL;
    p.kind = NULL;
    /* Only cuDNN's kernels have a release. */
    const struct cudnn_calls *dnn = kernel->release ? cudnn_library_open(&e) : NULL;
    snprintf(key, MEMO_KEY, "%s %s %d %016" PRIx64, id.uuid, kernel->kind->name, index,
             hash_bytes(HASH_BEGIN, &p, sizeof p));
    snprintf(conditions, MEMO_VALUE, "driver %s cuDNN %zu build %s", id.driver,
             dnn ? dnn->get_version() : 0, id.build);
    return 0;
}

/* ---- the interface */

bool cuda_checked_find(int gpu, const struct kernel *kernel, const struct trial_problem *p)
{
    char key[MEMO_KEY], now[MEMO_VALUE], value[MEMO_VALUE];
    const char *then;
    long day, age;

    if (describe_check(gpu, kernel, p, key, now) || !memo_find(&checks, key, value) ||
        !read_right(value, &day, &then))
        return false;
    age = (long)(time(NULL) / DAY_S) - day;
    return age >= 0 && age <= CHECKED_DAYS && strcmp(now, then) == 0;
}

void cuda_checked_add(int gpu, const struct kernel *kernel, const struct trial_problem *p)
{
    static double written; /* by whichever thread, now and then: a race costs a write */
    char key[MEMO_KEY], now[MEMO_VALUE], value[MEMO_VALUE + 32];

    if (describe_check(gpu, kernel, p, key, now))
        return;
    snprintf(value, sizeof value, "right %ld %s", (long)(time(NULL) / DAY_S), now);
    memo_add(&checks, key, value);
    if (clock_now() < written + EVERY_S)
        return;
    memo_save(&checks);
    written = clock_now();
}

void cuda_checked_save(void)
{
    memo_save(&checks);
}
