/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/collect/log/log_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

void log_name_encode(char dst[LOG_NAME_SIZE], const char *engine, int gpus, long seed, bool first)
{
    char part[64] = "", tail[32] = "";

    if (strcmp(engine, "horovod") == 0)
        strcpy(part, "hvd_");
    else if (strcmp(engine, "embedded") && strcmp(engine, "native"))
        snprintf(part, sizeof part, "%.60s_", engine);
    if (!first)
        snprintf(tail, sizeof tail, "_s%ld", seed);
    snprintf(dst, LOG_NAME_SIZE, "log_%s%d%s.csv", part, gpus, tail);
}

/* Reads a positive number of at most 7 digits at *p and advances *p past it. Returns 0 if there
 * is none. */
static int take_number(const char **p)
{
    int value = 0;

    for (int digits = 0; isdigit((unsigned char)**p); (*p)++) {
        if (++digits > 7)
            return 0;
        value = 10 * value + (**p - '0');
    }
    return value;
}

const char *log_name_end(int i)
{
    static const char *const ends[] = {".csv", ".log", ".txt", ".json", ".jsonl", ".tfevents",
                                       NULL};

    return ends[i];
}

bool log_name_ends(const char *name)
{
    const char *dot = strrchr(name, '.'), *end;

    for (int i = 0; dot && (end = log_name_end(i)); i++)
        if (strcmp(dot, end) == 0)
            return true;
    return false;
}

void log_name_set_end(char name[LOG_NAME_SIZE], const char *path)
{
    const char *own = strstr(path, ".tfevents") ? ".tfevents"
                      : log_name_ends(path)     ? strrchr(path, '.')
                                                : ".txt";
    size_t n = (size_t)(strrchr(name, '.') - name);

    snprintf(name + n, LOG_NAME_SIZE - n, "%s", own);
}

bool log_name_decode(const char *name, char *engine, size_t engine_size, int *gpus, long *seed)
{
    const char *p = name + 4, *end;

    if (strncmp(name, "log_", 4))
        return false;
    snprintf(engine, engine_size, "native");
    if (!isdigit((unsigned char)*p)) {
        for (end = p; *end && !(*end == '_' && isdigit((unsigned char)end[1])); end++)
            if (!isalnum((unsigned char)*end) && !strchr("._-", *end))
                return false;
        if (!*end)
            return false;
        snprintf(engine, engine_size, "%.*s", (int)(end - p), p);
        if (strcmp(engine, "hvd") == 0)
            snprintf(engine, engine_size, "horovod");
        p = end + 1;
    }
    *gpus = take_number(&p);
    *seed = 1;
    if (strncmp(p, "_s", 2) == 0) {
        p += 2;
        *seed = take_number(&p);
    }
    return *gpus > 0 && *seed > 0 && *p == '.' && p == strrchr(p, '.') && log_name_ends(p);
}
