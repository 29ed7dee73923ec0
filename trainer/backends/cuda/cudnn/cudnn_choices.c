/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/backends/cuda/cudnn/cudnn_choices.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/log.h"

#define HEAD "unet-train cudnn-choices 1\n"
#define MAX_ENTRIES 20000 /* a file with more is damaged */
#define LOCK_TRIES 100     /* of 10 ms each; then the file is written without the lock */

struct entry {
    char key[CUDNN_KEY_SIZE];
    struct cudnn_choice choice;
};

struct table {
    struct entry *entries;
    size_t n, room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table known;
static bool is_read, is_dirty, has_warned;

static struct entry *find(const struct table *t, const char *key)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->entries[i].key, key) == 0)
            return &t->entries[i];
    return NULL;
}

/* Adds the choice of the key, or replaces it. Without memory a new choice is dropped. */
static void put(struct table *t, const char *key, const struct cudnn_choice *c)
{
    struct entry *entry = find(t, key), *more;

    if (!entry && t->n == t->room) {
        more = realloc(t->entries, (t->room + 64) * sizeof *more);
        if (!more)
            return;
        t->entries = more;
        t->room += 64;
    }
    if (!entry)
        entry = &t->entries[t->n++];
    snprintf(entry->key, sizeof entry->key, "%s", key);
    entry->choice = *c;
}

/* Sets dst to the cache folder, and creates it. */
static int folder_of(char dst[PATH_MAX])
{
    const char *chosen = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = chosen && *chosen == '/' ? snprintf(dst, PATH_MAX, "%s/unetctl", chosen)
            : home && *home == '/'   ? snprintf(dst, PATH_MAX, "%s/.cache/unetctl", home)
                                     : -1;

    if (n < 0 || n >= PATH_MAX - 64)
        return -1;
    for (char *slash = strchr(dst + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        (void)mkdir(dst, 0777);
        *slash = '/';
    }
    return mkdir(dst, 0777) == 0 || errno == EEXIST ? 0 : -1;
}

/* The word for an engine in the cache file. It says which operations follow the convolution. */
static const char *const words[] = {[CUDNN_ALONE] = "engine", [CUDNN_BIAS] = "engine+bias",
                                    [CUDNN_BIAS_RELU] = "engine+bias+relu"};

static int read_engine(const char *text, struct cudnn_engine *engine)
{
    char word[24];
    int used = 0, tail = 0;

    if (sscanf(text, "%23s %d %" SCNd64 " %" SCNd64 "%n", word, &engine->mode, &engine->place,
               &engine->id, &used) != 4 || text[used])
        return -1;
    while (strcmp(words[tail], word) != 0)
        if (++tail > CUDNN_BIAS_RELU)
            return -1;
    engine->tail = (enum cudnn_tail)tail;
    return 0;
}

/* A line is KEY tab own|WORD MODE PLACE ID tab MICROSECONDS. */
static int read_line(char *line, struct table *t)
{
    char *choice = strchr(line, '\t'), *us = choice ? strchr(choice + 1, '\t') : NULL, *end;
    struct cudnn_choice c = {0};

    if (!us || choice - line >= CUDNN_KEY_SIZE)
        return -1;
    *choice++ = 0;
    *us++ = 0;
    c.us = strtod(us, &end);
    if (end == us || *end != '\n' || !(c.us > 0))
        return -1;
    c.own = strcmp(choice, "own") == 0;
    if (!c.own && read_engine(choice, &c.engine))
        return -1;
    put(t, line, &c);
    return 0;
}

static int read_lines(FILE *f, struct table *t)
{
    char line[CUDNN_KEY_SIZE + 128];

    if (!fgets(line, sizeof line, f) || strcmp(line, HEAD) != 0)
        return -1;
    for (size_t i = 0; fgets(line, sizeof line, f); i++)
        if (i == MAX_ENTRIES || read_line(line, t))
            return -1;
    return ferror(f) ? -1 : 0;
}

static void read_file(const char *path, struct table *t)
{
    FILE *f = fopen(path, "re");

    if (!f)
        return;
    if (read_lines(f, t)) {
        if (!has_warned)
            log_warn("%s is damaged and not used; it will be written anew", path);
        has_warned = true;
        t->n = 0;
    }
    (void)fclose(f);
}

static void read_once(void)
{
    char path[PATH_MAX];

    if (!is_read && folder_of(path) == 0) {
        strcat(path, "/cudnn-choices");
        read_file(path, &known);
    }
    is_read = true;
}

bool cudnn_choices_find(const char *key, struct cudnn_choice *c)
{
    pthread_mutex_lock(&lock);
    read_once();
    const struct entry *entry = find(&known, key);
    if (entry)
        *c = entry->choice;
    pthread_mutex_unlock(&lock);
    return entry != NULL;
}

void cudnn_choices_add(const char *key, const struct cudnn_choice *c)
{
    pthread_mutex_lock(&lock);
    put(&known, key, c);
    is_dirty = true;
    pthread_mutex_unlock(&lock);
}

static int write_lines(FILE *f, const struct table *t)
{
    int bad = fputs(HEAD, f) < 0;

    for (size_t i = 0; i < t->n && !bad; i++) {
        const struct cudnn_choice *c = &t->entries[i].choice;
        bad = (c->own ? fprintf(f, "%s\town\t%.3f\n", t->entries[i].key, c->us)
                      : fprintf(f, "%s\t%s %d %" PRId64 " %" PRId64 "\t%.3f\n",
                                t->entries[i].key, words[c->engine.tail], c->engine.mode,
                                c->engine.place, c->engine.id, c->us)) < 0;
    }
    return bad;
}

char *cudnn_choices_encode(void)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    pthread_mutex_lock(&lock);
    read_once();
    int bad = write_lines(f, &known);
    pthread_mutex_unlock(&lock);
    if (fclose(f) || bad) {
        free(text);
        return NULL;
    }
    return text;
}

