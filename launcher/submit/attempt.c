/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/submit/attempt.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "launcher/host/child.h"
#include "launcher/host/path.h"
#include "launcher/script/script.h"
#include "src/cluster/nodelist.h"
#include "src/files.h"
#include "src/format/sha256.h"

/* ---- the nodes of a layout ---- */

static const char *notes_path(const struct plan *p, char dst[PATH_MAX])
{
    return path_format(dst, "%s/.unetctl/same-nodes", p->study.dir);
}

/* Returns whether the lists have a node in common; false if one of them is malformed. */
static bool overlap(const char *a, const char *b)
{
    struct err ignored;
    struct nodelist *la = nodelist_decode(a, NODELIST_LIMIT, &ignored);
    struct nodelist *lb = la ? nodelist_decode(b, NODELIST_LIMIT, &ignored) : NULL;
    bool found = false;

    for (size_t i = 0; lb && i < nodelist_count(la); i++)
        for (size_t j = 0; !found && j < nodelist_count(lb); j++)
            found = strcmp(nodelist_get(la, i, NULL), nodelist_get(lb, j, NULL)) == 0;
    nodelist_destroy(la);
    nodelist_destroy(lb);
    return found;
}

/* Sets dst to the node list of the run. Returns false, and sets dst to "", if it has none: the
 * study does not ask for that, the user chooses nodes, or the list has a node that is excluded. */
static bool same_nodes_find(const struct plan *p, const struct run *run, char dst[SAME_NODES_SIZE])
{
    char path[PATH_MAX], line[SAME_NODES_SIZE + 32], list[SAME_NODES_SIZE];
    int gpus, nodes;
    FILE *f;

    *dst = 0;
    if (!p->study.slurm.same_nodes || p->options.nodelist || p->one_allocation ||
        !(f = files_stream(notes_path(p, path), "r", FILES_TEXT_MAX)))
        return false;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%d %d %127s", &gpus, &nodes, list) == 3 && gpus == run->layout.gpus &&
            nodes == run->layout.nodes)
            memcpy(dst, list, sizeof list);
    fclose(f);
    if (p->options.exclude && *dst && overlap(dst, p->options.exclude))
        *dst = 0;
    return *dst;
}

int same_nodes_choose(const struct plan *p, struct scheduler *s, const struct run *run,
                      const struct job *job, struct err *e)
{
    const struct layout *l = &run->layout;
    struct scheduler_forecast forecast;
    char path[PATH_MAX];

    if (scheduler_forecast(s, job, &forecast, e))
        return -1;
    if (!*forecast.nodes || strlen(forecast.nodes) >= SAME_NODES_SIZE - 1) {
        log_warn("slurm.same_nodes: Slurm does not say where %d GPU%s would run, so repeats may run "
                 "on any nodes", l->gpus, plural(l->gpus));
        return 0;
    }
    FILE *f = files_stream(notes_path(p, path), "a", 0);
    bool failed = !f || fprintf(f, "%d %d %s\n", l->gpus, l->nodes, forecast.nodes) < 0;
    if ((f && fclose(f)) || failed)
        return files_error(e, ERR_INTERNAL, errno, "cannot write", path);
    log_info("slurm.same_nodes: runs on %d GPU%s use %s", l->gpus, plural(l->gpus), forecast.nodes);
    return 0;
}

/* ---- what a run executes ---- */

#define GIT_S 10 /* for git to list the files */

/* ---- the files ---- */

struct source {
    char folder[PATH_MAX];
    const char *main; /* the name of the script in the folder */
    struct buf text;
    size_t nfiles, size, left_out;
};

static void add_file(struct source *s, const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    if (strchr(name, '\n') || strcmp(name, STUDY_FILE) == 0 ||
        snprintf(path, sizeof path, "%s/%s", s->folder, name) >= PATH_MAX || stat(path, &st) ||
        !S_ISREG(st.st_mode))
        return;
    if (s->nfiles == SOURCE_FILES_MAX || (size_t)st.st_size > SOURCE_FILES_ONE_MAX ||
        s->size + (size_t)st.st_size > SOURCE_FILES_ALL_MAX) {
        s->left_out++;
        return;
    }
    s->nfiles++;
    s->size += (size_t)st.st_size;
    buf_addf(&s->text, "file %s\n", name);
}

