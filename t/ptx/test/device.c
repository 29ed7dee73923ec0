/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads a module when a kernel of it is launched first. What the program allocates is global
 * memory: it is linked with -Wl,--wrap=malloc and the like. */
#include "config.h"

#include "t/ptx/test/device.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static struct ptx *set;

__attribute__((noreturn, format(printf, 1, 2))) static void stop(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("ptx: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

static const char *setting(const char *name, const char *usual)
{
    const char *value = getenv(name);

    value = value && *value ? value : usual;
    if (!value)
        stop("%s is not set", name);
    return value;
}

/* NULL: there is no such file. */
static char *read_text(const char *dir, const char *name, const char *suffix)
{
    char path[4096];
    size_t room = 1 << 16, n = 0;

    snprintf(path, sizeof path, "%s/%s%s", dir, name, suffix);
    FILE *f = fopen(path, "r");
    if (!f)
        return NULL;
    char *text = malloc(room);
    while (text && (n += fread(text + n, 1, room - n - 1, f)) == room - 1)
        text = realloc(text, room *= 2);
    if (!text)
        stop("out of memory");
    text[n] = '\0';
    fclose(f);
    return text;
}

/* ".entry _Z4relu9some_args(" */
static bool defines(const char *text, const char *kernel)
{
    size_t n = strlen(kernel);
    char mangled[256];

    int length = snprintf(mangled, sizeof mangled, "%zu%s", n, kernel);
    for (const char *at = strstr(text, ".entry "); at; at = strstr(at, ".entry ")) {
        at += strlen(".entry ");
        const char *name = at + strcspn(at, "0123456789(");
        if (strncmp(name, mangled, (size_t)length) == 0)
            return true;
    }
    return false;
}

static void add_module(const char *dir, const char *name, const char *text)
{
    char why[PTX_WHY], *log = read_text(dir, name, ".log");

    if (!ptx_add(set, name, text, why))
        stop("%s", why);
    if (log)
        ptx_add_registers(set, log);
    free(log);
}

static void find_module(const char *kernel)
{
    const char *dir = setting("PTX_DIR", NULL);
    DIR *d = opendir(dir);

    if (!d)
        stop("%s cannot be read", dir);
    for (struct dirent *e = readdir(d); e && !ptx_has(set, kernel); e = readdir(d)) {
        char *end = strrchr(e->d_name, '.');
        char *text = end && strcmp(end, ".ptx") == 0 ? read_text(dir, e->d_name, "") : NULL;

        if (text && defines(text, kernel)) {
            *end = '\0';
            add_module(dir, e->d_name, text);
        }
        free(text);
    }
    closedir(d);
}

static FILE *launches; /* or NULL */

static void report(void)
{
    const char *path = getenv("PTX_REPORT");
    FILE *f = path && *path ? fopen(path, "w") : NULL;

    if (f) {
        ptx_report(set, f);
        fclose(f);
    }
    if (launches)
        fclose(launches);
    ptx_free(set);
}

void ptx_device_run(struct ptx_launch launch)
{
    char why[PTX_WHY];

    launch.seed = strtoull(setting("PTX_SEED", "1"), NULL, 10);
    if (!set) {
        const char *arch = setting("EMULATE_CAPABILITY", "90");
        set = ptx_new((unsigned)strtoul(arch, NULL, 10));
        if (!set)
            stop("EMULATE_CAPABILITY=%s is not an architecture that limits.c knows", arch);
        if (getenv("PTX_LAUNCHES") && (launches = fopen(getenv("PTX_LAUNCHES"), "w")))
            ptx_count_footprints(set);
        atexit(report);
    }
    if (!ptx_has(set, launch.kernel))
        find_module(launch.kernel);
    if (!ptx_launch(set, &launch, why))
        stop("%s", why);
    if (launches)
        ptx_report_launch(set, &launch, launches);
}

/* ---- what the program allocates */

void *__real_malloc(size_t nbytes);
void *__real_calloc(size_t n, size_t nbytes);
void *__real_realloc(void *p, size_t nbytes);
void *__real_aligned_alloc(size_t align, size_t nbytes);
void __real_free(void *p);
void *__wrap_malloc(size_t nbytes);
void *__wrap_calloc(size_t n, size_t nbytes);
void *__wrap_realloc(void *p, size_t nbytes);
void *__wrap_aligned_alloc(size_t align, size_t nbytes);
void __wrap_free(void *p);

static _Thread_local bool busy; /* what registering allocates is not registered */

static void *add(void *p, size_t nbytes)
{
    if (p && !busy) {
        busy = true;
        ptx_memory_add(p, nbytes);
        busy = false;
    }
    return p;
}

static void take(void *p)
{
    if (p && !busy) {
        busy = true;
        ptx_memory_remove(p);
        busy = false;
    }
}

void *__wrap_malloc(size_t nbytes)
{
    return add(__real_malloc(nbytes), nbytes);
}

void *__wrap_calloc(size_t n, size_t nbytes)
{
    return add(__real_calloc(n, nbytes), n * nbytes);
}

void *__wrap_realloc(void *p, size_t nbytes)
{
    take(p);
    return add(__real_realloc(p, nbytes), nbytes);
}

void *__wrap_aligned_alloc(size_t align, size_t nbytes)
{
    return add(__real_aligned_alloc(align, nbytes), nbytes);
}

void __wrap_free(void *p)
{
    take(p);
    __real_free(p);
}
