/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases that t/t3100-train.t does not reach: a second writer, the order of several endings, a
 * start's own marker file (UNETCTL_START), and a new start in the folder of a failed one. */
#include "src/base.h"
#include "trainer/run/run_log.h"

#include <sys/stat.h>

#include "src/atomicfile.h"
#include "t/tap.h"

static char dir[64];

static bool has_file(const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void clear(void)
{
    static const char *const names[] = {"DONE", "FAILED", "log.csv", "record.jsonl",
                                         "restart-1/FAILED", "restart-1/record.jsonl", "restart-1"};
    char path[128];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        remove(path);
    }
    rmdir(dir);
}

static struct run_log *start(void)
{
    struct run_log_epoch epoch = {.seconds = 2, .loss = 0.5, .lr = 0.001, .images = 10, .steps = 5};
    struct err e;
    bool again;
    struct run_log *r = run_log_open(dir, &again, &e);

    if (!r || run_log_epoch(r, &epoch, &e))
        bail_out("%s", e.text);
    return r;
}

int main(void)
{
    int64_t score[] = {9, 6, 3, 4, 5};
    const struct run_log_end end = {.score = score};
    bool again;
    struct err reason = {.code = ERR_PEER, .text = "rank 2: \"gone\"\n"}, e = {0};

    snprintf(dir, sizeof dir, "/tmp/run-log-test.%d", (int)getpid());
    unsetenv("SLURM_RESTART_COUNT");
    struct run_log *r = start();
    ok(run_log_open(dir, &again, &e) == NULL && e.code == ERR_CONFIG,
       "a second writer is refused: %s", e.text);
    ok(run_log_done(r, &end, &e) == 0 && has_file("DONE") && has_file("log.csv"), "done %s",
       e.text);
    run_log_failed(r, &reason);
    ok(!has_file("FAILED"), "what is done does not fail any more");
    run_log_close(r);
    clear();

    char running[128];
    snprintf(running, sizeof running, "%s/running-1", dir);
    mkdir(dir, 0777);
    fclose(fopen(running, "w"));
    setenv("UNETCTL_START", running, 1);
    r = start();
    ok(run_log_done(r, &end, &e) == 0 && !has_file("running-1"),
       "the marker is the file of the start");
    ok(run_log_check(r, &e) == 0, "which nobody has taken over then");
    run_log_close(r);
    unsetenv("UNETCTL_START");
    clear();

    r = start();
    run_log_failed(r, &reason);
    ok(has_file("FAILED") && !has_file("DONE"), "failed");
    ok(run_log_done(r, &end, &e) == -1 && !has_file("DONE") && !has_file("log.csv"),
       "what failed does not become done: %s", e.text);
    run_log_close(r);

    char path[128];
    size_t n;
    snprintf(path, sizeof path, "%s/FAILED", dir);
    char *text = atomicfile_read(path, 4096, &n, &e);
    is_str(text, "{\"schema\":1,\"exit_code\":5,\"error\":\"rank 2: \\\"gone\\\"\\n\"}\n",
           "FAILED is JSON whatever the reason holds");
    free(text);
    ok(run_log_open(dir, &again, &e) == NULL && has_file("FAILED"),
       "an epoch was trained: refused");
    clear();
    r = run_log_open(dir, &again, &e);
    run_log_failed(r, &reason);
    run_log_close(r);
    r = run_log_open(dir, &again, &e);
    ok(r && !again && !has_file("FAILED") && has_file("restart-1/FAILED") &&
           has_file("restart-1/record.jsonl"),
       "none was: set aside");
    run_log_close(r);
    clear();
    run_log_close(NULL);
    return done_testing();
}