/* Adds what Git tracks in the folder and below. Returns the number of files, 0 without Git. */
static size_t add_tracked(struct source *s)
{
    const char *const words[] = {"git", "-C", s->folder, "ls-files", "-z", NULL};
    struct child c = {.argv = words, .out = CHILD_READ, .err = CHILD_NULL, .limit_s = GIT_S};
    struct child_end end;
    struct err ignored;
    size_t n = 0;

    bool ran = child_run(&c, &end, &ignored) == 0;
    if (ran && end.code > 128)
        log_warn("%s: git did not end within %d s, so only its *.py are noted as what runs execute",
                 s->folder, GIT_S);
    else if (ran)
        for (const char *name = end.out.data; name < end.out.data + end.out.length;
             name += strlen(name) + 1) {
            n++;
            if (strcmp(name, s->main) != 0)
                add_file(s, name);
        }
    child_destroy(&end);
    return n;
}

static int is_python(const struct dirent *d)
{
    return filename_ends(d->d_name, ".py");
}

static void add_python(struct source *s)
{
    struct dirent **found;
    int n = scandir(s->folder, &found, is_python, alphasort);

    for (int i = 0; i < n; i++) {
        if (strcmp(found[i]->d_name, s->main) != 0)
            add_file(s, found[i]->d_name);
        free(found[i]);
    }
    if (n >= 0)
        free(found);
}

/* ---- what is executed ---- */

static bool is_of_system(const char *path)
{
    return strncmp(path, "/usr/", 5) == 0 || strncmp(path, "/bin/", 5) == 0;
}

/* Returns the value of a name in the list "NAME=VALUE", or NULL. */
static const char *find_pair(const struct setting_lines *pairs, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < pairs->count; i++)
        if (strncmp(pairs->lines[i], name, n) == 0 && pairs->lines[i][n] == '=')
            return pairs->lines[i] + n + 1;
    return NULL;
}

/* Sets the words that a program's command line has, with the study's folder for its marker; the
 * caller frees texts. Returns their number. */
static size_t list_words(const struct study *study, const struct settings_program *section,
                         const char *words[COMMAND_WORDS_MAX], struct buf texts[COMMAND_WORDS_MAX])
{
    static const char mark[] = "{{study_dir}}";
    size_t n = 0;

    words[n++] = section->script;
    for (size_t i = 0; i < section->args.count && n < COMMAND_WORDS_MAX; i++, n++) {
        const char *arg = section->args.lines[i], *at = strstr(arg, mark);
        words[n] = arg;
        if (!at)
            continue;
        buf_addf(&texts[n], "%.*s%s%s", (int)(at - arg), arg, study->dir, at + strlen(mark));
        words[n] = texts[n].failed ? arg : texts[n].data;
    }
    return n;
}

/* What a run executes: the script behind interpreters and wrappers, and files that its arguments
 * name. */
struct executed {
    char main[PATH_MAX]; /* "": there is none */
    struct buf others;   /* lines "file PATH" */
};

/* Notes what the command line of a program executes: its script, else the first argument that is
 * one by its name behind a program that is not known, else the program. */
static void find_in_words(const char *const *words, size_t n, const char *folders,
                          struct executed *dst)
{
    struct command_line c;
    struct err ignored;
    struct stat st;
    char path[PATH_MAX];

