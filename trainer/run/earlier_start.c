/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/run/earlier_start.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/clock.h"
#include "src/files.h"
#include "src/run/marker.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/json/cjson.h"

/* The results of a start in its folder, except train.trace's file, which the next start overwrites:
 * the markers first, the checkpoint last. */
#define CHECKPOINT "checkpoint"
static const char *const products[] = {"DONE", "FAILED", "record.jsonl", "log.csv", "images.csv",
                                       "tensorboard", "best", CHECKPOINT};
#define DYING_S 3
#define NPRODUCTS (sizeof products / sizeof *products)

static bool exists_in(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return lstat(path, &st) == 0;
}

static int move_product(const char *dir, const char *to, const char *name, struct err *e)
{
    char from_path[PATH_MAX], to_path[PATH_MAX + NAME_MAX];

    snprintf(from_path, sizeof from_path, "%s/%s", dir, name);
    snprintf(to_path, sizeof to_path, "%s/%s", to, name);
    return files_rename(from_path, to_path, 0)
               ? err_errno(e, ERR_INTERNAL, errno, "cannot move %s to %s", from_path, to_path)
               : 0;
}

/* Returns whether name is that of a product whose writer was killed. */
static bool is_unfinished(const char *name)
{
    for (size_t i = 0; i < NPRODUCTS; i++) {
        size_t n = strlen(products[i]);
        if (strncmp(name, products[i], n) == 0 && strncmp(name + n, ".tmp-", 5) == 0)
            return true;
    }
    return false;
}

static void remove_unfinished(const char *dir)
{
    DIR *d = files_list(dir);

    for (const struct dirent *entry; d && (entry = readdir(d)) != NULL;)
        if (is_unfinished(entry->d_name))
            unlinkat(dirfd(d), entry->d_name, 0);
    if (d)
        closedir(d);
}

/* Moves the products to the first restart-K that does not exist yet. Checkpoints stay if the run
 * can continue from one. */
static int archive_start(const char *dir, bool has_snapshot, struct err *e)
{
    char to[PATH_MAX];
    int rc = 0, k = 1;

    do
        snprintf(to, sizeof to, "%s/restart-%d", dir, k++);
    while ((rc = files_mkdir(to)) && errno == EEXIST);
    if (rc)
        return files_error(e, ERR_INTERNAL, errno, "cannot make the folder", to);
    for (size_t i = 0; i < NPRODUCTS && rc == 0; i++)
        if (exists_in(dir, products[i]) && !(has_snapshot && strcmp(products[i], CHECKPOINT) == 0))
            rc = move_product(dir, to, products[i], e);
    return rc;
}

/* Returns whether another process holds the lock of the record, and keeps it for DYING_S: the ranks
 * of a start that was killed end a moment later. Only a lock for writing counts, which those who
 * may only read cannot take. False on file systems without locks. */
static bool is_being_written(const char *dir)
{
    char path[PATH_MAX];
    double until = clock_now() + DYING_S;
    struct flock lock;
    bool locked;

    snprintf(path, sizeof path, "%s/record.jsonl", dir);
    int fd = files_open(path, O_RDONLY, 0);
    do {
        lock = (struct flock){.l_type = F_RDLCK, .l_whence = SEEK_SET};
        locked = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    } while (locked && clock_now() < until && (clock_sleep(0.01), true));
    if (fd >= 0)
        close(fd);
    return locked;
}

static bool is_progress(const char *line)
{
    static const char *const kinds[] = {"epoch", "steps", "checkpoint"};
    cJSON *o = cJSON_Parse(line);
    bool found = false;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        found |= strcmp(cjson_text(o, "kind"), kinds[i]) == 0;
    cJSON_Delete(o);
    return found;
}

/* Returns whether the record in dir has an epoch or a checkpoint, or cannot be read. */
static bool has_trained(const char *dir)
{
    char path[PATH_MAX], *line = NULL;
    size_t size = 0;

    snprintf(path, sizeof path, "%s/record.jsonl", dir);
    FILE *f = files_stream(path, "r", FILES_TEXT_MAX);
    bool trained = !f && errno != ENOENT;
    while (f && !trained && getline(&line, &size, f) >= 0)
        trained = is_progress(line);
    if (f)
        fclose(f);
    free(line);
    return trained;
}

/* Returns whether the start in dir failed before its first epoch or checkpoint, for example by a
 * wrong setting. */
static bool has_only_failed(const char *dir)
{
    return exists_in(dir, "FAILED") && !exists_in(dir, "DONE") && !exists_in(dir, "log.csv") &&
           !exists_in(dir, CHECKPOINT) && !has_trained(dir);
}

int earlier_start_clear(const char *dir, bool *again, struct err *e)
{
    const char *restarts = getenv("SLURM_RESTART_COUNT"), *found = NULL;
    bool restarted = restarts && atoi(restarts) > 0;
    char checkpoint[PATH_MAX];

    snprintf(checkpoint, sizeof checkpoint, "%s/" CHECKPOINT, dir);
    bool has_snapshot = snapshot_exists(checkpoint);
    *again = has_snapshot || exists_in(dir, "record.jsonl");
    for (size_t i = 0; i < NPRODUCTS && !found; i++)
        if (exists_in(dir, products[i]))
            found = products[i];
    if (!found)
        return 0;
    if (!marker_has_start(dir) && is_being_written(dir))
        return err_set(e, ERR_CONFIG, "%s: another process is writing this run's results", dir);
    if (!restarted && has_only_failed(dir)) {
        *again = false;
        return archive_start(dir, false, e);
    }
    if (strcmp(found, "DONE") == 0 || (strcmp(found, "FAILED") == 0 && !restarted) || !*again)
        return err_set(e, ERR_CONFIG, "%s already holds %s of an earlier run, which is not "
                       "overwritten; choose another folder with --out%s", dir, found,
                       has_snapshot ? " (--resume with this one continues from its checkpoint)"
                                    : ", or remove that one");
    remove_unfinished(dir);
    return archive_start(dir, has_snapshot, e);
}
