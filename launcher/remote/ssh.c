/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/remote/ssh.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/host/path.h"
#include "launcher/script/template.h"
#include "src/log.h"
#include "src/mem.h"
#include "src/text.h"

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