    bool found = command_line_parse(words, n, &c, &ignored) == 0 &&
                 command_line_find(&c, folders, dst->main);
    if (!found)
        snprintf(dst->main, sizeof dst->main, "%s", words[0]);
    for (size_t i = 1; i < n && !c.has_script; i++)
        if (filename_ends(words[i], ".py") && realpath(words[i], path)) {
            memcpy(dst->main, path, sizeof path);
            break;
        }
    for (size_t i = found ? c.program + 1 : 1; i < n; i++)
        if (*words[i] == '/' && realpath(words[i], path) && strcmp(path, dst->main) != 0 &&
            !is_of_system(path) && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
            (size_t)st.st_size <= SOURCE_FILES_ONE_MAX && !strchr(path, '\n'))
            buf_addf(&dst->others, "file %s\n", path);
}

static void find_executed(const struct study *study, const struct settings_program *section,
                          const struct engine *engine, struct executed *dst)
{
    const char *words[COMMAND_WORDS_MAX], *folders = find_pair(&section->env, "PYTHONPATH");
    struct buf texts[COMMAND_WORDS_MAX] = {{0}};
    struct err ignored;

    *dst = (struct executed){0};
    if (*section->script)
        find_in_words(words, list_words(study, section, words, texts),
                      folders ? folders : getenv("PYTHONPATH"), dst);
    else if (!engine->script || paths_data(engine->script, dst->main, PATH_MAX, &ignored))
        *dst->main = 0;
    for (size_t i = 0; i < COMMAND_WORDS_MAX; i++)
        buf_destroy(&texts[i]);
}

static int list_files(const char *main, struct buf *dst, struct err *e)
{
    const char *slash = strrchr(main, '/');
    struct source s = {.main = slash + 1};

    snprintf(s.folder, sizeof s.folder, "%.*s", (int)(slash - main), main);
    buf_addf(&s.text, "folder %s\n", s.folder);
    add_file(&s, s.main);
    if (!is_of_system(main) && add_tracked(&s) == 0)
        add_python(&s);
    if (s.left_out)
        log_warn("%s: a change of %zu file%s is not noticed: scripts are hashed up to %d files, 1 "
                 "MiB each, 8 MiB in all", s.folder, s.left_out, plural((long)s.left_out),
                 SOURCE_FILES_MAX);
    *dst = s.text;
    return dst->failed ? mem_fail(e) : 0;
}

/* Adds the lines of the files, those of the last call for the same script: a submission has many
 * runs of one. */
static int add_files_of(const char *main, struct buf *dst, struct err *e)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char last[PATH_MAX];
    static struct buf text;
    int rc = 0;

    pthread_mutex_lock(&lock);
    if (strcmp(last, main) != 0) {
        *last = 0;
        buf_destroy(&text);
        rc = list_files(main, &text, e);
        if (rc == 0)
            snprintf(last, sizeof last, "%s", main);
    }
    if (rc == 0 && text.data)
        buf_add(dst, text.data);
    pthread_mutex_unlock(&lock);
    return rc;
}

/* Writes the lines of source.list; none: nothing is hashed. */
static int describe(const struct run *run, struct buf *dst, struct err *e)
{
    const struct settings_program *section = study_engine(run->study, run->engine->name);
    struct executed x = {0};

    if (section)
        find_executed(run->study, section, run->engine, &x);
    int rc = *x.main == '/' && access(x.main, F_OK) == 0 ? add_files_of(x.main, dst, e) : 0;
    if (rc == 0 && dst->length && x.others.data)
        buf_add(dst, x.others.data);
    buf_destroy(&x.others);
    if (rc)
        return -1;
    if (*run->study->container)
        buf_addf(dst, "container %s\n", run->study->container);
    return dst->failed ? mem_fail(e) : 0;
}

static int add_text(const struct plan *p, const struct run *run, const char *name,
                    const char *text, mode_t mode, struct atomicfile_batch *files, struct err *e)
{
    char path[PATH_MAX];

    path_format(path, "%s/runs/%s/%s", p->study.dir, run->id, name);
    return atomicfile_batch_add(files, path, text, strlen(text), mode, e);
}

/* Adds source.list to the batch: the script and the tracked files of its folder and below, or
 * the *.py files of a folder without Git, and the files that its arguments name. The script is
 * found behind interpreters and wrappers. Warns once of files beyond the bounds.
 * For the embedded engine there is only the container. Returns 0 or -1. */
