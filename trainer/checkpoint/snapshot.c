/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of files give their order; the hash in the metadata shows whether one is intact. */
#include "config.h"
#include "trainer/checkpoint/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/files.h"
#include "src/log.h"
#include "src/mem.h"

#define PREFIX "state-"
#define SUFFIX ".safetensors"
#define KEPT 2

static bool has_prefix(const char *name)
{
    return strncmp(name, PREFIX, strlen(PREFIX)) == 0;
}

static int is_complete(const struct dirent *d)
{
    size_t n = strlen(d->d_name), suffix = strlen(SUFFIX);

    return has_prefix(d->d_name) && n > suffix && strcmp(d->d_name + n - suffix, SUFFIX) == 0;
}

static int is_temporary(const struct dirent *d)
{
    return strstr(d->d_name, ".tmp-") != NULL;
}

static int newest_first(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*b)->d_name, (*a)->d_name);
}

static void free_names(struct dirent **names, int n)
{
    for (int i = 0; i < n; i++)
        free(names[i]);
    if (n >= 0)
        free(names);
}

static void remove_files(const char *dir, int (*choose)(const struct dirent *d), int kept)
{
    struct dirent **names;
    char path[PATH_MAX];
    int n = files_scan(dir, &names, choose, newest_first);

    for (int i = kept; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]->d_name);
        files_unlink(path);
    }
    free_names(names, n);
}

int snapshot_write(const char *dir, int epoch, size_t items, const char *state,
                   const struct safetensors_entry *list, size_t n, struct err *e)
{
    char path[PATH_MAX];
    const char *metadata[] = {"state", state, "sha256", SAFETENSORS_HASH, NULL};

    if (files_make_folder(dir))
        return files_error(e, ERR_INTERNAL, errno, "cannot make the folder", dir);
    snprintf(path, sizeof path, "%s/" PREFIX "%07d-%010zu" SUFFIX, dir, epoch, items);
    if (safetensors_write(path, metadata, list, n, e))
        return -1;
    remove_files(dir, is_complete, KEPT);
    return 0;
}

static int open_one(const char *dir, const char *name, struct snapshot *s, struct err *e)
{
    *s = (struct snapshot){.path = mem_textf(e, "%s/%s", dir, name)};
    if (!s->path)
        return -1;
    s->file = safetensors_open(s->path, e);
    s->state = s->file ? safetensors_metadata(s->file, "state") : NULL;
    if (s->file && !s->state)
        err_set(e, ERR_CHECKPOINT, "%s: is not a training state", s->path);
    else if (s->file && safetensors_check_hash(s->file, "sha256", e) == 0)
        return 0;
    snapshot_close(s);
    return -1;
}

int snapshot_open(const char *dir, struct snapshot *s, struct err *e)
{
    struct dirent **names;
    struct err damage;
    int found = 0, n = files_scan(dir, &names, is_complete, newest_first);

    *s = (struct snapshot){0};
    if (n < 0 && errno == ENOENT)
        return 0;
    if (n < 0)
        return files_error(e, ERR_CHECKPOINT, errno, "cannot read the checkpoints in", dir);
    for (int i = 0; i < n && !found; i++) {
        found = open_one(dir, names[i]->d_name, s, &damage) == 0;
        if (!found)
            log_warn("%s; this checkpoint is not used", damage.text);
    }
    free_names(names, n);
    return found;
}

void snapshot_close(struct snapshot *s)
{
    safetensors_close(s->file);
    free(s->path);
    *s = (struct snapshot){0};
}

bool snapshot_exists(const char *dir)
{
    struct dirent **names;
    int n = files_scan(dir, &names, is_complete, NULL);

    free_names(names, n);
    return n > 0;
}

void snapshot_clean(const char *dir, bool older)
{
    remove_files(dir, is_temporary, 0);
    if (older)
        remove_files(dir, is_complete, 1);
}
