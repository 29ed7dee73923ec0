/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/doctor/study_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "launcher/host/path.h"
#include "launcher/plan/model_look.h"
#include "launcher/plan/run_cost.h"
#include "src/files.h"

#define SERVER_CLOCK_S 5.0

/* Returns the name of the file system of dir if it is of a kind that only this host can see,
 * otherwise NULL. */
static const char *local_file_system(const char *dir)
{
    static const struct {
        unsigned long type;
        const char *name;
    } known[] = {{0x01021994, "tmpfs"}, {0x858458f6, "ramfs"}, {0x794c7630, "overlay"},
                 {0xef53, "ext4"},      {0x58465342, "xfs"},   {0x9123683e, "btrfs"}};
    struct statfs fs;

    if (statfs(dir, &fs))
        return NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((unsigned long)fs.f_type == known[i].type)
            return known[i].name;
    return NULL;
}

static void check_space(const struct workspace *w, struct findings *f)
{
    struct model_look model = {0};
    struct statvfs fs;
    struct err ignored;

    if (statvfs(w->study.dir, &fs))
        return;
    if (study_runs_trainer(&w->study))
        (void)model_look_open(&w->study, false, &model, &ignored);
    double need = (double)run_cost_disk(&w->study, &model, w->options.time_min);
    double left = (double)fs.f_bavail * (double)fs.f_frsize;
    if (left < need || (fs.f_files && fs.f_favail < 100)) {
        findings_add(f, FINDING_ERROR, "space",
                     "%s: %.1f MiB and %lu files left, but one run writes up to %.1f MiB",
                     w->study.dir, left / 1048576, (unsigned long)fs.f_favail, need / 1048576);
        findings_remedy(f, "make room (df -h %s), or move the study", w->study.dir);
    } else {
        findings_add(f, FINDING_OK, "space", "%.1f GiB left for runs of up to %.1f MiB",
                     left / (1 << 30), need / 1048576);
    }
}

/* Checks that locks work. If two processes could hold one lock, a job might be submitted twice. */
static void check_lock(const char *path, int fd, struct findings *f)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int other = files_open(path, O_RDWR, 0);
    int first = fcntl(fd, F_OFD_SETLK, &lock), reason = errno;
    int second = other < 0 || first ? -1 : fcntl(other, F_OFD_SETLK, &lock);

    if (first) {
        findings_add(f, FINDING_ERROR, "lock", "%s: cannot be locked: %s", path, strerror(reason));
        findings_remedy(f, "move the study to a file system with locks (NFS without nolock, Lustre "
                        "with flock)");
    } else if (second == 0) {
        findings_add(f, FINDING_ERROR, "lock", "%s: the file system grants one lock to two holders",
                     path);
        findings_remedy(f, "move the study to another file system");
    } else {
        findings_add(f, FINDING_OK, "lock", "the study can be locked");
    }
    if (other >= 0)
        close(other);
}

/* Compares this host's clock with the file server's, by the time of a file that was just
 * written. */
static void check_server_clock(int fd, struct findings *f)
{
    struct stat st;
    double skew;

    if (write(fd, "x", 1) != 1 || fstat(fd, &st))
        return;
    skew = difftime(st.st_mtime, time(NULL));
    if (fabs(skew) <= SERVER_CLOCK_S)
        return;
    findings_add(f, FINDING_WARNING, "clocks", "the file server's clock is %.0f s %s this host's",
                 fabs(skew), skew > 0 ? "ahead of" : "behind");
    findings_remedy(f, "ask the administrators to run chrony or ntpd on this host and the file "
                       "server");
}

