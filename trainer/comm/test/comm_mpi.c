/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI communicator. Run alone it is a unit test with one rank; t/t4000-comm.t runs it under
 * mpirun. An operand chooses the check: none, every collective; "async", the same with a thread for
 * communication; "fail", rank 1 fails and the others must report its error; "async-fail", the
 * same while its thread waits for a sum; "hang", rank 1 does not enter a barrier; "init", MPI has 2
 * s to start. Rank 0 prints TAP. If MPI does not start, the exit code is the error's. */
#include "src/base.h"
#include "trainer/comm/comm_open.h"

#include "t/tap.h"
#include "trainer/comm/test/check.h"

#ifdef HAVE_MPI

static int fail_on_one(struct comm *c, struct err *e)
{
    if (c->rank == 1)
        return err_set(e, ERR_DATA, "image 7 is broken");
    return c->ops->barrier(c, e);
}

static int fail_in_sum(struct comm *c, struct err *e)
{
    static float v[1000];

    if (c->rank != 1)
        return c->ops->barrier(c, e);
    return comm_start_sum_float(c, v, 1000, e) ? -1
                                                  : err_set(e, ERR_DATA, "image 7 is broken");
}

static int stay_away(struct comm *c, struct err *e)
{
    c->timeout_s = 2;
    if (c->rank == 1)
        for (;;)
            pause();
    return c->ops->barrier(c, e);
}

int main(int argc, char **argv)
{
    struct err e = {0};
    const char *what = argc > 1 ? argv[1] : "";
    bool async = strncmp(what, "async", 5) == 0;
    char host[256] = "";
    struct comm_config config = {.rank = -1, .host = host,
                                 .timeout_s = strcmp(what, "init") == 0 ? 2 : 60};
    int rc;

    gethostname(host, sizeof host - 1);
    struct comm *c = comm_mpi_open(&config, NULL, NULL, &e);

    if (!c || (async && comm_mpi_start_thread(c, &e))) {
        fprintf(stderr, "%s\n", e.text);
        return e.code;
    }
    if (strcmp(what, "fail") == 0)
        rc = fail_on_one(c, &e);
    else if (strcmp(what, "hang") == 0)
        rc = stay_away(c, &e);
    else if (strcmp(what, "async-fail") == 0)
        rc = fail_in_sum(c, &e);
    else
        rc = check_collectives(c, &e);
    if (c->rank == 0)
        ok(rc == 0, "mpi: all collectives, %d ranks, %s: %s", c->size, comm_mpi_version(), e.text);
    if (rc) {
        fflush(stdout); /* another rank's abort may end this process first */
        c->ops->abort(c, &e);
    }
    int rank = c->rank;
    c->ops->close(c);
    return rank == 0 ? done_testing() : 0;
}

#else

int main(void)
{
    skip_all("built without MPI");
}

#endif
