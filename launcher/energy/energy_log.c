/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/energy/energy.h"

#include <dirent.h>
#include <math.h>

#include "launcher/host/path.h"
#include "src/atomicfile.h"
#include "src/files.h"

#define MAX_FILE (64 << 20)
/* the columns of SAMPLER_HEADER */
enum { TIME, DEVICE, JOULES, WATTS, BUSY, THROTTLED, MEMORY, MHZ, START, NOTE, NCELLS };

/* Returns the track of a device in the tracks from `first`, which are those of one file, or a new
 * one. */
static struct energy_track *find_track(struct energy_log *log, size_t first, char *const *cells,
                                       const char *host, struct err *e)
{
    for (size_t i = first; i < log->n; i++)
        if (strcmp(log->tracks[i].device, cells[DEVICE]) == 0)
            return &log->tracks[i];
    if (mem_grow(&log->tracks, log->n, &log->capacity, sizeof *log->tracks, e))
        return NULL;
    struct energy_track *t = &log->tracks[log->n++];
    *t = (struct energy_track){.gpu = strncmp(cells[DEVICE], "cpu", 3) != 0};
    snprintf(t->device, sizeof t->device, "%s", cells[DEVICE]);
    snprintf(t->host, sizeof t->host, "%s", host);
    snprintf(t->start, sizeof t->start, "%s", cells[START]);
    return t;
}

static double decode_number(const char *cell)
{
    char *end;
    double value = strtod(cell, &end);

    return end == cell || *end ? NAN : value;
}

static int add_row(struct energy_log *log, size_t first, char *const *cells, const char *host,
                   struct err *e)
{
    double time = decode_number(cells[TIME]), joules = decode_number(cells[JOULES]);

    if (!isfinite(time) || !isfinite(joules))
        return 0; /* the header */
    struct energy_track *t = find_track(log, first, cells, host, e);
    size_t capacity = t ? t->capacity : 0;
    if (!t || mem_grow(&t->times, t->n, &capacity, sizeof *t->times, e) ||
        mem_grow(&t->joules, t->n, &t->capacity, sizeof *t->joules, e))
        return -1;
    t->times[t->n] = time;
    t->joules[t->n++] = joules;
    t->watts = decode_number(cells[WATTS]);
    t->busy = decode_number(cells[BUSY]);
    t->throttled = decode_number(cells[THROTTLED]);
    t->memory_mib = decode_number(cells[MEMORY]);
    if (*cells[NOTE] && !t->spoilt)
        snprintf(t->note, sizeof t->note, "%s", csv_text(cells[NOTE]));
    t->spoilt = *t->note && strncmp(t->note, "XID ", 4) != 0;
    return 0;
}

int energy_log_decode(struct energy_log *log, char *text, const char *host, struct err *e)
{
    char *cells[NCELLS + 1];
    size_t first = log->n;
    int rc = 0;

    while (rc == 0 && text && strchr(text, '\n'))
        if (csv_split(strsep(&text, "\n"), ',', cells, NCELLS + 1) == NCELLS)
            rc = add_row(log, first, cells, host, e);
    return rc;
}

/* Reads a file whose name is energy-HOST-PID.csv; others are none of a sampler. */
static int read_file(struct energy_log *log, const char *dir, const char *name, struct err *e)
{
    const char *end = strrchr(name, '-');
    char path[PATH_MAX], host[72];
    size_t size;

    if (strncmp(name, "energy-", 7) != 0 || end < name + 7 || !strstr(end, ".csv"))
        return 0;
    snprintf(host, sizeof host, "%.*s", (int)(end - name - 7), name + 7);
    char *text = atomicfile_read(path_format(path, "%s/%s", dir, name), MAX_FILE, &size, e);
    int rc = text ? energy_log_decode(log, text, host, e) : -1;
    free(text);
    return rc;
}

int energy_log_read(struct energy_log *log, const char *attempt_dir, struct err *e)
{
    DIR *dir = files_list(attempt_dir);
    const struct dirent *entry;
    int rc = 0;

    while (rc == 0 && dir && (entry = readdir(dir)))
        rc = read_file(log, attempt_dir, entry->d_name, e);
    if (dir)
        closedir(dir);
    return rc;
}

void energy_log_destroy(struct energy_log *log)
{
    for (size_t i = 0; i < log->n; i++) {
        free(log->tracks[i].times);
        free(log->tracks[i].joules);
    }
    free(log->tracks);
    *log = (struct energy_log){0};
}

double energy_log_until(const struct energy_track *t, double time)
{
    size_t i = 0;

    while (i < t->n && t->times[i] <= time)
        i++;
    if (i == 0 || i == t->n)
        return i ? t->joules[t->n - 1] : 0;
    double part = (time - t->times[i - 1]) / (t->times[i] - t->times[i - 1]);
    return t->joules[i - 1] + part * (t->joules[i] - t->joules[i - 1]);
}

double energy_log_seconds(const struct energy_track *t)
{
    return t->times[t->n - 1] - t->times[0];
}
