/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/cmd/cmd.h"

#include "launcher/collect/collect.h"
#include "launcher/collect/log/log_file.h"
#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "launcher/rounds/rounds.h"
#include "launcher/status/watch.h"
#include "launcher/status/status.h"

static struct {
    struct plan_args args;
    bool as_json;
    struct cli_list only;
} given;

static const struct cli_option options[] = {
    {"state", 0, CLI_LIST, "STATE",
     "show only runs in this state, such as RUNNING or FAILED; may be repeated", &given.only, 0, 0},
    {"json", 0, CLI_FLAG, NULL, "print JSON instead of a table", &given.as_json, 0, 0},
    WORKSPACE_OPTION_SITE(given.args),
    WORKSPACE_OPTION_STUDY(given.args),
    {0},
};

/* The studies that are shown, and the runs, which are all if nruns is 0. */
struct selection {
    char **runs;
    int nruns;
    struct run_summary total;
};

static int check_states(struct err *e)
{
    const char *const *states = state_names();

    for (size_t i = 0; i < given.only.count; i++) {
        size_t k = 0;
        while (states[k] && strcasecmp(states[k], given.only.values[i]) != 0)
            k++;
        if (!states[k])
            return err_set(e, ERR_USAGE, "status: --state %s: no run can be in this state%s",
                           given.only.values[i],
                           cli_suggest(given.only.values[i], states, (char[CLI_SUGGESTION]){0}));
    }
    return 0;
}

static bool is_named(const struct selection *sel, const struct run_status *s)
{
    int i = 0;

    while (i < sel->nruns && strcmp(sel->runs[i], s->run.id) != 0)
        i++;
    return i < sel->nruns || !sel->nruns;
}

static bool is_shown(const struct selection *sel, const struct run_status *s)
{
    size_t i = 0;

    while (i < given.only.count && strcasecmp(given.only.values[i], state_name(s->state)) != 0)
        i++;
    return (i < given.only.count || !given.only.count) && is_named(sel, s);
}

static json_t *encode_study(const struct workspace *w, const struct status_list *list,
                            const struct selection *sel)
{
    json_t *runs = json_array();
    char rounds[ROUNDS_FILE_TEXT];

    for (size_t i = 0; i < list->count; i++)
        if (is_shown(sel, &list->runs[i]))
            json_array_append_new(runs, run_status_encode(&list->runs[i]));
    return json_pack("{s:i, s:s, s:s, s:o, s:s*}", "schema", 1, "study", w->plan.study.name,
                     "study_id",
                     w->plan.study_id, "runs", runs, "rounds",
                     rounds_file_describe(&w->ledger, rounds) ? rounds : NULL);
}

