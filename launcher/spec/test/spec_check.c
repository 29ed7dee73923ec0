/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks are processes of this host, which report to rank 0. */
#include "config.h"
#include "launcher/spec/spec_check.h"

#include <fcntl.h>
#include <sys/wait.h>

#include "launcher/spec/test/spec_ranks.h"

static char said[4096]; /* what rank 0 printed */

/* Runs in the child. Exit code 0 if all agree, 1 for ERR_PEER, 2 for another error. */
static void be(long rank, const char *tasks, int port, double timeout_s, int out)
{
    struct err e = {0};
    struct spec_rank r;

    dup2(out, STDOUT_FILENO);
    open_rank(&r, "localhost", tasks, rank, port);
    int rc = spec_check_run(&r.view, timeout_s, true, &e);
    close_rank(&r);
    fflush(stdout);
    _exit(rc == 0 ? 0 : e.code == ERR_PEER ? 1 : 2);
}

static void read_all(int fd)
{
    size_t n = 0;
    ssize_t got;

    while (n < sizeof said - 1 && (got = read(fd, said + n, sizeof said - 1 - n)) > 0)
        n += (size_t)got;
    said[n] = 0;
}

/* Starts ranks that believe in different numbers of tasks (NULL: the rank is not started) and
 * returns their exit codes as digits. */
static const char *meet(const long ranks[3], const char *const tasks[3], double timeout_s)
{
    static char codes[4];
    int port = free_ports(), channel[2], null = open("/dev/null", O_WRONLY);
    pid_t pids[3] = {0};

    if (pipe(channel))
        bail_out("no pipe");
    fflush(stdout);
    for (int i = 0; i < 3; i++) {
        pids[i] = tasks[i] ? fork() : 0;
        if (tasks[i] && pids[i] == 0) {
            close(channel[0]);
            be(ranks[i], tasks[i], port, timeout_s, i == 0 ? channel[1] : null);
        }
    }
    close(channel[1]);
    close(null);
    read_all(channel[0]);
    close(channel[0]);
    for (int i = 0; i < 3; i++) {
        int status = 0;
        if (pids[i] > 0)
            waitpid(pids[i], &status, 0);
        codes[i] = pids[i] > 0 ? (char)('0' + WEXITSTATUS(status)) : '-';
    }
    return codes;
}

int main(void)
{
    static const long in_order[] = {0, 1, 2}, doubled[] = {0, 1, 1};
    static const char *const three[] = {"3", "3", "3"}, *const torn[] = {"3", "3", "4"},
                                    *const without[] = {"3", "3", NULL};

    setenv("SLURMD_NODENAME", "localhost", 1);
    unsetenv("TF_CONFIG");
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_STEP_ID");
    is_str(meet(in_order, three, 30), "000", "three ranks agree");
    ok(strstr(said, "\"ok\":true") && strstr(said, "\"ranks\":3"),
       "rank 0 reports that they agree: %s", said);

    is_str(meet(in_order, torn, 30), "111",
           "if one rank sees four tasks, all ranks learn that they disagree");
    ok(strstr(said, "\"ok\":false") && strstr(said, "\"rank\":2") &&
       strstr(said, "it sees another cluster"), "rank 0 names that rank: %s", said);

    is_str(meet(in_order, without, 1), "11-", "a missing rank is reported to the others");
    ok(strstr(said, "it did not report to localhost"), "rank 0 names that rank: %s", said);

    is_str(meet(doubled, three, 3), "111", "two processes with one rank are reported to all");
    ok(strstr(said, "a second process has rank 1"), "rank 0 names that rank: %s", said);
    return done_testing();
}
