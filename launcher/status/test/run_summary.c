/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the line about many runs: its counts and their order, and the remaining time. */
#include "src/base.h"
#include "launcher/status/watch.h"

#include "t/tap.h"

static void add(struct run_summary *summary, enum run_phase phase, enum state state, int epoch)
{
    struct run_status s = {.phase = phase, .state = state,
                           .progress = {.epochs = 10, .epoch = epoch, .epoch_s = 3600}};

    run_summary_add(summary, &s);
}

static void check(const struct run_summary *summary, const char *want, const char *what)
{
    char line[256];

    run_summary_format(summary, line, sizeof line);
    is_str(line, want, "%s", what);
}

static void check_time(double seconds, const char *want)
{
    char text[32];

    run_summary_format_time(seconds, text);
    is_str(text, want, "%.0f s", seconds);
}

static void check_left(void)
{
    struct run_status s = {.state = STATE_RUNNING,
                           .progress = {.epochs = 4, .epoch = 1, .epoch_s = 8, .step = 1,
                                        .steps = 4}};

    is_int((int)run_summary_left(&s), 22, "steps of the current epoch count");
    s.progress.epoch = 0;
    is_int((int)run_summary_left(&s), -1, "unknown before the first epoch has ended");
    s.progress.epoch = 4;
    is_int((int)run_summary_left(&s), 0, "nothing is left after the last epoch");
    s.state = STATE_PENDING;
    is_int((int)run_summary_left(&s), -1, "unknown while the run waits");
    s.started = 1;
    ok(run_summary_elapsed(&s) > 1e9, "the time of an active run grows");
    s.phase = RUN_BAD;
    is_int((int)run_summary_elapsed(&s), -1, "that of an ended one does not");
}

/* A study of runs of 10 epochs of 60 s on 2 GPUs, of which one is done. */
static void check_total(void)
{
    struct run_summary summary = {0};
    struct run_status s = {.phase = RUN_GOOD, .state = STATE_COMPLETED, .layout = {.gpus = 2},
                           .progress = {.epochs = 10, .epoch = 10, .training_s = 600}};

    run_summary_add(&summary, &s);
    is_int((int)run_summary_total_left(&summary, true), -1, "unknown while no run is running");
    s = (struct run_status){.phase = RUN_ACTIVE, .state = STATE_RUNNING, .layout = {.gpus = 2},
                            .progress = {.epochs = 10, .epoch = 5, .epoch_s = 60}};
    run_summary_add(&summary, &s);
    is_int((int)run_summary_total_left(&summary, true), 300, "that of the running run");
    s = (struct run_status){.phase = RUN_ACTIVE, .state = STATE_PENDING, .layout = {.gpus = 4}};
    run_summary_add(&summary, &s);
    is_int((int)run_summary_total_left(&summary, true), 900,
           "a run that waits needs as many GPU-seconds as the others");
    s.phase = RUN_PLANNED, s.state = STATE_PLANNED;
    run_summary_add(&summary, &s);
    is_int((int)run_summary_total_left(&summary, false), 900, "what is only planned does not count");
    is_int((int)run_summary_total_left(&summary, true), 1500, "unless it will be submitted");
    s = (struct run_status){.phase = RUN_ACTIVE, .state = STATE_RUNNING, .layout = {.gpus = 14},
                            .progress = {.epochs = 10, .epoch = 1, .epoch_s = 100}};
    run_summary_add(&summary, &s);
    is_int((int)run_summary_total_left(&summary, false), 1166, "means of all, over the GPUs in use");
    is_int((int)(100 * summary.done + 0.5), 160, "half and a tenth of two runs are done, and one");
    is_int((int)summary.epochs, 16, "their epochs");
    is_int((int)(1000 * summary.gpu_hours), 333, "GPU-hours of the run whose time is known");
    char *text = run_summary_encode_metrics(&summary, "a \"b\"", 12.5);
    ok(strstr(text, "unetctl_runs{study=\"a \\\"b\\\"\",state=\"RUNNING\"} 2\n") &&
           strstr(text, "# TYPE unetctl_left_seconds gauge\n"
                        "unetctl_left_seconds{study=\"a \\\"b\\\"\"} 12.5\n"),
       "metrics: %s", text);
    free(text);
    text = run_summary_encode_metrics(&summary, "a", -1);
    ok(!strstr(text, "left_seconds"), "a time that is unknown is no metric");
    free(text);
}

int main(void)
{
    struct run_summary summary = {0};

    check_left();
    check_total();
    check_time(0, "0 s");
    check_time(99, "99 s");
    check_time(100, "2 min");
    check_time(3569, "59 min");
    check_time(3570, "1 h 0 min");
    check_time(12000, "3 h 20 min");
    check_time(48 * 3600, "2 d 0 h");
    check_time(52 * 3600, "2 d 4 h");

    check(&summary, "", "no runs");
    add(&summary, RUN_BAD, STATE_OUT_OF_MEMORY, 1);
    add(&summary, RUN_PLANNED, STATE_PLANNED, 0);
    add(&summary, RUN_GOOD, STATE_COMPLETED, 10);
    add(&summary, RUN_ACTIVE, STATE_RUNNING, 9);
    add(&summary, RUN_GOOD, STATE_COMPLETED, 10);
    check(&summary, "2 done, 1 running, 1 out of memory, 1 planned; 1 h 0 min left",
          "what is done comes first, what is only planned last");
    add(&summary, RUN_ACTIVE, STATE_RUNNING, 5);
    check(&summary, "2 done, 2 running, 1 out of memory, 1 planned; 5 h 0 min left",
          "the longest time counts");
    add(&summary, RUN_ACTIVE, STATE_PENDING, 0);
    check(&summary, "2 done, 2 running, 1 pending, 1 out of memory, 1 planned; "
                    "5 h 0 min left for those running", "the time of those that wait is unknown");
    add(&summary, RUN_ACTIVE, STATE_RUNNING, 0);
    check(&summary, "2 done, 3 running, 1 pending, 1 out of memory, 1 planned",
          "no time if that of a running run is unknown");
    return done_testing();
}
