/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/set/set_internal.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "src/clock.h"
#include "t/tap.h"

#define COUNT 40
#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILE_NAME "dir/0123456789abcdef.cache"

static struct err e;
static atomic_int *made; /* shared with child processes */
static atomic_int stop;

/* Makes record i of 100 + i bytes of value i. arg: points to the milliseconds that it takes, or to
 * a number below 0 for an error; or NULL. */
static int make(void *arg, size_t i, struct buf *dst, struct err *err)
{
    char bytes[100 + COUNT];

    if (arg)
        clock_sleep((double)*(long *)arg / 1000);
    if (arg && *(long *)arg < 0)
        return err_set(err, ERR_DATA, "image %zu is damaged", i);
    memset(bytes, (int)i, sizeof bytes);
    buf_add_bytes(dst, bytes, 100 + i);
    atomic_fetch_add(made, 1);
    return 0;
}

static struct cache *open_cache(int threads, long *pause)
{
    struct cache_config config = {.dir = "dir", .key = KEY, .count = COUNT, .threads = threads,
                                  .make = make, .arg = pause, .interrupt = &stop};
    return cache_open(&config, &e);
}

static bool is_right(struct cache *c)
{
    size_t n;
    bool right = c != NULL;

    for (size_t i = 0; right && i < COUNT; i++) {
        const unsigned char *p = cache_get(c, i, &n, &e);
        right = p && n == 100 + i && (uintptr_t)p % 16 == 0 && p[0] == i && p[n - 1] == i;
    }
    return right;
}

static void test_making(void)
{
    for (int threads = 1; threads <= 4; threads += 3) {
        *made = 0;
        unlink(FILE_NAME);
        struct cache *c = open_cache(threads, NULL);
        ok(is_right(c) && *made == COUNT, "%d threads make all records once", threads);
        cache_close(c);
    }
    struct cache *c = open_cache(1, NULL);
    ok(is_right(c) && *made == COUNT, "the second time none is made");
    is_str(cache_path(c), FILE_NAME, "its file");
    cache_close(c);
}

static void overwrite(off_t at, int value)
{
    int fd = open(FILE_NAME, O_RDWR);
    unsigned char byte = (unsigned char)value;

    if (fd < 0 || pwrite(fd, &byte, 1, at) != 1 || close(fd))
        bail_out("can't damage the file");
}

static void test_damage(void)
{
    struct stat st;
    size_t n;

    overwrite(96, 77); /* the first byte of the first record */
    struct cache *c = open_cache(1, NULL);
    int bad = 0;
    for (size_t i = 0; c && i < COUNT; i++)
        bad += !cache_get(c, i, &n, &e);
    ok(bad == 1 && e.code == ERR_DATA && strstr(e.text, FILE_NAME), "a damaged record: %s", e.text);
    cache_close(c);

    stat(FILE_NAME, &st);
    const struct { off_t at; const char *what; } places[] = {
        {0, "the magic"}, {9, "the count"}, {40, "the key"}, {st.st_size - 10, "the index"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        unlink(FILE_NAME);
        cache_close(open_cache(1, NULL));
        overwrite(places[i].at, 0xee);
        *made = 0;
        c = open_cache(1, NULL);
        ok(is_right(c) && *made == COUNT, "damage in %s: made again", places[i].what);
        cache_close(c);
    }
    for (off_t size = 0; size < st.st_size; size += st.st_size / 3) {
        if (truncate(FILE_NAME, size))
            bail_out("can't truncate");
        c = open_cache(1, NULL);
        ok(is_right(c), "cut to %ld bytes: made again", (long)size);
        cache_close(c);
    }
}

static pid_t fork_builder(long pause)
{
    pid_t child = fork();

    if (child == 0) {
        struct cache *c = open_cache(2, &pause);
        _exit(is_right(c) ? 0 : 1);
    }
    return child;
}

static void test_builders(void)
{
    pid_t children[4];
    int status, good = 0;

    unlink(FILE_NAME);
    *made = 0;
    for (int i = 0; i < 4; i++)
        children[i] = fork_builder(2);
    for (int i = 0; i < 4; i++)
        good += waitpid(children[i], &status, 0) == children[i] && status == 0;
    is_int(good, 4, "four processes at once all have it");
    is_int(*made, COUNT, "and one has made it");
}

static bool has_leftovers(void)
{
    return system("ls dir | grep -q tmp-") == 0;
}

/* Kills builders after 0 to 22 ms: the next process never sees a partial file, builds it if there
 * is none, and leaves no temporary file. */
static void test_kills(void)
{
    int broken = 0, status, left = 0;

    for (int round = 0; round < 12; round++) {
        unlink(FILE_NAME);
        pid_t child = fork_builder(1);
        clock_sleep(2e-3 * round);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        left += has_leftovers();
        struct cache *c = open_cache(2, NULL);
        broken += !is_right(c) || has_leftovers();
        cache_close(c);
    }
    is_int(broken, 0, "12 builders killed: the next one makes it and cleans up (%d had left a "
           "file)", left);
}

static void test_failures(void)
{
    long fail = -1, slow = 20;

    unlink(FILE_NAME);
    ok(!open_cache(3, &fail) && e.code == ERR_DATA && strstr(e.text, "is damaged"),
       "a record that can't be made: %s", e.text);
    ok(access(FILE_NAME, F_OK) != 0 && !has_leftovers(), "leaves nothing");
    stop = 1;
    ok(!open_cache(1, &slow) && e.code == ERR_INTERRUPT, "interrupted: %s", e.text);
    stop = 0;
    ok(!has_leftovers(), "leaves nothing");
    struct cache_config config = {.dir = "no/such/dir", .key = KEY, .count = 1, .make = make};
    ok(!cache_open(&config, &e) && strstr(e.text, "data.cache"), "no folder: %s", e.text);
}

int main(void)
{
    char dir[] = "/tmp/unetctl-cache.XXXXXX", command[64];

    log_set_level(LOG_QUIET);
    made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED || !mkdtemp(dir) || chdir(dir))
        bail_out("no temporary folder");
    test_making();
    test_damage();
    test_builders();
    test_kills();
    test_failures();
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return done_testing() + (system(command) != 0);
}
