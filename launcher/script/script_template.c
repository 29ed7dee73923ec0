/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/script/script_template.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/host/path.h"
#include "src/atomicfile.h"

#define MAX_TEMPLATE (1 << 20)

static const char *const file_names[] = {[SCRIPT_RUN] = "run_file",
                                         [SCRIPT_SUBMIT] = "submit_file"};

/* Refuses zero bytes, which end a text, and lines that end in CR LF: bash takes the CR as a part
 * of the last word. */
static int check_text(const char *path, const char *text, size_t size, struct err *e)
{
    size_t line = strcspn(text, "\n");

    if (strlen(text) != size)
        return err_set(e, ERR_CONFIG, "%s: a template is a text, but byte %zu is 0", path,
                       strlen(text) + 1);
    if (line && text[line - 1] == '\r')
        return err_set(e, ERR_CONFIG, "%s:1: its lines end in CR LF, which no shell accepts; type: "
                       "sed -i 's/\\r$//' %s", path, path);
    return 0;
}

static char *read_file(const char *path, struct err *e)
{
    size_t size;
    char *text = atomicfile_read(path, MAX_TEMPLATE, &size, e);

    if (!text)
        e->code = ERR_CONFIG;
    if (text && check_text(path, text, size, e)) {
        free(text);
        return NULL;
    }
    return text;
}

static char *read_first(const char *const *candidates, size_t n, char *path, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (access(candidates[i], F_OK) == 0) {
            snprintf(path, PATH_MAX, "%s", candidates[i]);
            return read_file(path, e);
        }
    *path = 0;
    return NULL;
}

static char *read_user_template(const char *user, const struct engine *engine,
                                enum script_file file, char *path, struct err *e)
{
    char own[PATH_MAX], hvd[PATH_MAX], plain[PATH_MAX];
    const char *candidates[] = {own, plain, hvd};
    struct stat st;

    *path = 0;
    if (stat(user, &st)) {
        err_errno(e, ERR_CONFIG, errno, "templates: %s", user);
        snprintf(path, PATH_MAX, "%s", user);
        return NULL;
    }
    if (!S_ISDIR(st.st_mode)) {
        if (file == SCRIPT_RUN)
            return NULL;
        snprintf(path, PATH_MAX, "%s", user);
        return read_file(path, e);
    }
    snprintf(own, sizeof own, "%s/%s/%s.sh", user, engine->name, file_names[file]);
    snprintf(plain, sizeof plain, "%s/%s.sh", user, file_names[file]);
    snprintf(hvd, sizeof hvd, "%s/%s_hvd.sh", user, file_names[file]);
    if (strcmp(engine->name, "horovod") != 0)
        return read_first(candidates, 2, path, e);
    candidates[1] = hvd;
    candidates[2] = plain;
    return read_first(candidates, 3, path, e);
}

static char *read_own_template(const struct engine *engine, enum script_file file, char *path,
                               struct err *e)
{
    char name[128];

    snprintf(name, sizeof name, "templates/%s/%s.sh", engine->name, file_names[file]);
    if (paths_data(name, path, PATH_MAX, e)) {
        snprintf(name, sizeof name, "templates/%s/%s.sh",
                 file == SCRIPT_RUN ? "command" : "embedded", file_names[file]);
        if (paths_data(name, path, PATH_MAX, e))
            return NULL;
    }
    return read_file(path, e);
}

/* Refuses a user's folder that has neither of the two scripts: its name is likely to be a typing
 * error. */
static int check_folder(const char *user, const struct engine *engine, enum script_file file,
                        struct err *e)
{
    enum script_file other = file == SCRIPT_RUN ? SCRIPT_SUBMIT : SCRIPT_RUN;
    char path[PATH_MAX], *text = read_user_template(user, engine, other, path, e);

    free(text);
    return text || *path ? 0
                         : err_set(e, ERR_CONFIG,
                                   "templates: %s has neither run_file.sh nor submit_file.sh for "
                                   "engine %s", user, engine->name);
}

char *script_template_read(const char *user, const struct engine *engine, enum script_file file,
                           char *path, struct err *e)
{
    char *text = NULL;

    if (*user) {
        text = read_user_template(user, engine, file, path, e);
        if (text || *path || check_folder(user, engine, file, e))
            return text;
    }
    return read_own_template(engine, file, path, e);
}

static void forget_template(struct script_template *t)
{
    free(t->user);
    free(t->text);
    *t = (struct script_template){0};
}

const struct script_template *script_template_get(const char *user, const struct engine *engine,
                                        enum script_file file, struct err *e)
{
    static struct script_template seen[4];
    static size_t next;

    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        if (seen[i].text && seen[i].engine == engine && seen[i].file == file &&
            strcmp(seen[i].user, user) == 0)
            return &seen[i];
    struct script_template *t = &seen[next];
    forget_template(t);
    *t = (struct script_template){.user = strdup(user), .engine = engine, .file = file};
    if (!t->user)
        err_errno(e, ERR_INTERNAL, ENOMEM, "templates");
    else
        t->text = script_template_read(user, engine, file, t->path, e);
    if (!t->text) {
        forget_template(t);
        return NULL;
    }
    next = (next + 1) % (sizeof seen / sizeof *seen);
    return t;
}

bool script_template_has_directives(const char *text)
{
    return strncmp(text, "#SBATCH", 7) == 0 || strstr(text, "\n#SBATCH") != NULL;
}

const char *script_template_find_directive(const char *text, const char *const *words)
{
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        for (size_t i = 0; strncmp(line, "#SBATCH", 7) == 0 && words[i]; i++)
            if (memmem(line, (size_t)(end - line), words[i], strlen(words[i])))
                return line;
    }
    return NULL;
}

size_t script_template_end_of_directives(const char *text)
{
    size_t end = strcspn(text, "\n") + (strchr(text, '\n') != NULL), next;

    for (size_t at = end; text[at] == '#' || text[at] == '\n'; at = next) {
        next = at + strcspn(text + at, "\n");
        next += text[next] == '\n';
        if (strncmp(text + at, "#SBATCH", 7) == 0)
            end = next;
    }
    return end;
}