static int source_files_add(const struct plan *p, const struct run *run,
                            struct atomicfile_batch *files, struct err *e)
{
    struct buf b = {0};
    int rc = describe(run, &b, e);

    if (rc == 0 && b.length)
        rc = add_text(p, run, "source.list", b.data, 0666, files, e);
    buf_destroy(&b);
    return rc;
}

/* ---- comparison ---- */

/* Hashes what the lines name as the job does. *dst is to be destroyed in either case. */
static int hash_lines(const struct buf *lines, struct child_end *dst, struct err *e)
{
    char script[PATH_MAX], list[32];
    const char *const words[] = {"bash", script, "-", list, NULL};
    struct child c = {.argv = words, .out = CHILD_READ, .err = CHILD_NULL};
    int file = memfd_create("source.list", 0);

    *dst = (struct child_end){0};
    snprintf(list, sizeof list, "/proc/self/fd/%d", file);
    int rc = file < 0 || write(file, lines->data, lines->length) != (ssize_t)lines->length
                 ? err_errno(e, ERR_INTERNAL, errno, "cannot hash the script")
                 : paths_data("templates/source.sh", script, sizeof script, e);
    if (rc == 0)
        rc = child_run(&c, dst, e);
    if (file >= 0)
        close(file);
    return rc;
}

/* Cuts the text at the line of an image of a container that is neither a file nor a folder here,
 * which is the last one. */
static void drop_image(char *text)
{
    static const char mark[] = "  container ";
    char path[PATH_MAX];

    for (char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strcspn(line, "\n") <= 64 || !text_begins(line + 64, mark))
            continue;
        const char *image = line + 64 + strlen(mark);
        snprintf(path, sizeof path, "%.*s", (int)strcspn(image, "\n"), image);
        if (access(path, F_OK)) {
            *line = 0;
            return;
        }
    }
}

int source_files_compare(const struct plan *p, const struct run *run, const char *other,
                         int attempt, struct err *e)
{
    char path[PATH_MAX], copy[PATH_MAX], was_hex[65], is_hex[65];
    struct buf lines = {0};
    struct child_end is = {0};
    struct err unknown;
    size_t n;

    path_format(path, "%s/runs/%s/attempt-%d/source.sha256", p->study.dir, other, attempt);
    char *was = atomicfile_read(path, SOURCE_FILES_ALL_MAX, &n, &unknown);
    if (!was)
        return 0;
    sha256_bytes(was, n, was_hex);
    int rc = describe(run, &lines, e) || (lines.length && hash_lines(&lines, &is, e)) ? -1 : 1;
    if (rc > 0) {
        sha256_bytes(is.out.data, is.out.length, is_hex);
        path_format(copy, "%s/runs/%s/source-%.8s", p->study.dir, other, was_hex);
        drop_image(was);
        if (is.out.data)
            drop_image(is.out.data);
        if (strcmp(was, is.out.data ? is.out.data : "") != 0)
            rc = err_set(e, ERR_CONFIG,
                         "the script or container has the hash %.8s, and %s executed "
                         "%.8s; restore that (%s is %s), or make another study with 'unetctl init'",
                         is_hex, other, was_hex, access(copy, F_OK) ? path : copy,
                         access(copy, F_OK) ? "its list" : "a copy");
    }
    child_destroy(&is);
    buf_destroy(&lines);
    free(was);
    return rc;
}

/* ---- the job ---- */

static enum job_gpus find_request(const char *word)
{
    const char *const *words = setting_find(site_keys, "gpu_request")->words;
    int i = 0;

    while (words[i + 1] && strcmp(words[i], word) != 0)
        i++;
    return (enum job_gpus)i;
}

int attempt_job(const struct plan *p, const struct run *run, int attempt, struct attempt_job *dst,
                struct err *e)
{
    const struct study *s = run->study;
    const struct settings_program *section = study_engine(s, run->engine->name);
    bool resumes = !section || section->resumes;
    struct buf output = {0};
    int n;

