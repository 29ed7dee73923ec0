/* SPDX-License-Identifier: BSD-3-Clause */
/* Three runs submitted to a local queue: what is in the ledger and on disk after success, a
 * refusal, and files that cannot be written. */
#include "src/base.h"
#include "launcher/submit/submit_internal.h"

#include "launcher/submit/test/demo.h"

static struct err e;

static void open_locked(struct workspace *w, int nwords, char **words)
{
    demo_open(w, nwords, words);
    if (ledger_lock(&w->ledger, 5, &e))
        bail_out("%s", e.text);
}

static struct batch make_batch(const struct workspace *w)
{
    struct plan plan = demo_plan(w);
    struct batch b = {0};

    for (size_t i = 0; i < plan.count; i++)
        if (batch_add(&b, &plan.runs[i], 1, &e))
            bail_out("%s", e.text);
    plan_free_runs(&plan);
    return b;
}

/* Returns the number of the study's jobs in the queue, and cancels those that have not ended. */
static size_t end_jobs(struct workspace *w)
{
    struct scheduler *s = workspace_scheduler(w, "local", &e);
    struct job_state *jobs;
    char prefix[256];
    size_t n;

    ledger_tag(w->plan.study_id, NULL, 0, prefix);
    if (!s || scheduler_query(s, prefix, false, &jobs, &n, &e))
        bail_out("%s", e.text);
    for (size_t i = n; i-- > 0;)
        if (scheduler_cancel(s, jobs[i].id, &e))
            bail_out("%s", e.text);
    free(jobs);
    return n;
}

static void check_dry(void)
{
    struct workspace w;

    open_locked(&w, 0, NULL);
    struct batch b = make_batch(&w);

    w.plan.scheduler = "dry";
    ok(batch_submit(&w, &b, NULL, 0, &e) == 0 && b.submitted == 3, "a dry submission succeeds");
    ok(!demo_has("runs") && w.ledger.count == 0, "it writes neither files nor events");
    batch_close(&b);
    workspace_close(&w);
}

static void check_refused(void)
{
    char *words[] = {(char *)"--dependency=afterok:1"};
    struct workspace w;

    open_locked(&w, 1, words);
    struct batch b = make_batch(&w);

    ok(batch_submit(&w, &b, NULL, 0, &e) == -1 && e.code == ERR_SCHED && b.submitted == 0 &&
           strstr(e.text, "nothing was submitted: unet-g03-s1"),
       "a dependency that the queue does not have is refused for the largest run: %s", e.text);
    ok(w.ledger.count == 0 && !demo_has("runs"), "nothing was noted or written");
    batch_close(&b);
    workspace_close(&w);
}

static void check_unwritable(void)
{
    struct workspace w;

    open_locked(&w, 0, NULL);
    struct batch b = make_batch(&w);
    size_t before = w.ledger.count;

    mkdir("runs", 0777);
    demo_write("runs/unet-g03-s1", "");
    ok(batch_submit(&w, &b, NULL, 0, &e) == -1 && strstr(e.text, "unet-g03-s1"),
       "files that cannot be written are an error: %s", e.text);
    ok(w.ledger.count == before && end_jobs(&w) == 0 &&
           !demo_has("runs/unet-g01-s1/run.json"),
       "nothing was noted or submitted, also of the runs before");
    if (unlink("runs/unet-g03-s1"))
        bail_out("runs/unet-g03-s1");
    batch_close(&b);
    workspace_close(&w);
}

static void check_submitted(void)
{
    struct workspace w;

    open_locked(&w, 0, NULL);
    struct batch b = make_batch(&w);

    ok(batch_submit(&w, &b, NULL, 0, &e) == 0 && b.submitted == 3 && !b.is_full,
       "three runs are submitted");
    for (size_t i = 0; i < b.count; i++) {
        const struct batch_item *item = &b.items[i];
        const struct ledger_entry *entry = ledger_find(&w.ledger, item->run.id, 1);
        char path[128];
        snprintf(path, sizeof path, "runs/%s/run.json", item->run.id);
        ok(entry && entry->last == LEDGER_SUBMITTED && *entry->job && demo_has(path),
           "%s is job %s in the ledger, and has its files", item->run.id, entry ? entry->job : "");
    }
    is_int((int)end_jobs(&w), 3, "there are three jobs");
    ok(!demo_has(".unetctl/in-flight"), "no answer is awaited");
    batch_close(&b);
    workspace_close(&w);
}

int main(void)
{
    demo_make();
    if (chdir(demo_dir))
        bail_out("%s", demo_dir);
    check_dry();
    check_refused();
    check_unwritable();
    check_submitted();
    return done_testing();
}
