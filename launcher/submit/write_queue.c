/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submit/write_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NFILES 256 /* above the number of files that this program has open */

struct write_queue_step {
    enum { FOLDER, TEXT, LINK } kind;
    char *path;
    char *text; /* the text of a file, or the target of a link */
    mode_t mode;
    bool made; /* it did not exist before, and now exists under its final name */
};

static int add_step(struct write_queue *s, struct write_queue_step step, const char *path,
                    const char *text, struct err *e)
{
    struct write_queue_run *run = &s->runs[s->count - 1];
    struct write_queue_step *grown = realloc(run->steps, (run->nsteps + 1) * sizeof *grown);

    if (!grown)
        return err_errno(e, ERR_INTERNAL, errno, "%s", path);
    run->steps = grown;
    step.path = strdup(path);
    step.text = text ? strdup(text) : NULL;
    run->steps[run->nsteps++] = step; /* freed with the other steps, even if incomplete */
    return step.path && (!text || step.text) ? 0 : err_errno(e, ERR_INTERNAL, ENOMEM, "%s", path);
}

int write_queue_add_folder(struct write_queue *s, const char *path, struct err *e)
{
    return add_step(s, (struct write_queue_step){.kind = FOLDER}, path, NULL, e);
}

int write_queue_add_run(struct write_queue *s, const char *folder, struct err *e)
{
    struct write_queue_run *grown = realloc(s->runs, (s->count + 1) * sizeof *grown);

    if (!grown)
        return err_errno(e, ERR_INTERNAL, errno, "%s", folder);
    s->runs = grown;
    s->runs[s->count++] = (struct write_queue_run){0};
    return write_queue_add_folder(s, folder, e);
}

int write_queue_add_file(struct write_queue *s, const char *path, const char *text, mode_t mode,
                         struct err *e)
{
    return add_step(s, (struct write_queue_step){.kind = TEXT, .mode = mode}, path, text, e);
}

int write_queue_add_link(struct write_queue *s, const char *path, const char *target, struct err *e)
{
    return add_step(s, (struct write_queue_step){.kind = LINK}, path, target, e);
}

/* Writes a file in a new folder, which only this process uses, under its final name. */
static int write_new(struct write_queue_step *step, struct err *e)
{
    int fd = open(step->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, step->mode);
    size_t n = strlen(step->text);
    ssize_t written = fd < 0 ? -1 : write(fd, step->text, n);
    int code = fd >= 0 && written >= 0 ? ENOSPC : errno; /* a short write sets no errno */

    step->made = fd >= 0;
    if (fd >= 0 && close(fd) && written == (ssize_t)n) {
        written = -1;
        code = errno;
    }
    return written == (ssize_t)n ? 0 : err_errno(e, ERR_INTERNAL, code, "cannot write %s",
                                                 step->path);
}

static int take_step(struct write_queue_step *step, struct write_queue_run *run, bool is_first,
                     struct err *e)
{
    if (step->kind == TEXT && run->steps[0].made && !is_first)
        return write_new(step, e);
    if (step->kind == TEXT)
        return atomicfile_batch_add(&run->files, step->path, step->text, strlen(step->text),
                                    step->mode, e);
    int rc = step->kind == FOLDER ? mkdir(step->path, 0777) : symlink(step->text, step->path);
    step->made = rc == 0;
    return rc && errno != EEXIST ? err_errno(e, ERR_INTERNAL, errno, "%s", step->path) : 0;
}

static int write_run(struct write_queue_run *run, struct err *e)
{
    size_t first = 0; /* the step that writes the first file */

    while (first < run->nsteps && run->steps[first].kind != TEXT)
        first++;
    for (size_t i = 0; i < run->nsteps; i++)
        if (i != first && take_step(&run->steps[i], run, false, e))
            return -1;
    if (first == run->nsteps)
        return 0;
    if (take_step(&run->steps[first], run, true, e))
        return -1;
    if (!run->steps[0].made)
        return 0;
    run->steps[first].made = atomicfile_batch_rename(&run->files, e) == 0;
    return run->steps[first].made ? 0 : -1;
}

/* Opens a folder on the file system of all files. Returns -1 if there are no runs, or if it cannot
 * be opened. */
