/* SPDX-License-Identifier: BSD-3-Clause */
/* `site: {ssh: HOST, folder: FOLDER, site: NAME, unetctl: PATH}` of a study.yaml whose study is in
 * a folder of another host. */
#ifndef UNETCTL_LAUNCHER_REMOTE_REMOTE_SITE_H
#define UNETCTL_LAUNCHER_REMOTE_REMOTE_SITE_H

#include "src/buf.h"
#include "src/err.h"

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

#endif
