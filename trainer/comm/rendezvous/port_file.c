/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "trainer/comm/rendezvous/port_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/atomicfile.h"
#include "src/files.h"

#define LONGEST 16 /* bytes of the file */

static void make_path(char path[PATH_MAX], const char *dir)
{
    snprintf(path, PATH_MAX, "%s/port", dir); /* as short as the token's, which was opened */
}

int port_file_write(const char *dir, int port, struct err *e)
{
    char path[PATH_MAX], text[LONGEST];
    int n = snprintf(text, sizeof text, "%d\n", port);

    make_path(path, dir);
    return atomicfile_write(path, text, (size_t)n, 0600, e);
}

int port_file_read(const char *dir)
{
    char path[PATH_MAX];
    struct err ignored;
    size_t n;

    make_path(path, dir);
    char *text = atomicfile_read(path, LONGEST, &n, &ignored);
    long port = text ? strtol(text, NULL, 10) : 0;
    free(text);
    return port > 0 && port <= 65535 ? (int)port : 0;
}

void port_file_remove(const char *dir)
{
    char path[PATH_MAX];

    make_path(path, dir);
    files_unlink(path);
}
