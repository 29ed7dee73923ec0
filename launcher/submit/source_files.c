/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/submit/source_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/host/child.h"
#include "launcher/host/path.h"
#include "launcher/study/run_dir.h"
#include "src/buf.h"
#include "src/format/sha256.h"
#include "src/log.h"
#include "src/mem.h"
#include "src/plural.h"

#define GIT_S 10 /* for git to list the files */

/* ---- the files ---- */

struct source {
    char folder[PATH_MAX];
    const char *main; /* the name of the script in the folder */
    struct buf text;
    size_t nfiles, size, left_out;
};

static void add_file(struct source *s, const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    if (strchr(name, '\n') || strcmp(name, STUDY_FILE) == 0 ||
        snprintf(path, sizeof path, "%s/%s", s->folder, name) >= PATH_MAX || stat(path, &st) ||
        !S_ISREG(st.st_mode))
        return;
    if (s->nfiles == SOURCE_FILES_MAX || (size_t)st.st_size > SOURCE_FILES_ONE_MAX ||
        s->size + (size_t)st.st_size > SOURCE_FILES_ALL_MAX) {
        s->left_out++;
        return;
    }
    s->nfiles++;
    s->size += (size_t)st.st_size;
    buf_addf(&s->text, "file %s\n", name);
}

/* Adds what Git tracks in the folder and below. Returns the number of files, 0 without Git. */
static size_t add_tracked(struct source *s)
{
    const char *const words[] = {"git", "-C", s->folder, "ls-files", "-z", NULL};
    struct child c = {.argv = words, .out = CHILD_READ, .err = CHILD_NULL, .limit_s = GIT_S};
    struct child_end end;
    struct err ignored;
    size_t n = 0;

    bool ran = child_run(&c, &end, &ignored) == 0;
    if (ran && end.code > 128)
        log_warn("%s: git did not end within %d s, so only its *.py are noted as what runs execute",
                 s->folder, GIT_S);
    else if (ran)
        for (const char *name = end.out.data; name < end.out.data + end.out.length;
             name += strlen(name) + 1) {
            n++;
            if (strcmp(name, s->main) != 0)
                add_file(s, name);
        }
    child_destroy(&end);
    return n;
}

static int is_python(const struct dirent *d)
{
    size_t n = strlen(d->d_name);

    return n > 3 && strcmp(d->d_name + n - 3, ".py") == 0;
}

static void add_python(struct source *s)
{
    struct dirent **found;
    int n = scandir(s->folder, &found, is_python, alphasort);

    for (int i = 0; i < n; i++) {
        if (strcmp(found[i]->d_name, s->main) != 0)
            add_file(s, found[i]->d_name);
        free(found[i]);
    }
    if (n >= 0)
        free(found);
}

/* ---- what is executed ---- */

static bool is_of_system(const char *path)
{
    return strncmp(path, "/usr/", 5) == 0 || strncmp(path, "/bin/", 5) == 0;
}

/* Writes the path of the script, or "" if there is none. */
static void find_main(const struct study *study, const struct settings_program *section,
                      const struct engine *engine, char dst[PATH_MAX])
{
    static const char in_study[] = "{{study_dir}}/";
    char word[PATH_MAX];
    struct err ignored;
    struct stat st;

    *dst = 0;
    if (*section->script)
        snprintf(dst, PATH_MAX, "%s", section->script);
    else if (!engine->script || paths_data(engine->script, dst, PATH_MAX, &ignored))
        *dst = 0;
    for (size_t i = 0; is_of_system(dst) && i < section->args.count; i++) {
        const char *arg = section->args.lines[i];
        bool below = strncmp(arg, in_study, strlen(in_study)) == 0;
        snprintf(word, sizeof word, "%s%s", below ? study->dir : "",
                 arg + (below ? strlen(in_study) - 1 : 0));
        if (*word == '/' && !is_of_system(word) && stat(word, &st) == 0 && S_ISREG(st.st_mode))
            snprintf(dst, PATH_MAX, "%s", word);
    }
}

static int list_files(const char *main, struct buf *dst, struct err *e)
{
    const char *slash = strrchr(main, '/');
    struct source s = {.main = slash + 1};

    snprintf(s.folder, sizeof s.folder, "%.*s", (int)(slash - main), main);
    buf_addf(&s.text, "folder %s\n", s.folder);
    add_file(&s, s.main);
    if (!is_of_system(main) && add_tracked(&s) == 0)
        add_python(&s);
    if (s.left_out)
        log_warn("%s: a change of %zu file%s is not noticed: scripts are hashed up to %d files, 1 "
                 "MiB each, 8 MiB in all", s.folder, s.left_out, plural((long)s.left_out),
                 SOURCE_FILES_MAX);
    *dst = s.text;
    return dst->failed ? mem_fail(e) : 0;
}

