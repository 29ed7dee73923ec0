/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/files.h"

#include <fcntl.h>

#include "src/atomicfile.h"
#include "t/tap.h"

static struct err e;

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    if (!f || fputs(text, f) < 0 || fclose(f))
        exit(255);
}

static bool holds(const char *path, const char *want)
{
    char got[64] = "";
    FILE *f = fopen(path, "r");

    if (f && !fgets(got, sizeof got, f))
        *got = 0;
    if (f)
        fclose(f);
    return strcmp(got, want) == 0;
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* Returns whether rc is a failure for this reason. */
static bool fails(int rc, int number)
{
    return rc < 0 && errno == number;
}

static void links(void)
{
    struct dirent **list;
    struct stat st;

    ok(fails(files_open("report/file", O_WRONLY | O_TRUNC, 0), ELOOP), "a link is not opened");
    files_error(&e, ERR_INTERNAL, errno, "cannot write", "report/file");
    is_str(e.text, "cannot write report/file: it is a symbolic link, which is not followed; remove it",
           "the error says so");
    ok(fails(files_open("report/folder/canary", O_RDONLY, 0), ENOTDIR),
       "nor is a file below a link opened");
    files_error(&e, ERR_DATA, errno, "cannot read", "report/folder/canary");
    ok(strstr(e.text, "report/folder is a symbolic link"), "it names the link: %s", e.text);
    ok(fails(files_open("report/./folder//canary", O_RDONLY, 0), ENOTDIR),
       "also if the path has empty parts");
    ok(files_list("report/folder") == NULL && files_scan("report/folder", &list, NULL, NULL) < 0,
       "a link to a folder is not listed");
    ok(fails(files_make_folder("report/folder"), ELOOP), "nor is it a folder that exists");
    ok(fails(files_unlink("report/folder/canary"), ENOTDIR) &&
           fails(files_rename("report/folder/canary", "report/x", 0), ENOTDIR) &&
           fails(files_link("report/folder/canary", "report/x"), ENOTDIR) &&
           fails(files_symlink("x", "report/folder/x"), ENOTDIR) &&
           fails(files_mkdir("report/folder/x"), ENOTDIR),
       "nothing is removed, moved or made through it");
    files_remove_tree("report/folder");
    files_remove_tree("report");
    ok(holds("outside/canary", "kept"), "a tree is removed without what its links lead to");
    ok(!is_there("report"), "it is removed as a whole");
    ok(files_stat("outside/link", &st) == 0 && S_ISREG(st.st_mode) &&
           atomicfile_write("outside/link", "new", 3, 0666, &e) == 0 &&
           holds("outside/canary", "new"), "a link in another folder is followed");
}

static void kinds(void)
{
    ok(fails(files_open("own/fifo", O_RDONLY, 0), ENXIO) &&
           fails(files_open("own/fifo", O_WRONLY | O_APPEND, 0), ENXIO) &&
           fails(files_open("own/fifo", O_RDWR, 0), ENXIO), "a FIFO is refused at once");
    files_error(&e, ERR_DATA, ENXIO, "cannot read", "own/fifo");
    is_str(e.text, "cannot read own/fifo: not a regular file; remove it", "the error says so");
    ok(fails(files_open("/dev/zero", O_RDONLY, 0), ENXIO), "so is a device");
    ok(fails(files_open("own", O_RDONLY, 0), EISDIR), "and a folder");
    ok(!files_stream("own/huge", "r", FILES_TEXT_MAX) && errno == EFBIG, "a file over its limit too");
    FILE *f = files_stream("own/lines", "a", 0);
    ok(f && fputs("line\n", f) >= 0 && fclose(f) == 0 && holds("own/lines", "line\n"),
       "a line is appended");
}

static void studies(void)
{
    size_t n;
    struct stat st;

    char *text = atomicfile_read("study/study.yaml", 100, &n, &e);
    ok(text && strcmp(text, "new") == 0, "the user's file may be a link");
    free(text);
    ok(atomicfile_write("study/study.yaml", "", 0, 0666, &e) == -1 && strstr(e.text, "symbolic link"),
       "it is not written through that: %s", e.text);
    int fd = files_open("study/data/canary", O_RDONLY, 0);
    ok(fd >= 0, "the user's folder may be a link");
    close(fd);
    ok(files_mkdir("study/runs/r") == 0 && is_there("scratch/r"), "so may runs");
    ok(files_stat("study/runs", &st) == 0 && S_ISDIR(st.st_mode), "which is a folder then");
    ok(symlink("../outside", "scratch/r/attempt-1") == 0 &&
           fails(files_unlink("study/runs/r/attempt-1/canary"), ENOTDIR), "but nothing below it");
    files_remove_tree("study/runs");
    ok(is_there("scratch/r") && is_there("study/runs"), "a link to it is not removed");
    ok(atomicfile_append("study/.unetctl/ledger.jsonl", "x", &e) == -1 &&
           strstr(e.text, ".unetctl is a symbolic link"), "%s", e.text);
    ok(files_list("study/logs") == NULL, "a link as logs is refused");
    files_own("study/other");
    ok(fails(files_open("study/other/file", O_RDWR, 0), ELOOP), "so is one in a report in a study");
}

int main(void)
{
    char dir[] = "/tmp/unetctl-files.XXXXXX";

    if (!mkdtemp(dir) || chdir(dir))
        return 255;
    if (mkdir("outside", 0700) || mkdir("report", 0700) || mkdir("own", 0700) ||
        mkdir("study", 0700) || mkdir("scratch", 0700) || mkdir("report/deep", 0700) ||
        mkdir("study/other", 0700))
        return 255;
    put("outside/canary", "kept");
    put("report/deep/file", "x");
    if (symlink("../outside/canary", "report/file") || symlink("../outside", "report/folder") ||
        symlink("../../outside", "report/deep/folder") || symlink("canary", "outside/link") ||
        mkfifo("own/fifo", 0600) || symlink("../outside/canary", "study/study.yaml") ||
        symlink("../outside", "study/data") || symlink("../scratch", "study/runs") ||
        symlink("../outside", "study/.unetctl") || symlink("../outside", "study/logs") ||
        symlink("../../outside/canary", "study/other/file"))
        return 255;
    put("own/huge", "");
    if (truncate("own/huge", (off_t)1 << 40))
        return 255;
    files_own("./report/");
    files_own("own");
    files_own_study("study");
    links();
    kinds();
    studies();
    if (chdir("/") == 0)
        files_remove_tree(dir);
    ok(!is_there(dir), "the folder of this test is removed");
    return done_testing();
}
