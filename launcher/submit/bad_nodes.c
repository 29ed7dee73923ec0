/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/submit/submission.h"

#include <sys/stat.h>

#include "launcher/host/path.h"
#include "src/cluster/nodelist.h"
#include "src/files.h"

#define NOTES "bad-nodes"

static struct bad_node *find_node(struct bad_nodes *b, const char *name)
{
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->nodes[i].name, name) == 0)
            return &b->nodes[i];
    return NULL;
}

static struct bad_node *add_node(struct bad_nodes *b, const char *name, struct err *e)
{
    struct bad_node *n = find_node(b, name);

    if (n || mem_grow(&b->nodes, b->count, &b->capacity, sizeof *b->nodes, e))
        return n;
    n = &b->nodes[b->count++];
    *n = (struct bad_node){0};
    snprintf(n->name, sizeof n->name, "%s", name);
    return n;
}

/* Adds the notes of a file, one of each node, unless they are not newer than `cleared` says. run:
 * whose file it is, or NULL. Lines that are not notes are skipped. */
static int read_notes(const char *path, const char *run, const struct bad_nodes *cleared,
                      struct bad_nodes *dst, struct err *e)
{
    struct bad_nodes seen = {0};
    char line[256], name[64], why[128];
    FILE *f = files_stream(path, "r", FILES_TEXT_MAX);
    long long time;
    int rc = 0;

    while (rc == 0 && f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lld %63s %127[^\n]", &time, name, why) != 3 ||
            name[strspn(name, NODELIST_NAME_CHARS)])
            continue;
        control_blank(why);
        const struct bad_node *clear = find_node((struct bad_nodes *)(uintptr_t)cleared, name);
        if (clear && clear->time >= (time_t)time)
            continue;
        bool again = find_node(&seen, name) != NULL;
        struct bad_node *n = add_node(dst, name, e);
        rc = n && add_node(&seen, name, e) ? 0 : -1;
        if (rc)
            break;
        n->notes += !again;
        if ((time_t)time >= n->time)
            snprintf(n->last, sizeof n->last, "%s%s%s", run ? run : "", run ? ": " : "", why);
        if ((time_t)time > n->time)
            n->time = (time_t)time;
    }
    if (f)
        fclose(f);
    bad_nodes_destroy(&seen);
    return rc;
}

/* Reads the node list in a file of an attempt: "nodes", those of its job, or "step-nodes", those that a
 * run in an allocation used. Returns NULL if it is unknown. */
static struct nodelist *read_nodes(const char *attempt, const char *name)
{
    char path[PATH_MAX], text[4096];
    struct err ignored;

    path_read_line(path_format(path, "%s/%s", attempt, name), text, sizeof text);
    return *text ? nodelist_decode(text, NODELIST_LIMIT, &ignored) : NULL;
}

/* Sets the time until which the nodes of an attempt that is done are cleared. */
static int read_cleared(const char *attempt, struct bad_nodes *cleared, struct err *e)
{
    char path[PATH_MAX];
    struct nodelist *l;
    struct stat st;
    int rc = 0;

    if (files_stat(path_format(path, "%s/DONE", attempt), &st) ||
        (!(l = read_nodes(attempt, "nodes")) && !(l = read_nodes(attempt, "step-nodes"))))
        return 0;
    for (size_t i = 0; rc == 0 && i < nodelist_count(l); i++) {
        struct bad_node *n = add_node(cleared, nodelist_get(l, i, NULL), e);
        rc = n ? 0 : -1;
        if (n && st.st_mtime > n->time)
            n->time = st.st_mtime;
    }
    nodelist_destroy(l);
    return rc;
}

/* Reads the attempts of all runs: which nodes they have cleared, or their notes. */
static int read_runs(const char *study_dir, const struct setting_lines *ids,
                     struct bad_nodes *cleared, struct bad_nodes *notes, struct err *e)
{
    struct run_attempt newest;
    char path[PATH_MAX], file[PATH_MAX];
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < ids->count; i++) {
        const char *id = ids->lines[i];
        rc = run_dir_attempt(study_dir, id, &newest, e);
        for (int k = 1; rc == 0 && k <= newest.number; k++) {
            path_format(path, "%s/runs/%s/attempt-%d", study_dir, id, k);
            rc = notes ? read_notes(path_format(file, "%s/" NOTES, path), id, cleared, notes, e)
                       : read_cleared(path, cleared, e);
        }
    }
    return rc;
}

static int compare_nodes(const void *a, const void *b)
{
    return strverscmp(((const struct bad_node *)a)->name, ((const struct bad_node *)b)->name);
}

