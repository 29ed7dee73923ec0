/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/remote/remote_internal.h"

#include <fcntl.h>

#include "launcher/host/path.h"
#include "launcher/script/template.h"
#include "launcher/study/study.h"
#include "src/atomicfile.h"
#include "src/cli.h"
#include "src/format/document.h"

#define WORDS_MAX 64
/* The path of a socket has 107 bytes at most, of which ssh adds 58 to the folder's. */
#define FOLDER_MAX 48
#define SIZE_MAX_THERE "1g" /* of a file that is copied here */

const char *ssh_line(char *printed, bool last)
{
    char *line = child_last_line(printed);

    if (!last)
        line = printed;
    line[strcspn(line, "\n")] = 0;
    return control_blank(line);
}

int ssh_refuse(const struct ssh *c, char *printed, struct err *e)
{
    const char *line = ssh_line(printed, true);
    bool asks = strstr(line, "denied") || strstr(line, "verification failed");

    return err_set(e, ERR_SCHED, "no connection to %s: %s; %s'ssh %s true' must work first%s",
                   c->host, *line ? line : "ssh failed", asks ? "" : "try again; ", c->host,
                   asks ? ", with a key or an open connection where there is no terminal to ask on"
                        : "");
}

/* Returns whether ssh's configuration for the host, as `ssh -G` prints it, has this line. */
static bool has_line(const char *configuration, const char *line)
{
    const char *at = strstr(configuration, line);

    return at && (at == configuration || at[-1] == '\n');
}

/* Makes the folder of the connections' sockets, which must be the user's own. */
static int make_folder(struct ssh *c, struct err *e)
{
    const char *run = getenv("XDG_RUNTIME_DIR");
    char name[PATH_MAX], folder[PATH_MAX];

    path_format(name, "%s/unetctl", run && *run == '/' ? run : "");
    if (!run || *run != '/' || strlen(name) + strlen(".99") > FOLDER_MAX ||
        strpbrk(name, " '\"%$"))
        path_format(name, "/tmp/unetctl-%ld", (long)geteuid());
    if (path_make_own(name, folder, e))
        return err_prefix(e, "connections by ssh");
    snprintf(c->control, sizeof c->control, "ControlPath=%s/%%C", folder);
    return 0;
}

static void add_option(struct ssh *c, const char *option)
{
    size_t n = 0;

    while (c->options[n])
        n++;
    c->options[n] = "-o";
    c->options[n + 1] = option;
}

int ssh_open(struct ssh *c, const char *host, struct err *e)
{
    const char *const ask[] = {"ssh", "-G", host, NULL};
    const struct child child = {.argv = ask, .in = CHILD_NULL, .out = CHILD_READ,
                                .err = CHILD_READ};
    struct child_end end;
    int tty = open("/dev/tty", O_RDWR | O_CLOEXEC), rc;

    *c = (struct ssh){.host = host};
    if (tty >= 0)
        close(tty);
    else if (!getenv("SSH_ASKPASS"))
        add_option(c, "BatchMode=yes");
    rc = child_run(&child, &end, e);
    if (rc)
        err_prefix(e, "a study on %s needs ssh", host);
    else if (end.code)
        rc = ssh_refuse(c, end.err.data, e);
    else if (!has_line(end.out.data, "controlpath ") || has_line(end.out.data, "controlpath none"))
        rc = make_folder(c, e);
    if (rc == 0 && *c->control) {
        add_option(c, "ControlMaster=auto");
        add_option(c, c->control);
        add_option(c, "ControlPersist=60");
    }
    if (rc == 0 && has_line(end.out.data, "serveraliveinterval 0\n"))
        add_option(c, "ServerAliveInterval=15");
    add_option(c, "LogLevel=ERROR"); /* no line about each connection that is closed */
    child_destroy(&end);
    return rc;
}

void ssh_add_path(struct buf *script, const char *path)
{
    bool home = strncmp(path, "~/", 2) == 0;

    buf_add(script, home ? "\"$HOME\"/" : "");
    template_quote_sh(script, home ? path + 2 : path);
}