    ledger_tag(p->study_id, run->id, attempt, dst->tag);
    snprintf(dst->name, sizeof dst->name, "%s-%s", p->study.name, run->id);
    snprintf(dst->work_dir, sizeof dst->work_dir, "%s/runs/%s", p->study.dir, run->id);
    path_format(dst->script, "%s/submit_file.sh", dst->work_dir);
    if (strcmp(p->site.scheduler, "slurm") == 0 && strchr(dst->work_dir, '\\'))
        return err_set(e, ERR_CONFIG, "%s: Slurm cannot write the output of a job into a folder "
                       "whose path has a backslash; rename it", dst->work_dir);
    job_add_output(dst->work_dir, &output);
    buf_addf(&output, "/attempt-%d/slurm-%%j.out", attempt);
    n = snprintf(dst->output, sizeof dst->output, "%s", output.failed ? "" : output.data);
    buf_destroy(&output);
    if (n <= 0 || n >= PATH_MAX)
        return err_set(e, ERR_CONFIG, "%s: the path is too long", dst->work_dir);
    dst->job = (struct job){.tag = dst->tag,
                            .name = dst->name,
                            .script = dst->script,
                            .work_dir = dst->work_dir,
                            .output = dst->output,
                            .nodes = run->layout.nodes,
                            .tasks = run->layout.tasks,
                            .gpus_per_task = run->layout.gpus_per_task,
                            .cpus_per_task =
                                (int)s->slurm.cpus_per_gpu * run->layout.gpus_per_task,
                            .signal_s = resumes ? (int)s->slurm.signal_s : 0,
                            .requeues = resumes ? (int)s->slurm.requeues : 0,
                            .gpu_request = find_request(p->site.gpu_request),
                            .gpu_type = p->site.gpu_type,
                            .options = p->options};
    if (same_nodes_find(p, run, dst->nodes))
        dst->job.options.nodelist = dst->nodes;
    n = script_has_directives(p->templates, run->engine, e);
    dst->job.own_directives = n > 0;
    return n < 0 ? -1 : 0;
}

/* ---- files, folders and scripts ---- */

static int add_run_json(const struct plan *p, const struct run *run, const char *name,
                        struct atomicfile_batch *files, struct err *e)
{
    char *text = run_json_encode(p->study_id, run, e);
    int rc = text ? add_text(p, run, name, text, 0666, files, e) : -1;

    free(text);
    return rc;
}

static int make_folder(const char *path, struct err *e)
{
    return files_make_folder(path)
               ? files_error(e, ERR_INTERNAL, errno, "cannot make the folder", path)
               : 0;
}

static int make_link(const struct plan *p, const struct run *run, const char *target,
                     const char *name, struct err *e)
{
    char path[PATH_MAX];

    path_format(path, "%s/runs/%s/%s", p->study.dir, run->id, name);
    return files_symlink(target, path) && errno != EEXIST
               ? files_error(e, ERR_INTERNAL, errno, "cannot make the link", path)
               : 0;
}

/* Makes what templates of the reference systems (doc/FORMATS.md, "The reference's templates")
 * expect: folders to copy log.csv to (../../logs, for Horovod ../logs), and the names script.sh
 * and sub_N.sh for the scripts. */
static int make_surroundings(const struct plan *p, const struct run *run, struct err *e)
{
    static const char *const names[] = {"logs", "runs/logs"};
    char path[PATH_MAX], name[32];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", p->study.dir, names[i]);
        if (make_folder(path, e))
            return -1;
    }
    snprintf(name, sizeof name, "sub_%d.sh", run->layout.nodes);
    return make_link(p, run, "run_file.sh", "script.sh", e) ||
                   make_link(p, run, "submit_file.sh", name, e)
               ? -1
               : 0;
}

/* Renders the scripts, and adds them to the batch unless files is NULL. */
static int add_scripts(const struct plan *p, const struct run *run, int attempt,
                       struct atomicfile_batch *files, struct err *e)
{
    char *run_text, *submit_text;
    struct attempt_job job;
    bool tags;