int bad_nodes_read(const char *study_dir, struct bad_nodes *dst, struct err *e)
{
    struct bad_nodes cleared = {0};
    struct setting_lines ids;
    char path[PATH_MAX];

    *dst = (struct bad_nodes){0};
    if (run_dir_list(study_dir, &ids, e))
        return -1;
    path_format(path, "%s/.unetctl/" NOTES, study_dir);
    int rc = read_runs(study_dir, &ids, &cleared, NULL, e) ||
                     read_runs(study_dir, &ids, &cleared, dst, e) ||
                     read_notes(path, NULL, &cleared, dst, e)
                 ? -1
                 : 0;
    if (rc == 0 && dst->count)
        qsort(dst->nodes, dst->count, sizeof *dst->nodes, compare_nodes);
    if (rc)
        bad_nodes_destroy(dst);
    bad_nodes_destroy(&cleared);
    setting_clear_lines(&ids);
    return rc;
}

void bad_nodes_destroy(struct bad_nodes *b)
{
    free(b->nodes);
    *b = (struct bad_nodes){0};
}

static int append_note(const char *path, const char *node, const char *why, struct err *e)
{
    FILE *f = files_stream(path, "a", 0);
    bool failed = !f || fprintf(f, "%lld %s %s\n", (long long)time(NULL), node, why) < 0;

    if ((f && fclose(f)) || failed)
        return files_error(e, ERR_INTERNAL, errno, "cannot write", path);
    return 0;
}

int bad_nodes_note(const char *study_dir, const char *node, const char *why, struct err *e)
{
    char path[PATH_MAX];

    return append_note(path_format(path, "%s/.unetctl/" NOTES, study_dir), node, why, e);
}

bool bad_nodes_is_out(const struct plan *p, const struct bad_node *node)
{
    int most = (int)p->study.slurm.exclude_after;

    return most && node->notes >= most;
}

/* Finds the node that srun names as failed in the output of an attempt. Returns whether it names
 * one. */
static bool find_failed(const struct run_attempt *attempt, char node[64])
{
    char path[PATH_MAX], line[512];
    struct err ignored;
    FILE *f = run_dir_output(attempt, path, &ignored) ? NULL : files_stream(path, "r",
                             RUN_OUTPUT_MAX);
    bool found = false;

    while (f && fgets(line, sizeof line, f))
        found |= sscanf(line, "srun: error: Node failure on %63s", node) == 1;
    if (f)
        fclose(f);
    return found && !node[strspn(node, NODELIST_NAME_CHARS)];
}

/* Notes the node of a job that ended by NODE_FAIL before submit_file.sh could: the one that srun
 * names, or else the first, where srun ran, though another one may be meant. */
static int note_failed(const struct run_status *s, struct err *e)
{
    char path[PATH_MAX], node[64];
    struct stat st;

    if (s->state != STATE_NODE_FAIL || !*s->attempt.path ||
        files_stat(path_format(path, "%s/" NOTES, s->attempt.path), &st) == 0)
        return 0;
    if (find_failed(&s->attempt, node))
        return append_note(path, node, "Slurm: node failure", e);
    struct nodelist *l = read_nodes(s->attempt.path, "nodes");
    bool single = l && nodelist_count(l) == 1;
    int rc = !l ? 0 : append_note(path, nodelist_get(l, 0, NULL),
                                  single ? "Slurm: node failure"
                                         : "Slurm: failure of this or another node of the job", e);
    nodelist_destroy(l);
    return rc;
}

static void add_excluded(const struct plan *p, const struct bad_nodes *b, struct buf *list,
                         struct buf *words)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct bad_node *n = &b->nodes[i];
        if (!bad_nodes_is_out(p, n))
            continue;
        buf_addf(list, "%s%s", list->length ? "," : "", n->name);
        buf_addf(words, "%s%s (%d note%s, the last: %s)", words->length ? ", " : "", n->name,
                 n->notes, plural(n->notes), n->last);
    }
}

int bad_nodes_leave_out(struct workspace *w, const struct status_list *list, struct err *e)
{
    struct buf excluded = {0}, words = {0};
    struct bad_nodes b;
    int rc = 0;

    if (strcmp(w->plan.scheduler, "slurm") != 0)
        return 0;
    for (size_t i = 0; i < list->count; i++)
        if (note_failed(&list->runs[i], e))
            return -1;
    if (!w->plan.study.slurm.exclude_after || w->plan.options.nodelist || w->excluded)
        return 0;
    if (bad_nodes_read(w->plan.study.dir, &b, e))
        return -1;
    if (w->plan.options.exclude)
        buf_add(&excluded, w->plan.options.exclude);
    add_excluded(&w->plan, &b, &excluded, &words);
    if (excluded.failed || words.failed) {
        rc = mem_fail(e);
    } else if (words.length) {
        log_info("nodes left out: %s; 'unetctl doctor' lists them, --set slurm.exclude_after=0 "
                 "uses them again", words.data);
        w->plan.options.exclude = w->excluded = buf_steal(&excluded);
    }
    buf_destroy(&excluded);
    buf_destroy(&words);
    bad_nodes_destroy(&b);
    return rc;
}