void study_folder_check(const struct workspace *w, struct findings *f)
{
    const char *local = local_file_system(w->study.dir);
    bool cluster = strcmp(w->scheduler, "slurm") == 0 && !w->site.sandbox;
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof path, "%s/.doctor.%d", w->study.dir, (int)getpid());
    fd = files_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0) {
        findings_add(f, FINDING_ERROR, "study", "%s: cannot be written: %s", w->study.dir,
                     strerror(errno));
        findings_remedy(f, "chmod u+w %s, or make room there", w->study.dir);
        return;
    }
    if (local && cluster) {
        findings_add(f, FINDING_WARNING, "study", "%s is on %s, which other hosts may not see",
                     w->study.dir, local);
        findings_remedy(f, "put studies on the cluster's shared file system ('unetctl doctor "
                        "--gpus N' checks that)");
    } else {
        findings_add(f, FINDING_OK, "study", "%s can be written", w->study.dir);
    }
    check_lock(path, fd, f);
    check_server_clock(fd, f);
    close(fd);
    files_unlink(path);
    check_space(w, f);
}

/* ---- which other users may change what this user executes ---- */

/* Many systems give each user a group of the same name, and files that it may write. */
static bool is_own_group(gid_t group)
{
    const struct passwd *me = getpwuid(geteuid());
    const struct group *g = me && me->pw_gid == group ? getgrgid(group) : NULL;

    return g && strcmp(g->gr_name, me->pw_name) == 0;
}

/* Writes "the group staff", or its number if it has no name. */
static void put_name(const char *kind, unsigned id, const char *name, char *dst, size_t size)
{
    if (name)
        snprintf(dst, size, "%s %s", kind, name);
    else
        snprintf(dst, size, "%s %u", kind, id);
}

/* Sets who may write there, or returns false. In a folder above the given path that is sticky, as
 * /tmp is, others can replace nothing; the owners of folders above are trusted. */
static bool find_who(const struct stat *st, bool above, char *who, size_t size)
{
    if (above && S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX)
        return false;
    if (!above && st->st_uid && st->st_uid != geteuid()) {
        const struct passwd *p = getpwuid(st->st_uid);
        put_name("its owner", st->st_uid, p ? p->pw_name : NULL, who, size);
    } else if (st->st_mode & S_IWOTH) {
        snprintf(who, size, "every user");
    } else if (st->st_mode & S_IWGRP && st->st_gid && !is_own_group(st->st_gid)) {
        const struct group *g = getgrgid(st->st_gid);
        put_name("the group", st->st_gid, g ? g->gr_name : NULL, who, size);
    } else {
        return false;
    }
    return true;
}

bool study_folder_find_writer(const char *path, struct study_folder_writer *dst)
{
    struct stat st;
    bool above = false;

    if (!realpath(path, dst->path))
        return false;
    for (;; above = true) {
        char *slash = strrchr(dst->path, '/');
        if (stat(dst->path, &st) == 0 && find_who(&st, above, dst->who, sizeof dst->who))
            return true;
        if (!slash || !dst->path[1])
            return false;
        slash[slash == dst->path] = 0;
    }
}

void study_folder_check_rights(const struct workspace *w, struct findings *f)
{
    char ledger[PATH_MAX], submit_file[PATH_MAX], run_file[PATH_MAX];
    bool own_site = strchr(w->site.name, '/'); /* others are installed as this program is */
    const char *paths[] = {
        w->study.dir, w->study.file, w->ledger.dir,
        path_format(ledger, "%s/ledger.jsonl", w->ledger.dir), own_site ? w->site.file : "",
        w->templates, path_format(submit_file, "%s/submit_file.sh", w->templates),
        path_format(run_file, "%s/run_file.sh", w->templates)};
    struct study_folder_writer writer;
    char last[PATH_MAX] = "";

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!*paths[i] || (i > 5 && !*w->templates) ||
            !study_folder_find_writer(paths[i], &writer) || strcmp(writer.path, last) == 0)
            continue;
        strcpy(last, writer.path);
        findings_add(f, FINDING_WARNING, "rights", "%s may write %s, and so start commands as you",
                     writer.who, writer.path);
        findings_remedy(f, "if that is not meant: chmod go-w %s, or copy it to a folder of your "
                           "own", writer.path);
    }
    if (!*last)
        findings_add(f, FINDING_OK, "rights", "only you may write the study, its site and "
                     "templates");
}
