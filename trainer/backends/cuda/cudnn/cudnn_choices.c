/* SPDX-License-Identifier: BSD-3-Clause */
/* The fastest engines that processes of this user have found, and the file that keeps them. */
#include "config.h"
#include "trainer/backends/cuda/cudnn/cudnn_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/atomicfile.h"
#include "src/log.h"
#include "src/mem.h"

/* What processes of this user have found out and later ones need not: a table of texts in a file of
 * $XDG_CACHE_HOME/unetctl or ~/.cache/unetctl. A process reads it at its first look-up; saving
 * reads it again, merges what other processes have added, and replaces the file as a whole. A
 * damaged file is reported, ignored, and replaced when the table is saved. */

#define MEMO_KEY 256 /* bytes of a key, and of a value; neither has line ends, a key no tabs */
#define MEMO_VALUE 256

struct memo_entry {
    char *line; /* KEY tab VALUE */
    size_t nkey;
};

struct memo_table {
    struct memo_entry *entries;
    size_t n, room;
};

/* Kept until the process ends. A file begins with a line "unet-train NAME 1". */
struct memo {
    const char *name; /* of the file */
    const char *what, *loss; /* words of a warning: WHAT can't be kept: LOSS */
    bool (*is_sound)(const char *value);
    struct memo_table known;
    bool is_read, is_dirty, has_warned;
};

/* Sets value to that of the key and returns true, or returns false. */
bool memo_find(struct memo *m, const char *key, char value[MEMO_VALUE]);

/* Adds or replaces a value in memory; the next save writes it. */
void memo_add(struct memo *m, const char *key, const char *value);

/* Writes the file if memo_add was called since the last save. Warns once that it cannot. */
void memo_save(struct memo *m);

/* memo_encode returns the file's text, to be freed by the caller; NULL: out of memory. memo_decode
 * adds the entries of such a text to the memory, which alone is not a reason for the next save to
 * write; -1, with nothing added, if the text is damaged. */
char *memo_encode(struct memo *m);
int memo_decode(struct memo *m, const char *text);

#define MOST_ENTRIES 20000 /* a file with more is damaged; saving leaves out the oldest */
#define LOCK_TRIES 100     /* of 10 ms each; then the file is written without the lock */

/* ---- tables */

static void destroy_table(struct memo_table *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->entries[i].line);
    free(t->entries);
    *t = (struct memo_table){0};
}

static struct memo_entry *find(const struct memo_table *t, const char *line, size_t nkey)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->entries[i].nkey == nkey && memcmp(t->entries[i].line, line, nkey) == 0)
            return &t->entries[i];
    return NULL;
}

/* Adds the line KEY tab VALUE, or replaces that of its key. Without memory it is dropped. */
static void put(struct memo_table *t, const char *line)
{
    size_t nkey = strcspn(line, "\t");
    struct memo_entry *entry = find(t, line, nkey);
    struct err ignored;
    char *copy = mem_text(line, &ignored);

    if (!copy || (!entry && mem_grow(&t->entries, t->n, &t->room, sizeof *entry, &ignored))) {
        free(copy);
        return;
    }
    if (entry)
        free(entry->line);
    else
        entry = &t->entries[t->n++];
    *entry = (struct memo_entry){copy, nkey};
}

static void put_all(struct memo_table *dst, const struct memo_table *src)
{
    for (size_t i = 0; i < src->n; i++)
        put(dst, src->entries[i].line);
}

/* ---- text */

static int read_line(const struct memo *m, char *line, struct memo_table *t)
{
    char *end = strchr(line, '\n'), *tab = strchr(line, '\t');

    if (!end || !tab || tab - line >= MEMO_KEY || end - tab > MEMO_VALUE)
        return -1;
    *end = 0;
    if (!m->is_sound(tab + 1))
        return -1;
    put(t, line);
    return 0;
}

static int read_lines(const struct memo *m, FILE *f, struct memo_table *t)
{
    char line[MEMO_KEY + MEMO_VALUE], head[64];

    snprintf(head, sizeof head, "unet-train %s 1\n", m->name);
    if (!fgets(line, sizeof line, f) || strcmp(line, head) != 0)
        return -1;
    for (size_t i = 0; fgets(line, sizeof line, f); i++)
        if (i == MOST_ENTRIES || read_line(m, line, t))
            return -1;
    return ferror(f) ? -1 : 0;
}

static void write_lines(const struct memo *m, FILE *f, const struct memo_table *t)
{
    fprintf(f, "unet-train %s 1\n", m->name);
    for (size_t i = t->n > MOST_ENTRIES ? t->n - MOST_ENTRIES : 0; i < t->n; i++)
        fprintf(f, "%s\n", t->entries[i].line);
}

/* ---- the file */

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

static void read_file(struct memo *m, const char *path, struct memo_table *t)
{
    FILE *f = fopen(path, "re");

    if (!f)
        return;
    if (read_lines(m, f, t)) {
        if (!m->has_warned)
            log_warn("%s is damaged and not used; it will be written anew", path);
        m->has_warned = true;
        destroy_table(t);
    }
    (void)fclose(f);
}

static void read_once(struct memo *m)
{
    char path[PATH_MAX];

    if (!m->is_read && folder_of(path) == 0) {
        snprintf(path + strlen(path), sizeof path - strlen(path), "/%s", m->name);
        read_file(m, path, &m->known);
    }
    m->is_read = true;
}

