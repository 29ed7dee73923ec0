/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/host/procid.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/host/path.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

struct stat_line {
    char state;
    int session;
    unsigned long long start;
};

/* Reads /proc/PID/stat: "PID (NAME) STATE PPID PGRP SESSION ... STARTTIME". NAME may contain
 * blanks and parentheses. */
static int read_stat(pid_t pid, struct stat_line *dst)
{
    char path[64], text[1024];
    size_t n;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return -1;
    n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    const char *rest = strrchr(text, ')');
    if (!rest || sscanf(rest + 1, " %c %*d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
                        "%*d %*d %*d %llu", &dst->state, &dst->session, &dst->start) != 3)
        return -1;
    return dst->state == 'Z' || dst->state == 'X' ? -1 : 0;
}

int procid_get(pid_t pid, struct procid *dst)
{
    struct stat_line line;

    if (pid <= 0 || read_stat(pid, &line) < 0)
        return -1;
    dst->pid = pid;
    dst->start = line.start;
    path_read_line(BOOT_ID, dst->boot, sizeof dst->boot);
    return 0;
}

bool procid_is_alive(const struct procid *id)
{
    struct procid now;

    return procid_get(id->pid, &now) == 0 && now.start == id->start &&
           strcmp(now.boot, id->boot) == 0;
}

bool procid_is_boot(const struct procid *id)
{
    char boot[sizeof id->boot];

    path_read_line(BOOT_ID, boot, sizeof boot);
    return strcmp(boot, id->boot) == 0;
}

int procid_signal_session(pid_t session, int signal)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    struct stat_line line;
    int n = 0;

    while (proc && (entry = readdir(proc))) {
        pid_t pid = atoi(entry->d_name);
        if (pid <= 0 || pid == getpid() || read_stat(pid, &line) < 0 || line.session != session)
            continue;
        n++;
        if (signal)
            kill(pid, signal);
    }
    if (proc)
        closedir(proc);
    return n;
}
