/* SPDX-License-Identifier: BSD-3-Clause */
/* The fastest engines that processes of this user have found, and the file that keeps them. */
#include "src/base.h"
#include "trainer/backends/cuda/cudnn/cudnn_internal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "src/atomicfile.h"

/* What processes of this user have found out and later ones need not: a table of texts in the file
 * cudnn-choices of $XDG_CACHE_HOME/unetctl or ~/.cache/unetctl. A process reads it at its first
 * look-up; saving reads it again, merges what other processes have added, and replaces the file as
 * a whole. A damaged file is reported, ignored, and replaced when the table is saved. A line is KEY
 * tab WORD MODE INDEX ID tab MICROSECONDS. */

#define MAX_LINE (CUDNN_KEY_SIZE + 256)
#define HEAD "unet-train cudnn-choices 1\n"
#define MOST_ENTRIES 20000 /* a file with more is damaged; saving leaves out the oldest */
#define LOCK_TRIES 100     /* of 10 ms each; then the file is written without the lock */

struct entry {
    char *line;
    size_t nkey;
};

struct table {
    struct entry *entries;
    size_t n, room;
};

/* Kept until the process ends. */
static struct table known;
static bool is_read, has_warned;

/* ---- tables */

static void destroy_table(struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->entries[i].line);
    free(t->entries);
    *t = (struct table){0};
}

static struct entry *find(const struct table *t, const char *line, size_t nkey)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->entries[i].nkey == nkey && memcmp(t->entries[i].line, line, nkey) == 0)
            return &t->entries[i];
    return NULL;
}

/* Adds the line KEY tab VALUE, or replaces that of its key. Without memory it is dropped. */
static void put(struct table *t, const char *line)
{
    size_t nkey = strcspn(line, "\t");
    struct entry *entry = find(t, line, nkey);
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
    *entry = (struct entry){copy, nkey};
}

static void put_all(struct table *dst, const struct table *src)
{
    for (size_t i = 0; i < src->n; i++)
        put(dst, src->entries[i].line);
}

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

/* ---- text */

static int read_line(char *line, struct table *t)
{
    char *end = strchr(line, '\n'), *tab = strchr(line, '\t');

    if (!end || !tab || tab - line >= CUDNN_KEY_SIZE || end - tab > MAX_LINE - CUDNN_KEY_SIZE)
        return -1;
    *end = 0;
    if (!is_sound(tab + 1))
        return -1;
    put(t, line);
    return 0;
}

static int read_lines(FILE *f, struct table *t)
{
    char line[MAX_LINE];

    if (!fgets(line, sizeof line, f) || strcmp(line, HEAD) != 0)
        return -1;
    for (size_t i = 0; fgets(line, sizeof line, f); i++)
        if (i == MOST_ENTRIES || read_line(line, t))
            return -1;
    return ferror(f) ? -1 : 0;
}

static void write_lines(FILE *f, const struct table *t)
{
    fputs(HEAD, f);
    for (size_t i = t->n > MOST_ENTRIES ? t->n - MOST_ENTRIES : 0; i < t->n; i++)
        fprintf(f, "%s\n", t->entries[i].line);
}

/* ---- the file */

/* Sets dst to the file's path, and creates its folder. */
static int file_of(char dst[PATH_MAX])
{
    const char *chosen = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool in_home = !chosen || *chosen != '/', exists = false;
    int n = !in_home || (home && *home == '/')
                ? snprintf(dst, PATH_MAX, "%s%s/unetctl/cudnn-choices", in_home ? home : chosen,
                           in_home ? "/.cache" : "")
                : -1;

    if (n < 0 || n >= PATH_MAX - 64)
        return -1;
    for (char *slash = strchr(dst + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        exists = mkdir(dst, 0777) == 0 || errno == EEXIST;
        *slash = '/';
    }
    return exists ? 0 : -1;
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
        destroy_table(t);
    }
    (void)fclose(f);
}

static void read_once(void)
{
    char path[PATH_MAX];

    if (!is_read && file_of(path) == 0)
        read_file(path, &known);
    is_read = true;
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

static int write_file(const char *path, const struct table *t,
                      struct err *e)
{
    struct atomicfile *a = atomicfile_open(path, 0666, e);

    if (!a)
        return -1;
    write_lines(atomicfile_stream(a), t);
    return atomicfile_commit(a, e);
}

static int save(struct err *e)
{
    char path[PATH_MAX], turns[PATH_MAX + 8];
    struct table all = {0};

    if (file_of(path))
        return err_set(e, ERR_INTERNAL, "there is no cache folder");
    snprintf(turns, sizeof turns, "%s.lock", path);
    int turn = wait_for_turn(turns);
    read_file(path, &all);
    put_all(&all, &known);
    int rc = write_file(path, &all, e);
    if (turn >= 0)
        (void)close(turn);
    destroy_table(&all);
    return rc;
}

/* ---- the interface */

bool cudnn_choices_find(const char *key, struct cudnn_choice *c)
{
    read_once();
    const struct entry *entry = find(&known, key, strlen(key));
    return entry && read_choice(entry->line + entry->nkey + 1, c) == 0;
}

void cudnn_choices_add(const char *key, const struct cudnn_choice *c)
{
    char line[MAX_LINE];
    struct err e;

    snprintf(line, sizeof line, "%.*s\t%s %d %" PRId64 " %" PRId64 "\t%.3f", CUDNN_KEY_SIZE - 1,
             key, words[c->engine.tail], c->engine.mode, c->engine.index, c->engine.id, c->us);
    put(&known, line);
    if (save(&e) && !has_warned) {
        log_warn("the choice of cuDNN's engines can't be kept in $XDG_CACHE_HOME/unetctl (%s): "
                 "engines are timed again at each start", e.text);
        has_warned = true;
    }
}

char *cudnn_choices_encode(void)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    read_once();
    write_lines(f, &known);
    bool bad = ferror(f);
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
    read_once();
    if (rc == 0)
        put_all(&known, &t);
    destroy_table(&t);
    return rc;
}