/* Adds the script as a command in which the user's shell, be it one of sh's kind, csh or fish, has
 * nothing to interpret. */
static void encode_command(const char *script, struct buf *dst)
{
    buf_add(dst, "exec sh -c 'eval \"$(printf %b \"$1\")\"' sh '");
    for (const unsigned char *p = (const unsigned char *)script; *p; p++)
        buf_addf(dst, isalnum(*p) || strchr("_./=:,-", *p) ? "%c" : "\\0%03o", *p);
    buf_add(dst, "'");
}

int ssh_run(const struct ssh *c, const char *script, const struct child *streams,
            bool tty, struct child_end *end, struct err *e)
{
    const char *words[WORDS_MAX] = {"ssh"};
    struct child child = *streams;
    struct buf command = {0};
    size_t n = 1;

    *end = (struct child_end){0};
    encode_command(script, &command);
    for (const char *const *o = c->options; *o; o++)
        words[n++] = *o;
    words[n++] = tty ? "-t" : "-T";
    words[n++] = c->host;
    words[n++] = command.data;
    child.argv = words;
    int rc = command.failed ? mem_fail(e) : child_run(&child, end, e);
    buf_destroy(&command);
    return rc ? -1 : end->code;
}

/* ---- files ---- */

/* Warns of the first file that rsync says it skips: a link, FIFO or device, or a large one. */
static void warn_skipped(const struct ssh *c, char *printed)
{
    const char *line = ssh_line(printed, false);

    if (*line)
        log_warn("%s: not everything is copied from there: %s", c->host, line);
}

/* Runs rsync with these words, and ssh's options. */
static int run_rsync(const struct ssh *c, const char *words[WORDS_MAX], const char *what,
                     struct err *e)
{
    const struct child child = {.argv = words, .in = CHILD_NULL, .out = CHILD_READ,
                                .err = CHILD_READ};
    struct child_end end;
    struct buf shell = {0};

    buf_add(&shell, "--rsh=ssh");
    for (const char *const *o = c->options; *o; o++)
        buf_addf(&shell, " %s", *o);
    words[0] = "rsync";
    words[1] = shell.data;
    if (shell.failed)
        return mem_fail(e);
    int rc = child_run(&child, &end, e);
    if (rc && errno == ENOENT)
        err_set(e, ERR_CONFIG, "a study on %s needs rsync, which is not installed here; install "
                "it", c->host);
    else if (rc == 0 && strstr(end.err.data, "is your shell clean"))
        rc = err_set(e, ERR_SCHED, "%s: the shell of %s prints text where it is not interactive; "
                     "mend its startup files ('ssh %s true' must print nothing)", what, c->host,
                     c->host);
    else if (rc == 0 && end.code)
        rc = err_set(e, ERR_SCHED, "%s: %s; mend that, and type the same command again", what,
                     ssh_line(end.err.data, false));
    else if (rc == 0)
        warn_skipped(c, end.out.data);
    child_destroy(&end);
    buf_destroy(&shell);
    return rc;
}

/* Returns the path as rsync has it: relative to the user's folder for "~/". */
static const char *below_home(const char *folder)
{
    return strncmp(folder, "~/", 2) == 0 ? folder + 2 : folder;
}

int ssh_push(const struct ssh *c, const char *dir, const char *folder,
             const char *const *except, struct err *e)
{
    char names[WORDS_MAX / 2][64], from[PATH_MAX], to[PATH_MAX], what[2 * PATH_MAX];
    const char *words[WORDS_MAX] = {0};
    size_t n = 3;

    words[2] = "-rlEts"; /* -s: paths are not for the user's shell there */
    for (size_t i = 0; except[i]; i++) {
        snprintf(names[i], sizeof names[i], "--exclude=/%s", except[i]);
        words[n++] = names[i];
    }
    words[n++] = path_format(from, "%s/", dir);
    words[n++] = path_format(to, "%s:%s/", c->host, below_home(folder));
    snprintf(what, sizeof what, "%s cannot be copied to %s", dir, to);
    return run_rsync(c, words, what, e);
}

