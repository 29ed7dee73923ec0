/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/staging.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct staging_step {
    enum { FOLDER, TEXT, LINK } kind;
    char *path;
    char *text; /* of a file, or where a link leads */
    mode_t mode;
    bool made; /* a folder or link that was not there before */
};

static int add(struct staging *s, struct staging_step step, const char *path, const char *text,
               struct err *e)
{
    struct staging_run *run = &s->runs[s->count - 1];
    struct staging_step *grown = realloc(run->steps, (run->nsteps + 1) * sizeof *grown);

    if (!grown)
        return err_errno(e, ERR_INTERNAL, errno, "%s", path);
    run->steps = grown;
    step.path = strdup(path);
    step.text = text ? strdup(text) : NULL;
    run->steps[run->nsteps++] = step; /* freed with the others, whole or not */
    return step.path && (!text || step.text) ? 0 : err_errno(e, ERR_INTERNAL, ENOMEM, "%s", path);
}

int staging_add_folder(struct staging *s, const char *path, struct err *e)
{
    return add(s, (struct staging_step){.kind = FOLDER}, path, NULL, e);
}

int staging_add_run(struct staging *s, const char *folder, struct err *e)
{
    struct staging_run *grown = realloc(s->runs, (s->count + 1) * sizeof *grown);

    if (!grown)
        return err_errno(e, ERR_INTERNAL, errno, "%s", folder);
    s->runs = grown;
    s->runs[s->count++] = (struct staging_run){0};
    return staging_add_folder(s, folder, e);
}

int staging_add_file(struct staging *s, const char *path, const char *text, mode_t mode, struct err *e)
{
    return add(s, (struct staging_step){.kind = TEXT, .mode = mode}, path, text, e);
}

int staging_add_link(struct staging *s, const char *path, const char *target, struct err *e)
{
    return add(s, (struct staging_step){.kind = LINK}, path, target, e);
}

static int take_step(struct staging_step *step, struct atomicfile_batch *files, struct err *e)
{
    if (step->kind == TEXT)
        return atomicfile_batch_add(files, step->path, step->text, strlen(step->text), step->mode, e);
    int rc = step->kind == FOLDER ? mkdir(step->path, 0777) : symlink(step->text, step->path);
    step->made = rc == 0;
    return rc && errno != EEXIST ? err_errno(e, ERR_INTERNAL, errno, "%s", step->path) : 0;
}

static int write_run(struct staging_run *run, struct err *e)
{
    for (size_t i = 0; i < run->nsteps; i++)
        if (take_step(&run->steps[i], &run->files, e))
            return -1;
    run->named = run->steps[0].made; /* nobody can see old files of it */
    return run->named ? atomicfile_batch_rename(&run->files, e) : 0;
}

/* One wait for the file system, which holds all of them. */
static int sync_runs(const struct staging *s, struct err *e)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->runs[i].files.count)
            return atomicfile_batch_sync(&s->runs[i].files, e);
    return 0;
}

/* Once all have their names. 1 if that will not be. */
static int await_names(struct staging *s)
{
    bool all = true;
    int rc;

    for (size_t i = 0; i < s->count; i++)
        all = all && s->runs[i].named;
    pthread_mutex_lock(&s->lock);
    while (!all && s->ntaken < s->count && !s->stop)
        pthread_cond_wait(&s->progress, &s->lock);
    rc = s->stop;
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static void fail(struct staging *s, const struct err *e)
{
    pthread_mutex_lock(&s->lock);
    s->rc = -1;
    s->e = *e;
    pthread_cond_broadcast(&s->progress);
    pthread_mutex_unlock(&s->lock);
}

static void *write_runs(void *arg)
{
    struct staging *s = arg;
    bool stop = false;
    struct err e;
    int rc = 0;

    for (size_t i = 0; rc == 0 && !stop && i < s->count; i++) {
        rc = write_run(&s->runs[i], &e);
        pthread_mutex_lock(&s->lock);
        s->written = rc ? i : i + 1;
        stop = s->stop;
        pthread_cond_broadcast(&s->progress);
        pthread_mutex_unlock(&s->lock);
    }
    if (rc == 0 && !stop && await_names(s) == 0)
        rc = sync_runs(s, &e);
    if (rc)
        fail(s, &e);
    return NULL;
}

void staging_begin(struct staging *s)
{
    if (!s->count)
        return;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->progress, NULL);
    s->begun = true;
    s->threaded = pthread_create(&s->thread, NULL, write_runs, s) == 0;
    for (size_t i = 0; !s->threaded && s->rc == 0 && i < s->count; i++) {
        s->rc = write_run(&s->runs[i], &s->e);
        s->written = s->rc ? i : i + 1;
    }
}

int staging_take(struct staging *s, size_t i, struct err *e)
{
    struct staging_run *run = &s->runs[i];
    int rc = 0;

    pthread_mutex_lock(&s->lock);
    while (s->written <= i && !s->rc)
        pthread_cond_wait(&s->progress, &s->lock);
    if (s->written <= i) {
        rc = -1;
        *e = s->e;
    } else {
        rc = run->named ? 0 : atomicfile_batch_rename(&run->files, e);
        s->ntaken += rc == 0 && !run->taken;
        run->taken = run->taken || rc == 0;
    }
    pthread_cond_broadcast(&s->progress);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int staging_finish(struct staging *s, struct err *e)
{
    if (s->threaded)
        pthread_join(s->thread, NULL);
    else if (s->begun && !s->finished && s->rc == 0)
        s->rc = sync_runs(s, &s->e);
    s->threaded = false;
    s->finished = true;
    if (s->rc)
        *e = s->e;
    return s->rc;
}

int staging_commit(struct staging *s, struct err *e)
{
    staging_begin(s);
    for (size_t i = 0; i < s->count; i++)
        if (staging_take(s, i, e))
            return -1;
    return staging_finish(s, e);
}

/* Of a run that was not taken nothing stays but what was there before. */
static void drop_run(struct staging_run *run)
{
    for (size_t i = 0; run->named && !run->taken && i < run->files.count; i++)
        unlink(run->files.files[i].path);
    atomicfile_batch_abort(&run->files);
    for (size_t i = run->nsteps; i-- > 0;) {
        struct staging_step *step = &run->steps[i];
        if (step->made && !run->taken && step->kind == FOLDER)
            rmdir(step->path);
        else if (step->made && !run->taken)
            unlink(step->path);
        free(step->path);
        free(step->text);
    }
    free(run->steps);
}

void staging_destroy(struct staging *s)
{
    if (s->threaded) {
        pthread_mutex_lock(&s->lock);
        s->stop = true;
        pthread_cond_broadcast(&s->progress);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
    }
    for (size_t i = s->count; i-- > 0;)
        drop_run(&s->runs[i]);
    if (s->begun) {
        pthread_mutex_destroy(&s->lock);
        pthread_cond_destroy(&s->progress);
    }
    free(s->runs);
    *s = (struct staging){0};
}
