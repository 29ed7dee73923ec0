/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this room share: the connection to a host, and the site that describes it. */
#pragma once

#include "src/base.h"

#include "launcher/host/child.h"

/* A connection to another host, by the user's ssh and its configuration, and copies of files over
 * it, by rsync. All calls share one connection, which stays open for a minute after the last. */

struct ssh {
    const char *host;
    char control[PATH_MAX + 32]; /* ControlPath= and the path */
    const char *options[16];     /* words of ssh before the host; NULL-terminated */
};

/* Prepares a connection to host, which must live as long as c; nothing is sent. Returns 0 or -1. */
int ssh_open(struct ssh *c, const char *host, struct err *e);

/* Adds a path of the host as one word of sh; "~/" at its beginning is the user's folder there. */
void ssh_add_path(struct buf *script, const char *path);

/* Runs a script of sh there, whatever the user's shell is. streams: in, out and err as for
 * child_run; with tty the script has a terminal. Returns its exit code, in end as well, or -1;
 * SSH_LOST: that of ssh itself. child_destroy(end) in any case. */
#define SSH_LOST 255
int ssh_run(const struct ssh *c, const char *script, const struct child *streams,
            bool tty, struct child_end *end, struct err *e);

/* Sets an error for a connection that failed, with what ssh printed, and returns -1. */
int ssh_refuse(const struct ssh *c, char *printed, struct err *e);

/* Copies folder dir from here to there, but not the names that begin with one of those in except,
 * and back those names that exist there: folders and files of up to 1 GiB, but no links, FIFOs or
 * devices, of which a warning names the first. Files appear whole. Both return 0 or -1. */
int ssh_push(const struct ssh *c, const char *dir, const char *folder,
             const char *const *except, struct err *e);
int ssh_pull(const struct ssh *c, const char *folder, const char *dir,
             const char *const *names, struct err *e);

/* Returns the first or the last line of a text that a program printed, which is changed. */
const char *ssh_line(char *printed, bool last);

/* `site: {ssh: HOST, folder: FOLDER, site: NAME, unetctl: PATH}` of a study.yaml whose study is in
 * a folder of another host. */

struct remote_site {
    char *host;    /* as ssh knows it */
    char *folder;  /* of the study there, absolute or from "~/" on */
    char *site;    /* the profile there */
    char *unetctl; /* the program there, a path or a name */
};

/* Reads the study.yaml in folder dir, an absolute path. Returns 1 if the study is on another host;
 * then text has the study.yaml for that host, with the name of the profile as its site and with
 * all other lines where they are. Returns 0 if the study is here, or if its file cannot be read,
 * which is left to the verb to report. Returns -1 with ERR_CONFIG. remote_site_destroy in any
 * case. */
int remote_site_read(const char *dir, struct remote_site *s, struct buf *text, struct err *e);

/* Sets s from HOST or HOST:FOLDER, for the study in dir. Returns 0, or -1 with ERR_USAGE. */
int remote_site_decode(const char *words, const char *dir, struct remote_site *s, struct err *e);

/* The reverse: makes the study.yaml for here from the text of the one there. Returns 0 or -1. */
int remote_site_encode(const char *there, const struct remote_site *s, struct buf *text,
                       struct err *e);

void remote_site_destroy(struct remote_site *s);