int ssh_pull(const struct ssh *c, const char *folder, const char *dir,
             const char *const *names, struct err *e)
{
    char from[WORDS_MAX / 4][PATH_MAX], to[PATH_MAX], what[2 * PATH_MAX];
    const char *words[WORDS_MAX] = {0};
    size_t n = 3;

    words[2] = "-rEts"; /* no links, devices and FIFOs: the other host may have put them there */
    words[n++] = "--max-size=" SIZE_MAX_THERE;
    words[n++] = "--info=nonreg1,skip1";
    words[n++] = "--ignore-missing-args";
    /* A log of an earlier collection is not one of this. Nothing else is removed. */
    words[n++] = "--delete";
    words[n++] = "--filter=R /logs/log_*.csv";
    words[n++] = "--filter=P *";
    words[n++] = "-R";
    for (size_t i = 0; i < WORDS_MAX / 4 && names[i]; i++)
        words[n++] = path_format(from[i], "%s:%s/./%s", c->host, below_home(folder), names[i]);
    words[n++] = path_format(to, "%s/", dir);
    snprintf(what, sizeof what, "results on %s cannot be copied to %s", c->host, dir);
    return run_rsync(c, words, what, e);
}

/* ---- study.yaml of another host ---- */

#define MAX_FILE ((size_t)1 << 20)
#define KEY "site"

static const char *const keys[] = {"ssh", "folder", "site", "unetctl", NULL};

static char **member(struct remote_site *s, int i)
{
    return (char **[]){&s->host, &s->folder, &s->site, &s->unetctl}[i];
}

static int take_keys(const struct document_node *mapping, struct remote_site *s, struct err *e)
{
    for (size_t i = 0; i < mapping->count; i++) {
        const struct document_node *name = mapping->keys[i], *value = mapping->items[i];
        int k = cli_choose(name->text, keys, KEY ": unknown key", e);

        if (k < 0)
            return document_refuse(name, e, "%s", e->text);
        if (value->kind != DOCUMENT_TEXT || !*value->text)
            return document_refuse(value, e, KEY ".%s: must be a text", keys[k]);
        for (const char *p = value->text; *p; p++)
            if (control_size(p))
                return document_refuse(value, e, KEY ".%s: control characters are not allowed",
                                       keys[k]);
        free(*member(s, k));
        if (!(*member(s, k) = mem_text(value->text, e)))
            return -1;
    }
    return s->host ? 0 : document_refuse(mapping, e, KEY ": the key 'ssh' is missing");
}

/* Sets the presets of missing keys, and checks the values. The error names no file and line. */
static int complete(struct remote_site *s, const char *dir, struct err *e)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@%+-";
    const char *slash = strrchr(dir, '/');

    if ((!s->folder && !(s->folder = mem_textf(e, "~/unetctl/%s", slash ? slash + 1 : dir))) ||
        (!s->site && !(s->site = mem_text("generic", e))) ||
        (!s->unetctl && !(s->unetctl = mem_text("unetctl", e))))
        return -1;
    if (*s->host == '-' || !*s->host || strspn(s->host, letters) != strlen(s->host))
        return err_set(e, ERR_CONFIG, "'%s' must be a host, such as me@login.example.org or a Host "
                       "of ~/.ssh/config, where ports and jumps belong", s->host);
    const char *name = s->folder + (*s->folder == '~');
    if (*name != '/' || !name[1] || name[1] == '/' || strpbrk(name, "$*?[\\"))
        return err_set(e, ERR_CONFIG, "the folder on %s, '%s', must be /FOLDER or ~/FOLDER and "
                       "have none of $ * ? [ \\; write the path that a variable stands for",
                       s->host, s->folder);
    return 0;
}

/* Adds text, in which the lines of the key site become `site: VALUE` and empty lines, so that
 * errors name the right lines of the other keys. */
static int replace_site(const struct document *d, const char *text, const char *value,
                        struct buf *dst, struct err *e)
{
    const struct document_node *root = d->root, *own = NULL;
    size_t end = SIZE_MAX;