/* Locks the file, where the file system supports it, against other writers. Returns a descriptor to
 * be closed, also without the lock if another holds it for all LOCK_TRIES; -1: the file cannot be
 * opened. */
static int wait_for_turn(const char *path)
{
    int file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);

    for (int i = 0; file >= 0 && i < LOCK_TRIES && flock(file, LOCK_EX | LOCK_NB) < 0 &&
                    errno == EWOULDBLOCK; i++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return file;
}

static int write_file(const struct memo *m, const char *path, const struct memo_table *t,
                      struct err *e)
{
    struct atomicfile *a = atomicfile_open(path, 0666, e);

    if (!a)
        return -1;
    write_lines(m, atomicfile_stream(a), t);
    return atomicfile_commit(a, e);
}

static int save(struct memo *m, struct err *e)
{
    char path[PATH_MAX], turns[PATH_MAX + 8];
    struct memo_table all = {0};

    if (folder_of(path))
        return err_set(e, ERR_INTERNAL, "there is no cache folder");
    snprintf(path + strlen(path), sizeof path - strlen(path), "/%s", m->name);
    snprintf(turns, sizeof turns, "%s.lock", path);
    int turn = wait_for_turn(turns);
    read_file(m, path, &all);
    put_all(&all, &m->known);
    int rc = write_file(m, path, &all, e);
    if (turn >= 0)
        (void)close(turn);
    destroy_table(&all);
    return rc;
}

/* ---- the interface */

bool memo_find(struct memo *m, const char *key, char value[MEMO_VALUE])
{
    read_once(m);
    const struct memo_entry *entry = find(&m->known, key, strlen(key));
    if (entry)
        snprintf(value, MEMO_VALUE, "%s", entry->line + entry->nkey + 1);
    return entry != NULL;
}

void memo_add(struct memo *m, const char *key, const char *value)
{
    char line[MEMO_KEY + MEMO_VALUE];

    snprintf(line, sizeof line, "%.*s\t%.*s", MEMO_KEY - 1, key, MEMO_VALUE - 1, value);
    put(&m->known, line);
    m->is_dirty = true;
}

void memo_save(struct memo *m)
{
    struct err e;

    if (m->is_dirty && save(m, &e) && !m->has_warned) {
        log_warn("%s can't be kept in $XDG_CACHE_HOME/unetctl (%s): %s", m->what, e.text, m->loss);
        m->has_warned = true;
    }
    m->is_dirty = false;
}

char *memo_encode(struct memo *m)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    read_once(m);
    write_lines(m, f, &m->known);
    bool bad = ferror(f);
    if (fclose(f) || bad) {
        free(text);
        return NULL;
    }
    return text;
}

int memo_decode(struct memo *m, const char *text)
{
    struct memo_table t = {0};
    FILE *f = fmemopen((void *)text, strlen(text), "r");
    int rc = f ? read_lines(m, f, &t) : -1;

    if (f)
        (void)fclose(f);
    read_once(m);
    if (rc == 0)
        put_all(&m->known, &t);
    destroy_table(&t);
    return rc;
}

_Static_assert(CUDNN_KEY_SIZE <= MEMO_KEY, "keys");

/* The word for an engine in the file. It says which operations follow the convolution. */
static const char *const words[] = {[CUDNN_ALONE] = "engine", [CUDNN_BIAS] = "engine+bias",
                                    [CUDNN_BIAS_RELU] = "engine+bias+relu"};

static int read_engine(const char *text, struct cudnn_engine *engine)
{
    char word[24];
    int used = 0, tail = 0;

    if (sscanf(text, "%23s %d %" SCNd64 " %" SCNd64 "%n", word, &engine->mode, &engine->index,
               &engine->id, &used) != 4 || text[used] != '\t')
        return -1;
    while (strcmp(words[tail], word) != 0)
        if (++tail > CUDNN_BIAS_RELU)
            return -1;
    engine->tail = (enum cudnn_tail)tail;
    return 0;
}

/* A value is WORD MODE INDEX ID tab MICROSECONDS. */
static int read_choice(const char *text, struct cudnn_choice *c)
{
    const char *us = strchr(text, '\t');
    char *end;

    *c = (struct cudnn_choice){0};
    if (!us)
        return -1;
    c->us = strtod(us + 1, &end);
    if (end == us + 1 || *end || !(c->us > 0))
        return -1;
    return read_engine(text, &c->engine);
}

static bool is_sound(const char *value)
{
    struct cudnn_choice c;

    return read_choice(value, &c) == 0 || strncmp(value, "own\t", 4) == 0; /* of release 0.1.0 */
}

static struct memo memo = {.name = "cudnn-choices",
                           .what = "the choice of cuDNN's engines",
                           .loss = "engines are timed again at each start",
                           .is_sound = is_sound};

bool cudnn_choices_find(const char *key, struct cudnn_choice *c)
{
    char value[MEMO_VALUE];

    return memo_find(&memo, key, value) && read_choice(value, c) == 0;
}

void cudnn_choices_add(const char *key, const struct cudnn_choice *c)
{
    char value[MEMO_VALUE];

    snprintf(value, sizeof value, "%s %d %" PRId64 " %" PRId64 "\t%.3f", words[c->engine.tail],
             c->engine.mode, c->engine.index, c->engine.id, c->us);
    memo_add(&memo, key, value);
    memo_save(&memo);
}

char *cudnn_choices_encode(void)
{
    return memo_encode(&memo);
}

int cudnn_choices_decode(const char *text)
{
    return memo_decode(&memo, text);
}
