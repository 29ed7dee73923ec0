/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/atomicfile.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "t/tap.h"

static struct err e;

static bool holds(const char *path, const char *want)
{
    size_t n = 0;
    char *got = atomicfile_read(path, 1 << 20, &n, &e);
    bool same = got && n == strlen(want) && memcmp(got, want, n) == 0;

    free(got);
    return same;
}

static int files_here(void)
{
    DIR *d = opendir(".");
    int n = -2;

    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) ? 0 : st.st_mode & 07777;
}

/* Makes writes beyond n bytes fail with EFBIG, which takes the same path as a full disk
 * (ENOSPC). */
static void limit_file_size(rlim_t n)
{
    struct rlimit limit = {n, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void writing(void)
{
    ok(atomicfile_write("a", "one\n", 4, 0666, &e) == 0 && holds("a", "one\n"),
       "a new file is written");
    is_int(mode_of("a"), 0644, "its mode follows the umask");
    ok(atomicfile_write("a", "", 0, 0600, &e) == 0 && holds("a", ""),
       "the file is replaced by an empty one");
    is_int(mode_of("a"), 0600, "it gets the new mode");
    mode_t mask = umask(002);
    ok(atomicfile_write("sub/run", "", 0, 0777, &e) == 0 && mode_of("sub/run") == 0755,
       "the group cannot write a file that is executed");
    chmod("sub", 02775);
    ok(atomicfile_write("sub/run", "", 0, 0777, &e) == 0 && mode_of("sub/run") == 0775,
       "except in a folder whose group shares its files");
    unlink("sub/run");
    chmod("sub", 0755);
    umask(mask);
    ok(atomicfile_write("a", "x\0y", 3, 0644, &e) == 0 && !holds("a", "x"), "NUL bytes are kept");
    ok(atomicfile_write("nowhere/a", "x", 1, 0644, &e) == -1 && e.code == ERR_INTERNAL &&
           strstr(e.text, "nowhere/a"), "a missing folder is reported: %s", e.text);
    ok(atomicfile_write("sub", "x", 1, 0644, &e) == -1,
       "a folder in place of the file is refused: %s", e.text);
    ok(atomicfile_write("fifo", "x", 1, 0644, &e) == -1,
       "a FIFO in place of the file is refused: %s", e.text);
    ok(symlink("../a", "sub/link") == 0 && atomicfile_write("sub/link", "thru", 4, 0644, &e) == 0 &&
           holds("a", "thru") && readlink("sub/link", (char[8]){0}, 8) == 4, "a link is followed");
    is_int(files_here(), 3, "no temporary file is left");
}

static void streaming(void)
{
    struct atomicfile *a = atomicfile_open("s", 0644, &e);

    fprintf(atomicfile_stream(a), "%d %s\n", 5, "words");
    ok(access("s", F_OK) != 0, "before the commit there is no file");
    ok(atomicfile_commit(a, &e) == 0 && holds("s", "5 words\n"), "after the commit there is");
    a = atomicfile_open("s", 0644, &e);
    fprintf(atomicfile_stream(a), "lost");
    atomicfile_abort(a);
    ok(holds("s", "5 words\n") && files_here() == 4, "abort leaves the old file and nothing else");
    atomicfile_abort(NULL);
}

static void full_disk(void)
{
    char big[9000];
    struct atomicfile *a;

    memset(big, 'x', sizeof big);
    ok(atomicfile_append("l", "first", &e) == 0, "a line is appended to a new file");
    limit_file_size(4096);
    ok(atomicfile_write("s", big, sizeof big, 0644, &e) == -1 && strstr(e.text, strerror(EFBIG)),
       "a write without room fails: %s", e.text);
    ok(holds("s", "5 words\n"), "the old file is intact");
    a = atomicfile_open("s", 0644, &e);
    for (int i = 0; i < 9000; i++)
        putc('y', atomicfile_stream(a));
    errno = 0;
    ok(atomicfile_commit(a, &e) == -1 && holds("s", "5 words\n"),
       "the old file is intact after a failed stream: %s",
       e.text);
    big[sizeof big - 1] = 0;
    ok(atomicfile_append("l", big, &e) == -1 && strstr(e.text, strerror(EFBIG)) &&
           holds("l", "first\n"),
       "the old file is intact after a failed append: %s",
       e.text);
    limit_file_size(RLIM_INFINITY);
    is_int(files_here(), 5, "no temporary file is left");
}

static void reading(void)
{
    size_t n;
    char *text;

    ok(atomicfile_read("missing", 10, &n, &e) == NULL && e.code == ERR_DATA, "%s", e.text);
    ok(atomicfile_read("sub", 10, &n, &e) == NULL && strstr(e.text, "folder"), "%s", e.text);
    ok(atomicfile_read("fifo", 10, &n, &e) == NULL && strstr(e.text, "regular"), "%s", e.text);
    ok(atomicfile_read("/dev/zero", 10, &n, &e) == NULL, "%s", e.text);
    atomicfile_write("ten", "0123456789", 10, 0644, &e);
    text = atomicfile_read("ten", 10, &n, &e);
    ok(text && n == 10 && text[10] == 0, "a file as long as the limit is read");
    free(text);
    ok(atomicfile_read("ten", 9, &n, &e) == NULL && strstr(e.text, "9 bytes"), "%s", e.text);
    text = atomicfile_read("/proc/self/status", 1 << 20, &n, &e);
    ok(text && n == strlen(text) && n > 100, "a file whose reported size is 0 is read");
    free(text);
    ok(atomicfile_read("/proc/self/status", 50, &n, &e) == NULL,
       "the limit applies to it: %s", e.text);
}

static void appending(void)
{
    ok(atomicfile_append("l", "second\n", &e) == 0 && holds("l", "first\nsecond\n"),
       "a final newline is not doubled");
    atomicfile_write("l", "whole\nto", 8, 0644, &e);
    ok(atomicfile_append("l", "next", &e) == 0 && holds("l", "whole\nto\nnext\n"),
       "an incomplete line is ended before another is appended");
    ok(atomicfile_append("nowhere/l", "x", &e) == -1, "%s", e.text);
}

static void batches(void)
{
    struct atomicfile_batch b = {0};
    int before = files_here();

    atomicfile_write("b1", "old", 3, 0644, &e);
    ok(atomicfile_batch_add(&b, "b1", "new", 3, 0600, &e) == 0 &&
           atomicfile_batch_add(&b, "b2", "", 0, 0644, &e) == 0 && holds("b1", "old") &&
           access("b2", F_OK) != 0, "files of a batch are not visible yet");
    ok(atomicfile_batch_add(&b, "sub", "x", 1, 0644, &e) == -1 && b.count == 2,
       "a file that cannot be written is not part of the batch: %s", e.text);
    ok(atomicfile_batch_commit(&b, &e) == 0 && holds("b1", "new") && holds("b2", "") &&
           mode_of("b1") == 0600 && files_here() == before + 2,
       "they are visible after a commit, and no temporary file stays");
    ok(atomicfile_batch_add(&b, "b1", "newer", 5, 0644, &e) == 0 &&
           atomicfile_batch_add(&b, "b3", "x", 1, 0644, &e) == 0 &&
           atomicfile_batch_commit(&b, &e) == 0 && b.count == 0 && holds("b1", "newer") &&
           holds("b3", "x"), "another commit replaces files");
    ok(atomicfile_batch_add(&b, "b1", "lost", 4, 0644, &e) == 0 &&
           atomicfile_batch_add(&b, "b4", "lost", 4, 0644, &e) == 0 && b.count == 2,
       "two more files are added");
    atomicfile_batch_abort(&b);
    ok(holds("b1", "newer") && access("b4", F_OK) != 0 && files_here() == before + 3,
       "after an abort the files are as before");
    ok(atomicfile_batch_commit(&b, &e) == 0, "an empty batch can be committed");
    limit_file_size(4096);
    char big[9000] = {0};
    ok(atomicfile_batch_add(&b, "b5", big, sizeof big, 0644, &e) == -1 && strstr(e.text, "b5"),
       "an addition without room fails: %s", e.text);
    limit_file_size(RLIM_INFINITY);
    atomicfile_batch_abort(&b);
    is_int(files_here(), before + 3, "no temporary file is left");
}

/* A name that a user chose is never overwritten, even if the file appears during the write. */
static void only_new(void)
{
    ok(atomicfile_write_new("new", "one", 3, 0644, &e) == 0 && holds("new", "one"),
       "a new name is written");
    int before = files_here();
    ok(atomicfile_write_new("new", "two", 3, 0644, &e) == -1 && e.code == ERR_CONFIG &&
           strstr(e.text, "new exists") && holds("new", "one"),
       "an existing file is not overwritten: %s", e.text);
    struct atomicfile *a = atomicfile_create("late", 0644, &e);
    ok(a && fputs("two", atomicfile_stream(a)) >= 0 &&
           atomicfile_write("late", "one", 3, 0644, &e) == 0 &&
           atomicfile_commit(a, &e) == -1 && e.code == ERR_CONFIG && holds("late", "one"),
       "a file that appeared meanwhile is not overwritten: %s", e.text);
    ok(symlink("nowhere", "dangling") == 0 && !atomicfile_create("dangling", 0644, &e),
       "a dangling link is not overwritten");
    ok(atomicfile_check_own("new", "one", &e) == 0 &&
           atomicfile_check_own("fresh", "one", &e) == 0 &&
           atomicfile_check_own("new", "two", &e) == -1 && e.code == ERR_CONFIG &&
           atomicfile_check_own("sub", "one", &e) == -1 &&
           atomicfile_check_own("dangling", "one", &e) == -1,
       "what has our mark may be replaced: %s", e.text);
    ok(atomicfile_check_new("sub", &e) == -1 && atomicfile_check_new("fresh", &e) == 0,
       "a name can be checked beforehand");
    is_int(files_here(), before + 2, "no temporary file is left");
}

int main(void)
{
    char dir[] = "/tmp/unetctl-atomicfile.XXXXXX", command[64];

    umask(022);
    if (!mkdtemp(dir) || chdir(dir) || mkdir("sub", 0755) || mkfifo("fifo", 0600))
        bail_out("no work folder in /tmp");
    writing();
    streaming();
    full_disk();
    reading();
    appending();
    batches();
    only_new();
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) || done_testing();
}