    if (attempt_job(p, run, attempt, &job, e) ||
        script_render(p, run, attempt, &job.job, &run_text, &submit_text, &tags, e))
        return -1;
    bool failed = files && (add_text(p, run, "run_file.sh", run_text, 0777, files, e) ||
                            add_text(p, run, "submit_file.sh", submit_text, 0777, files, e) ||
                            (tags && make_surroundings(p, run, e)));
    free(run_text);
    free(submit_text);
    return failed ? -1 : 0;
}

int attempt_check(const struct plan *p, const struct run *run, struct err *e)
{
    return add_scripts(p, run, 1, NULL, e);
}

static int add_attempt(const struct plan *p, const struct run *run, int attempt,
                       struct atomicfile_batch *files, struct err *e)
{
    char path[PATH_MAX], name[48];

    path_format(path, "%s/runs/%s/attempt-%d", p->study.dir, run->id, attempt);
    if (make_folder(path, e))
        return -1;
    snprintf(name, sizeof name, "attempt-%d/run.json", attempt);
    if (run->own_plan && add_run_json(p, run, name, files, e))
        return -1;
    return add_scripts(p, run, attempt, files, e) || source_files_add(p, run, files, e) ? -1 : 0;
}

static int add_next(const struct plan *p, const struct run *run, int attempt,
                    struct atomicfile_batch *files, struct err *e)
{
    struct run next = *run;
    struct study own;

    if (run_settings_open(p, run->id, &own, &next.own_plan, e) < 0)
        return -1;
    next.study = &own;
    next.own_plan |= run->resized;
    bool anew = run_dir_never_trained(p->study.dir, run->id) && !run->resized;
    int rc = add_attempt(p, &next, attempt, files, e);
    if (rc == 0 && anew)
        rc = add_run_json(p, &next, "run.json", files, e);
    study_close(&own);
    return rc;
}

int attempt_generate(const struct plan *p, const struct run *run, int attempt,
                     struct atomicfile_batch *files, struct err *e)
{
    struct run_attempt newest;
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/runs", p->study.dir);
    if (make_folder(path, e))
        return -1;
    path_format(path, "%s/runs/%s", p->study.dir, run->id);
    if (make_folder(path, e) || run_dir_attempt(p->study.dir, run->id, &newest, e))
        return -1;
    if (newest.begun && newest.number >= attempt)
        return run_settings_compare(p, run, e);
    if (attempt > 1)
        return add_next(p, run, attempt, files, e);
    return add_attempt(p, run, attempt, files, e) || add_run_json(p, run, "run.json", files, e) ? -1
                                                                                                : 0;
}

void attempt_remove_empty(const struct plan *p, const struct run *run, int attempt)
{
    char path[PATH_MAX];

    (void)files_rmdir(path_format(path, "%s/runs/%s/attempt-%d", p->study.dir, run->id, attempt));
    (void)files_rmdir(path_format(path, "%s/runs/%s", p->study.dir, run->id));
}

bool attempt_is_whole(const struct plan *p, const struct run *run, int attempt, struct err *why)
{
    char attempt_name[32], path[PATH_MAX];
    const char *const names[] = {attempt_name, "run_file.sh", "submit_file.sh"};
    struct run ignored;

    snprintf(attempt_name, sizeof attempt_name, "attempt-%d", attempt);
    if (run_dir_read(p->study.dir, run->id, &ignored, NULL, why))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        path_format(path, "%s/runs/%s/%s", p->study.dir, run->id, names[i]);
        if (access(path, F_OK) != 0) {
            err_errno(why, ERR_DATA, errno, "%s", path);
            return false;
        }
    }
    return true;
}

int attempt_write(const struct plan *p, const struct run *run, int attempt, struct err *e)
{
    struct atomicfile_batch files = {0};
    int rc = attempt_generate(p, run, attempt, &files, e) || atomicfile_batch_commit(&files, e) ? -1
                                                                                                : 0;

    atomicfile_batch_abort(&files);
    return rc;
}