    for (size_t i = 0; i < root->count; i++)
        if (strcmp(root->keys[i]->text, KEY) == 0)
            own = root->keys[i];
    for (size_t i = 0; own && i < root->count; i++) {
        const struct document_node *key = root->keys[i];
        if (key != own && key->line == own->line)
            return document_refuse(own, e, KEY ": write it on lines of its own");
        if (key->line > own->line && key->line < end)
            end = key->line;
    }
    for (size_t line = 1; *text; line++) {
        size_t n = strcspn(text, "\n");
        n += text[n] == '\n';
        if (own && line == own->line)
            buf_addf(dst, "%.*s" KEY ": %s\n", (int)strspn(text, " "), text, value);
        else if (own && line > own->line && line < end)
            buf_add(dst, "\n");
        else
            buf_add_bytes(dst, text, n);
        text += n;
    }
    if (!own)
        buf_addf(dst, KEY ": %s\n", value);
    return dst->failed ? mem_fail(e) : 0;
}

/* Makes the file for the host, and checks that it is what it should be. */
static int encode_there(const struct document *d, const char *file, const char *text,
                        const struct remote_site *s, struct buf *dst, struct err *e)
{
    struct buf value = {0};

    buf_add_json_string(&value, s->site);
    int rc = value.failed ? mem_fail(e) : replace_site(d, text, value.data, dst, e);
    buf_destroy(&value);
    struct document *made = rc ? NULL : document_decode(dst->data, dst->length, file, e);
    const struct document_node *site = made ? document_get(made->root, KEY) : NULL;
    if (made && (!site || strcmp(site->text, s->site) != 0 || made->root->count != d->root->count))
        rc = err_set(e, ERR_CONFIG, "%s: " KEY ": write it on lines of its own", file);
    document_destroy(made);
    return made ? rc : -1;
}

int remote_site_read(const char *dir, struct remote_site *s, struct buf *text, struct err *e)
{
    char file[PATH_MAX];
    struct err unreported;
    size_t n = 0;
    int rc = 0;

    *s = (struct remote_site){0};
    path_format(file, "%s/" STUDY_FILE, dir);
    char *here = atomicfile_read(file, MAX_FILE, &n, &unreported);
    struct document *d = here ? document_decode(here, n, file, &unreported) : NULL;
    const struct document_node *site = d ? document_get(d->root, KEY) : NULL;
    if (site && site->kind == DOCUMENT_MAPPING) {
        rc = take_keys(site, s, e);
        if (rc == 0 && (rc = complete(s, dir, e)))
            err_prefix(e, "%s:%zu: " KEY, file, site->line);
        rc = rc || encode_there(d, file, here, s, text, e) ? -1 : 1;
    }
    document_destroy(d);
    free(here);
    return rc;
}

int remote_site_decode(const char *words, const char *dir, struct remote_site *s, struct err *e)
{
    size_t n = strcspn(words, ":");

    *s = (struct remote_site){0};
    s->host = mem_textf(e, "%.*s", (int)n, words);
    if (!s->host || (words[n] && words[n + 1] && !(s->folder = mem_text(words + n + 1, e))))
        return -1;
    if (complete(s, dir, e) == 0)
        return 0;
    e->code = e->code == ERR_CONFIG ? ERR_USAGE : e->code;
    return err_prefix(e, "--ssh");
}

int remote_site_encode(const char *there, const struct remote_site *s, struct buf *text,
                       struct err *e)
{
    struct document *d = document_decode(there, strlen(there), STUDY_FILE, e);
    const struct document_node *site = d ? document_get(d->root, KEY) : NULL;
    struct buf value = {0};

    buf_add(&value, "{ssh: ");
    buf_add_json_string(&value, s->host);
    buf_add(&value, ", folder: ");
    buf_add_json_string(&value, s->folder);
    buf_add(&value, ", site: ");
    buf_add_json_string(&value, site ? site->text : s->site);
    buf_add(&value, "}");
    int rc = !d ? -1 : value.failed ? mem_fail(e) : replace_site(d, there, value.data, text, e);
    buf_destroy(&value);
    document_destroy(d);
    return rc;
}

void remote_site_destroy(struct remote_site *s)
{
    for (size_t i = 0; keys[i]; i++)
        free(*member(s, i));
    *s = (struct remote_site){0};
}