static void format_time(const struct run_status *s, char dst[32])
{
    long seconds = (long)run_summary_elapsed(s);

    if (seconds < 0)
        snprintf(dst, 32, "-");
    else
        snprintf(dst, 32, "%ld:%02ld:%02ld", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

static void print_run(const struct run_status *s, int width)
{
    char elapsed[32], epochs[32] = "-", gpus[16] = "-", nodes[16] = "-",
        result[sizeof s->nodes + sizeof s->reason + 8];

    format_time(s, elapsed);
    if (s->progress.epochs)
        snprintf(epochs, sizeof epochs, "%d/%d", s->progress.epoch, s->progress.epochs);
    if (s->phase == RUN_GOOD && s->progress.quality >= 0)
        snprintf(result, sizeof result, "%s %.4f", s->progress.metric,
                 s->progress.quality);
    else if (!*s->reason)
        snprintf(result, sizeof result, "%s", s->nodes);
    else
        snprintf(result, sizeof result, "%s%s(%s)", s->nodes, *s->nodes ? " " : "", s->reason);
    control_blank(result); /* the reason may be a script's, written into FAILED */
    if (s->layout.gpus) {
        snprintf(gpus, sizeof gpus, "%d", s->layout.gpus);
        snprintf(nodes, sizeof nodes, "%d", s->layout.nodes);
    }
    printf("%-*s %-13s %8s %4s %5s %9s %9s %s\n", width, s->run.id, state_name(s->state),
           *s->job ? s->job : "-", gpus, nodes, elapsed, epochs, result);
}

static void print_summary(const struct run_summary *summary)
{
    char line[512];

    run_summary_format(summary, line, sizeof line);
    if (*line)
        printf("%s\n", line);
}

/* Prints how many runs of a program have ended without a log of a known form, unless the study
 * names a log. */
static void print_unnamed(const struct workspace *w, const struct status_list *list)
{
    const struct study *study = &w->plan.study;
    const struct log_form form = run_log_form(study);
    char dir[PATH_MAX], path[PATH_MAX];
    struct err ignored;
    size_t ended = 0;

    if (study_runs_trainer(study) || form.file || form.pattern)
        return;
    for (size_t i = 0; i < list->count; i++) {
        const struct run_status *s = &list->runs[i];
        path_format(dir, "%s/runs/%s/attempt-%d", study->dir, s->run.id, s->attempt.number);
        ended += s->phase == RUN_GOOD && run_log_find(dir, &form, path, &ignored) != 0;
    }
    if (ended)
        printf("%zu ended; no log is named: set log.pattern or log.file in %s, then type unetctl "
               "collect\n", ended, study->file);
}

/* Prints the runs of one study, and below them how many are in which state, and the round. */
static void print_study(const struct workspace *w, const struct status_list *list,
                        struct selection *sel)
{
    struct run_summary summary = {0};
    char rounds[ROUNDS_FILE_TEXT];
    size_t shown = 0;
    int width = 16;

    for (size_t i = 0; i < list->count; i++)
        if (is_shown(sel, &list->runs[i]) && (int)strlen(list->runs[i].run.id) > width)
            width = (int)strlen(list->runs[i].run.id);
    for (size_t i = 0; i < list->count; i++) {
        const struct run_status *s = &list->runs[i];
        if (is_named(sel, s)) {
            run_summary_add(&summary, s);
            run_summary_add(&sel->total, s);
        }
        if (!is_shown(sel, s))
            continue;
        if (!shown++)
            printf("%-*s %-13s %8s %4s %5s %9s %9s %s\n", width, "RUN", "STATE", "JOB", "GPUS",
                   "NODES", "TIME", "EPOCH", "RESULT/NODELIST(REASON)");
        print_run(s, width);
    }
    print_summary(&summary);
    print_unnamed(w, list);
    if (!sel->nruns && rounds_file_describe(&w->ledger, rounds))
        printf("%s\n", rounds);
}

/* Reads again the logs that could not be read when their runs ended. */
static void read_again(const struct study *study, const struct status_list *list)
{
    struct log_form form = run_log_form(study);
    char dir[PATH_MAX];
    struct err ignored;

    for (size_t i = 0; i < list->count; i++) {
        struct run_status *s = &list->runs[i];
        path_format(dir, "%s/runs/%s", study->dir, s->run.id);
        if (s->phase == RUN_GOOD && *s->attempt.error &&
            run_folder_check(dir, s->attempt.number, &form, &ignored) == 0)
            *s->reason = 0;
    }
}

static int check_runs(const struct plan *p, const struct status_list *list,
                      const struct selection *sel, struct err *e)
{
    for (int i = 0; i < sel->nruns; i++)
        if (!status_list_find(list, sel->runs[i]))
            return run_dir_check_id(p->study.dir, sel->runs[i], e);
    return 0;
}

/* Shows the study of args. If studies is not NULL, the study is added to this JSON list. */
static int show_study(struct selection *sel, json_t *studies, struct err *e)
{
    struct status_list list;
    struct workspace w;
    int rc;

    if (workspace_open(&w, &given.args, e))
        return -1;
    rc = status_list_collect(&w, &list, e);
    if (rc == 0) {
        read_again(&w.plan.study, &list);
        rc = check_runs(&w.plan, &list, sel, e);
        if (rc == 0 && studies)
            json_array_append_new(studies, encode_study(&w, &list, sel));
        else if (rc == 0 && list.count)
            print_study(&w, &list, sel);
        else if (rc == 0)
            log_info("%s has no runs yet; type 'unetctl submit --gpus LIST'", w.plan.study.dir);
        if (rc == 0 && list.unreachable) {
            *e = list.reason;
            rc = -1;
        } else if (rc == 0) {
            rc = status_list_check_damage(&list, e);
        }
        status_list_destroy(&list);
    }
    workspace_close(&w);
    return rc;
}

static bool is_study(const char *operand)
{
    char file[PATH_MAX];

    return snprintf(file, sizeof file, "%s/" STUDY_FILE, operand) < (int)sizeof file &&
           access(file, F_OK) == 0;
}

/* Shows several studies. One that cannot be shown does not keep the others from it; its error is
 * returned, the last of several. */
static int show_studies(struct selection *sel, char **folders, int count, json_t *studies,
                        struct err *e)
{
    struct err failed = {0};

    for (int i = 0; i < count; i++) {
        given.args.dir = folders[i];
        if (!studies)
            printf("%s%s\n", i ? "\n" : "", folders[i]);
        struct err one;
        if (show_study(sel, studies, &one) == 0)
            continue;
        if (failed.code)
            log_error("%s", failed.text);
        failed = one;
        err_prefix(&failed, "%s", folders[i]);
    }
    if (!studies) {
        printf("\n%d studies: ", count);
        print_summary(&sel->total);
    }
    *e = failed;
    return failed.code ? -1 : 0;
}

static int print_json(json_t *studies, bool is_list, struct err *e)
{
    json_t *root = is_list ? json_pack("{s:i, s:O}", "schema", 1, "studies", studies)
                           : json_incref(json_array_get(studies, 0));

    return jsonio_print(root, 9, "the status", e);
}

/* Returns the number of operands if they are folders of studies, 0 if they are runs of one study,
 * or -1 with ERR_USAGE. */
static int count_studies(int noperands, char **operands, struct err *e)
{
    int count = 0;

    for (int i = 0; i < noperands; i++)
        count += is_study(operands[i]);
    if (count && (count < noperands || given.args.dir))
        return err_set(e, ERR_USAGE, "status: give either folders of studies, or runs of one study "
                                     "(-C STUDY RUN...)");
    return count;
}

static int cmd_status_run(int noperands, char **operands, int nrest, char **rest, struct err *e)
{
    int nstudies = count_studies(noperands, operands, e), rc, written = 0;
    struct selection sel = {.runs = operands, .nruns = nstudies ? 0 : noperands};
    struct err unwritten;

    if (nstudies < 0 || check_states(e))
        return -1;
    if (nstudies == 1)
        given.args.dir = operands[0];
    json_t *studies = given.as_json ? json_array() : NULL;
    rc = nstudies > 1 ? show_studies(&sel, operands, nstudies, studies, e)
                      : show_study(&sel, studies, e);
    if (json_array_size(studies))
        written = print_json(studies, nstudies > 1, &unwritten);
    json_decref(studies);
    if (rc == 0 && written)
        *e = unwritten;
    return rc ? rc : written;
}

const struct cli_command cmd_status = {
    .name = "status",
    .args = "[RUN... | STUDY...]",
    .summary = "show the state of every run",
    .details =
        "Shows all runs of the study, those named, or those of several studies, whose folders are\n"
        "given. The last line counts them, --state or not, and says how long the running ones\n"
        "still need at the pace of their last epochs, once each has one.\n"
        "The marker in a run's folder decides (COMPLETED, FAILED); a job that ended without one\n"
        "has the state its scheduler reports. A job that ended less than a minute ago without a\n"
        "marker is ENDED, as the marker may not be visible here yet; one that Slurm does not show\n"
        "is UNSEEN, and LOST after two minutes. Runs of other users are \"submitted by X\".\n"
        "Exit 0 whatever the states are; 4 if the scheduler cannot be asked about a run (whose\n"
        "state is UNKNOWN); 7 if the run.json of a run cannot be read (its row says why; it is\n"
        "DAMAGED unless its job is active).\n"
        "Example: unetctl status study-a study-b --state RUNNING\n",
    .options = options,
    .max_operands = -1,
    .run = cmd_status_run,
};
