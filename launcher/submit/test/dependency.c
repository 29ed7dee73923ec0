/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes of --max-in-flight, and what --after and --dependency add. */
#include "src/base.h"
#include "launcher/submit/submit_internal.h"

#include "launcher/submit/test/demo.h"

static struct err e;
static bool failed;

static struct job_state job(const char *id, enum state state)
{
    struct job_state j = {0};

    snprintf(j.id, sizeof j.id, "%s", id);
    job_state_set(&j, state);
    return j;
}

static void check_lanes(struct workspace *w)
{
    const struct job_state jobs[] = {job("9", STATE_RUNNING), job("10", STATE_PENDING),
                                     job("8", STATE_PENDING), job("11", STATE_COMPLETED)};
    struct dependency d;

    w->plan.scheduler = "slurm";
    w->plan.max_in_flight = 2;
    ok(dependency_open(&d, w, NULL, jobs, 4, &e) == 0 && d.nlanes == 2, "there are two lanes");
    is_str(dependency_next(&d, &failed), "afterany:9",
           "a job waits for the older of the two newest that have not ended");
    dependency_add(&d, "12");
    is_str(dependency_next(&d, &failed), "afterany:10", "the next one for the other");
    dependency_add(&d, "13");
    is_str(dependency_next(&d, &failed), "afterany:12", "then the turns begin again");
    dependency_close(&d);
    ok(dependency_open(&d, w, NULL, NULL, 0, &e) == 0 && !dependency_next(&d, &failed) && !failed,
       "without earlier jobs the first one waits for none");
    dependency_close(&d);
    w->plan.options.dependency = "singleton";
    ok(dependency_open(&d, w, NULL, jobs, 1, &e) == 0, "a dependency of the user is taken");
    is_str(dependency_next(&d, &failed), "singleton",
           "for a lane without a job it is the only one");
    dependency_add(&d, "14");
    is_str(dependency_next(&d, &failed), "singleton,afterany:9", "and otherwise one of two");
    dependency_close(&d);
    w->plan.options.dependency = "afterok:1?afterok:2";
    ok(dependency_open(&d, w, NULL, jobs, 4, &e) == -1 && e.code == ERR_USAGE,
       "alternatives exclude lanes: %s", e.text);
    w->plan.max_in_flight = 0;
    ok(dependency_open(&d, w, NULL, jobs, 4, &e) == 0, "but not each other");
    is_str(dependency_next(&d, &failed), "afterok:1?afterok:2", "without lanes they are all");
    dependency_add(&d, "15");
    is_str(dependency_next(&d, &failed), "afterok:1?afterok:2", "whatever was submitted before");
    dependency_close(&d);
    w->plan.options.dependency = NULL;
}

/* Opens the dependencies of --after with these words. */
static int after(struct workspace *w, struct dependency *d, const char *a, const char *b)
{
    static struct cli_list list;

    list = (struct cli_list){.values = {a, b}, .count = b ? 2 : 1};
    w->plan.after = &list;
    return dependency_open(d, w, workspace_scheduler(w, w->plan.scheduler, &e), NULL, 0, &e);
}

static void check_after(struct workspace *w)
{
    struct dependency d;

    w->plan.scheduler = "local";
    w->plan.max_in_flight = 0;
    if (ledger_lock(&w->ledger, 5, &e) ||
        ledger_append(&w->ledger, LEDGER_SUBMITTED, "unet-g01-s1", 1, "local", "41", &e))
        bail_out("%s", e.text);
    ok(after(w, &d, "unet-g01-s1", NULL) == 0, "--after takes a run");
    is_str(dependency_next(&d, &failed), "afterany:41", "which stands for its job");
    dependency_close(&d);
    ok(after(w, &d, "unet-g01-s1", demo_dir) == 0, "--after takes the folder of a study");
    is_str(dependency_next(&d, &failed), "afterany:41", "of which no job is active");
    dependency_close(&d);
    ok(after(w, &d, "999999", NULL) == -1 && e.code == ERR_USAGE && strstr(e.text, "not exist"),
       "an unknown job of the local queue is refused: %s", e.text);
    ok(after(w, &d, "unet-g02-s1", NULL) == -1 && e.code == ERR_USAGE,
       "so is a run without a job: %s", e.text);
    w->plan.scheduler = "dry";
    ok(after(w, &d, "5", "7") == 0, "nobody knows the jobs of a dry submission");
    is_str(dependency_next(&d, &failed), "afterany:5:7", "several jobs are joined");
    dependency_close(&d);
}

int main(void)
{
    demo_make();
    struct workspace w;

    demo_open(&w, 0, NULL);
    check_lanes(&w);
    check_after(&w);
    workspace_close(&w);
    return done_testing();
}