/* Returns the lines of the files, those of the last call for the same script: a submission has many
 * runs of one. */
static const char *files_of(const char *main, struct err *e)
{
    static char last[PATH_MAX];
    static struct buf text;

    if (*last && strcmp(last, main) == 0)
        return text.data;
    *last = 0;
    buf_destroy(&text);
    if (list_files(main, &text, e))
        return NULL;
    snprintf(last, sizeof last, "%s", main);
    return text.data;
}

/* Writes the lines of source.list; none: nothing is hashed. */
static int describe(const struct plan *p, const struct run *run, struct buf *dst, struct err *e)
{
    const struct settings_program *section = study_engine(run->study, run->engine->name);
    char main[PATH_MAX] = "";

    if (section)
        find_main(run->study, section, run->engine, main);
    const char *lines = *main == '/' && access(main, F_OK) == 0 ? files_of(main, e) : "";
    if (!lines)
        return -1;
    buf_add(dst, lines);
    if (*run->study->container)
        buf_addf(dst, "container %s\n", run->study->container);
    return dst->failed ? mem_fail(e) : 0;
}

int source_files_add(const struct plan *p, const struct run *run, struct atomicfile_batch *files,
                     struct err *e)
{
    char path[PATH_MAX];
    struct buf b = {0};

    run_dir_path(p->study.dir, run->id, "source.list", path);
    int rc = describe(p, run, &b, e);
    if (rc == 0 && b.length)
        rc = atomicfile_batch_add(files, path, b.data, b.length, 0666, e);
    buf_destroy(&b);
    return rc;
}

/* ---- comparison ---- */

/* Hashes what the lines name as the job does. *dst is to be destroyed in either case. */
static int hash_lines(const struct buf *lines, struct child_end *dst, struct err *e)
{
    char script[PATH_MAX], list[32];
    const char *const words[] = {"bash", script, "-", list, NULL};
    struct child c = {.argv = words, .out = CHILD_READ, .err = CHILD_NULL};
    int file = memfd_create("source.list", 0);

    *dst = (struct child_end){0};
    snprintf(list, sizeof list, "/proc/self/fd/%d", file);
    int rc = file < 0 || write(file, lines->data, lines->length) != (ssize_t)lines->length
                 ? err_errno(e, ERR_INTERNAL, errno, "cannot hash the script")
                 : paths_data("templates/source.sh", script, sizeof script, e);
    if (rc == 0)
        rc = child_run(&c, dst, e);
    if (file >= 0)
        close(file);
    return rc;
}

/* Cuts the text at the line of an image of a container that is neither a file nor a folder here,
 * which is the last one. */
static void drop_image(char *text)
{
    static const char mark[] = "  container ";
    char path[PATH_MAX];

    for (char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strcspn(line, "\n") <= 64 || strncmp(line + 64, mark, strlen(mark)) != 0)
            continue;
        const char *image = line + 64 + strlen(mark);
        snprintf(path, sizeof path, "%.*s", (int)strcspn(image, "\n"), image);
        if (access(path, F_OK)) {
            *line = 0;
            return;
        }
    }
}

int source_files_compare(const struct plan *p, const struct run *run, const char *other,
                         int attempt, struct err *e)
{
    char path[PATH_MAX], copy[PATH_MAX], name[48], was_hex[65], is_hex[65];
    struct buf lines = {0};
    struct child_end is = {0};
    struct err unknown;
    size_t n;

    snprintf(name, sizeof name, "attempt-%d/source.sha256", attempt);
    run_dir_path(p->study.dir, other, name, path);
    char *was = atomicfile_read(path, SOURCE_FILES_ALL_MAX, &n, &unknown);
    if (!was)
        return 0;
    sha256_bytes(was, n, was_hex);
    int rc = describe(p, run, &lines, e) || (lines.length && hash_lines(&lines, &is, e)) ? -1 : 1;
    if (rc > 0) {
        sha256_bytes(is.out.data, is.out.length, is_hex);
        snprintf(name, sizeof name, "source-%.8s", was_hex);
        run_dir_path(p->study.dir, other, name, copy);
        drop_image(was);
        if (is.out.data)
            drop_image(is.out.data);
        if (strcmp(was, is.out.data ? is.out.data : "") != 0)
            rc = err_set(e, ERR_CONFIG,
                         "the script or container has the hash %.8s, and %s executed "
                         "%.8s; restore that (%s is %s), or make another study with 'unetctl init'",
                         is_hex, other, was_hex, access(copy, F_OK) ? path : copy,
                         access(copy, F_OK) ? "its list" : "a copy");
    }
    child_destroy(&is);
    buf_destroy(&lines);
    free(was);
    return rc;
}