int cudnn_choices_decode(const char *text)
{
    struct table t = {0};
    FILE *f = fmemopen((void *)text, strlen(text), "r");
    int rc = f ? read_lines(f, &t) : -1;

    if (f)
        (void)fclose(f);
    pthread_mutex_lock(&lock);
    read_once();
    for (size_t i = 0; i < t.n && rc == 0; i++)
        put(&known, t.entries[i].key, &t.entries[i].choice);
    pthread_mutex_unlock(&lock);
    free(t.entries);
    return rc;
}

static int write_file(const char *path, const struct table *t)
{
    FILE *f = fopen(path, "we");
    int bad = !f;

    if (f) {
        bad = write_lines(f, t);
        bad = (fflush(f) || fsync(fileno(f))) || bad;
        bad = fclose(f) || bad;
    }
    return bad ? -1 : 0;
}

/* Locks the file, where the file system supports it, against other writers. Returns a descriptor to
 * be closed, also if the lock could not be taken in LOCK_TRIES; -1: the file cannot be opened. */
static int wait_for_turn(const char *path)
{
    int file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);

    for (int i = 0; file >= 0 && i < LOCK_TRIES && flock(file, LOCK_EX | LOCK_NB) < 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return file;
}

static int save(const char *folder)
{
    char path[PATH_MAX], aside[PATH_MAX], turns[PATH_MAX];
    struct table all = {0};

    if (snprintf(path, sizeof path, "%s/cudnn-choices", folder) >= (int)sizeof path ||
        snprintf(turns, sizeof turns, "%s.lock", path) >= (int)sizeof turns ||
        snprintf(aside, sizeof aside, "%s.%ld.new", path, (long)getpid()) >= (int)sizeof aside)
        return -1;
    int turn = wait_for_turn(turns);
    read_file(path, &all);
    for (size_t i = 0; i < known.n; i++)
        put(&all, known.entries[i].key, &known.entries[i].choice);
    int rc = write_file(aside, &all) || rename(aside, path) ? -1 : 0;
    if (rc)
        (void)unlink(aside);
    if (turn >= 0)
        (void)close(turn);
    free(all.entries);
    return rc;
}

void cudnn_choices_save(void)
{
    char folder[PATH_MAX];

    pthread_mutex_lock(&lock);
    if (is_dirty && (folder_of(folder) || save(folder)) && !has_warned) {
        log_warn(
            "the choice of cuDNN's engines can't be kept in $XDG_CACHE_HOME/unetctl (%s): engines "
            "are timed again at each start",
            strerror(errno));
        has_warned = true;
    }
    is_dirty = false;
    pthread_mutex_unlock(&lock);
}