static int open_first(const struct write_queue *s)
{
    return s->count ? open(s->runs[0].steps[0].path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
}

static int sync_runs(const struct write_queue *s, struct err *e)
{
    int fd = open_first(s);
    int rc = s->count && (fd < 0 || syncfs(fd)) ? -1 : 0;

    if (rc)
        err_errno(e, ERR_INTERNAL, errno, "cannot write %s", s->runs[0].steps[0].path);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Takes the next run that no thread has begun and returns its index, or count if none is left or
 * one failed. */
static size_t next_run(struct write_queue *s)
{
    pthread_mutex_lock(&s->lock);
    size_t i = s->rc || s->next == s->count ? s->count : s->next++;
    pthread_mutex_unlock(&s->lock);
    return i;
}

static void *write_runs(void *arg)
{
    struct write_queue *s = arg;
    struct err e;
    size_t i;

    while ((i = next_run(s)) < s->count) {
        int rc = write_run(&s->runs[i], &e);
        pthread_mutex_lock(&s->lock);
        s->runs[i].written = rc == 0;
        if (rc && (!s->rc || i < s->failed)) {
            s->rc = rc;
            s->failed = i;
            s->e = e;
        }
        pthread_cond_broadcast(&s->progress);
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

void write_queue_start(struct write_queue *s)
{
    if (!s->count)
        return;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->progress, NULL);
    s->begun = true;
    while (s->nthreads < WRITE_QUEUE_NTHREADS && s->nthreads < s->count &&
           pthread_create(&s->threads[s->nthreads], NULL, write_runs, s) == 0)
        s->nthreads++;
    if (!s->nthreads)
        write_runs(s);
}

int write_queue_wait(struct write_queue *s, size_t i, struct err *e)
{
    struct write_queue_run *run = &s->runs[i];
    int rc;

    pthread_mutex_lock(&s->lock);
    /* threads have begun all runs before a failed one */
    while (!run->written && !(s->rc && s->failed <= i))
        pthread_cond_wait(&s->progress, &s->lock);
    bool failed = s->rc && s->failed <= i;
    rc = failed ? -1 : atomicfile_batch_rename(&run->files, e);
    if (failed)
        *e = s->e;
    run->taken = run->taken || rc == 0;
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static void join(struct write_queue *s)
{
    while (s->nthreads)
        pthread_join(s->threads[--s->nthreads], NULL);
}

/* Runs in the child: closes the parent's files, among them its lock and pipes whose readers wait
 * for their end, and syncs. */
static void sync_alone(const struct write_queue *s)
{
    int fd = open_first(s);

    setsid();
    for (int other = 0; other < NFILES; other++)
        if (other != fd)
            close(other);
    _exit(fd >= 0 && syncfs(fd) == 0 ? 0 : 1);
}

int write_queue_sync(struct write_queue *s, struct err *e)
{
    if (!s->count)
        return 0;
    join(s);
    pid_t pid = fork();
    if (pid == 0)
        sync_alone(s);
    return pid > 0 ? 0 : sync_runs(s, e);
}

int write_queue_commit(struct write_queue *s, struct err *e)
{
    write_queue_start(s);
    for (size_t i = 0; i < s->count; i++)
        if (write_queue_wait(s, i, e))
            return -1;
    join(s);
    return sync_runs(s, e);
}

/* Removes everything that was made for a run, unless the run was taken. */
static void drop_run(struct write_queue_run *run)
{
    atomicfile_batch_abort(&run->files);
    for (size_t i = run->nsteps; i-- > 0;) {
        struct write_queue_step *step = &run->steps[i];
        if (step->made && !run->taken && step->kind == FOLDER)
            rmdir(step->path);
        else if (step->made && !run->taken)
            unlink(step->path);
        free(step->path);
        free(step->text);
    }
    free(run->steps);
}

void write_queue_destroy(struct write_queue *s)
{
    if (s->nthreads) {
        pthread_mutex_lock(&s->lock);
        s->rc = -1;
        pthread_mutex_unlock(&s->lock);
        join(s);
    }
    for (size_t i = s->count; i-- > 0;)
        drop_run(&s->runs[i]);
    if (s->begun) {
        pthread_mutex_destroy(&s->lock);
        pthread_cond_destroy(&s->progress);
    }
    free(s->runs);
    *s = (struct write_queue){0};
}
