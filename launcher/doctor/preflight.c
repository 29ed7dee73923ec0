/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/doctor/doctor.h"

#include <fcntl.h>
#include <grp.h>
#include <math.h>
#include <netdb.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <time.h>

#include "launcher/host/child.h"
#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "launcher/plan/look.h"
#include "launcher/plan/cost.h"
#include "launcher/sandbox/sandbox.h"
#include "launcher/scheduler/job.h"
#include "launcher/script/container.h"
#include "launcher/script/script.h"
#include "launcher/script/template.h"
#include "launcher/submit/attempt.h"
#include "launcher/submit/submission.h"
#include "src/files.h"

#define SERVER_CLOCK_S 5.0

/* ---- this host ---- */

static void check_host(struct findings *f)
{
    json_t *facts = facts_collect(NULL), *list = json_pack("[o]", facts);
    struct addrinfo *found = NULL;
    int rc = getaddrinfo(jsonio_text(facts, "host"), NULL, NULL, &found);

    json_object_set_new(facts, "own_name", json_string(rc ? gai_strerror(rc) : ""));
    if (found)
        freeaddrinfo(found);
    findings_judge(list, f);
    json_decref(list);
}

/* ---- which other users may change what this user executes ---- */

/* Many systems give each user a group of the same name, and files that it may write. */
static bool is_own_group(gid_t group)
{
    const struct passwd *me = getpwuid(geteuid());
    const struct group *g = me && me->pw_gid == group ? getgrgid(group) : NULL;

    return g && strcmp(g->gr_name, me->pw_name) == 0;
}

/* Sets who may write there, by name or number, or returns false. In a folder above the given path
 * that is sticky, as /tmp is, others can replace nothing; the owners of folders above are
 * trusted. */
static bool find_who(const struct stat *st, bool above, char who[128])
{
    if (above && S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX)
        return false;
    if (!above && st->st_uid && st->st_uid != geteuid()) {
        const struct passwd *p = getpwuid(st->st_uid);
        snprintf(who, 128, "its owner %u", st->st_uid);
        if (p)
            snprintf(who, 128, "its owner %s", p->pw_name);
    } else if (st->st_mode & S_IWOTH) {
        snprintf(who, 128, "every user");
    } else if (st->st_mode & S_IWGRP && st->st_gid && !is_own_group(st->st_gid)) {
        const struct group *g = getgrgid(st->st_gid);
        snprintf(who, 128, "the group %u", st->st_gid);
        if (g)
            snprintf(who, 128, "the group %s", g->gr_name);
    } else {
        return false;
    }
    return true;
}

bool preflight_find_writer(const char *path, char found[PATH_MAX], char who[128])
{
    struct stat st;
    bool above = false;

    if (!realpath(path, found))
        return false;
    for (;; above = true) {
        char *slash = strrchr(found, '/');
        if (stat(found, &st) == 0 && find_who(&st, above, who))
            return true;
        if (!slash || !found[1])
            return false;
        slash[slash == found] = 0;
    }
}

static void check_rights(const struct workspace *w, struct findings *f)
{
    char ledger[PATH_MAX], submit_file[PATH_MAX], run_file[PATH_MAX];
    char last[PATH_MAX] = "", path[PATH_MAX], who[128];
    bool own_site = strchr(w->plan.site.name, '/'); /* others are installed as this program is */
    const char *paths[] = {
        w->plan.study.dir, w->plan.study.file, w->ledger.dir,
        path_format(ledger, "%s/ledger.jsonl", w->ledger.dir), own_site ? w->plan.site.file : "",
        w->plan.templates, path_format(submit_file, "%s/submit_file.sh", w->plan.templates),
        path_format(run_file, "%s/run_file.sh", w->plan.templates)};

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!*paths[i] || (i > 5 && !*w->plan.templates) ||
            !preflight_find_writer(paths[i], path, who) || strcmp(path, last) == 0)
            continue;
        strcpy(last, path);
        findings_add(f, FINDING_WARNING, "rights", "%s may write %s, and so start commands as you\n"
                     "if that is not meant: chmod go-w %s, or copy it to a folder of your own", who,
                     path, path);
    }
    if (!*last)
        findings_add(f, FINDING_OK, "rights",
                     "only you may write the study, its site and templates");
}

/* ---- the study's folder ---- */

/* Returns the name of the file system of dir if it is of a kind that only this host can see,
 * otherwise NULL. */
static const char *local_file_system(const char *dir)
{
    static const struct {
        unsigned long type;
        const char *name;
    } known[] = {{0x01021994, "tmpfs"}, {0x858458f6, "ramfs"}, {0x794c7630, "overlay"},
                 {0xef53, "ext4"},      {0x58465342, "xfs"},   {0x9123683e, "btrfs"}};
    struct statfs fs;

    for (size_t i = 0; statfs(dir, &fs) == 0 && i < sizeof known / sizeof *known; i++)
        if ((unsigned long)fs.f_type == known[i].type)
            return known[i].name;
    return NULL;
}

static void check_space(const struct plan *p, struct findings *f)
{
    struct model_look model = {0};
    struct statvfs fs;
    struct err ignored;

    if (statvfs(p->study.dir, &fs))
        return;
    if (study_runs_trainer(&p->study))
        (void)model_look_open(&p->study, false, false, &model, &ignored);
    double need = (double)run_cost_disk(&p->study, &model, p->options.time_min);
    double left = (double)fs.f_bavail * (double)fs.f_frsize;
    if (left < need || (fs.f_files && fs.f_favail < 100))
        findings_add(f, FINDING_ERROR, "space",
                     "%s: %.1f MiB and %lu files left, but one run writes up to %.1f MiB\nmake room "
                     "(df -h %s), or move the study", p->study.dir, left / 1048576,
                     (unsigned long)fs.f_favail, need / 1048576, p->study.dir);
    else
        findings_add(f, FINDING_OK, "space", "%.1f GiB left for runs of up to %.1f MiB",
                     left / (1 << 30), need / 1048576);
}

/* Checks that locks work. If two processes could hold one lock, a job might be submitted twice. */
static void check_lock(const char *path, int fd, struct findings *f)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int other = files_open(path, O_RDWR, 0);
    int first = fcntl(fd, F_OFD_SETLK, &lock), reason = errno;
    int second = other < 0 || first ? -1 : fcntl(other, F_OFD_SETLK, &lock);

    if (first)
        findings_add(f, FINDING_ERROR, "lock", "%s: cannot be locked: %s\nmove the study to a file "
                     "system with locks (NFS without nolock, Lustre with flock)", path,
                     strerror(reason));
    else if (second == 0)
        findings_add(f, FINDING_ERROR, "lock", "%s: the file system grants one lock to two "
                     "holders\nmove the study to another file system", path);
    else
        findings_add(f, FINDING_OK, "lock", "the study can be locked");
    if (other >= 0)
        close(other);
}

/* Compares this host's clock with the file server's, by the time of a file that was just
 * written. */
static void check_server_clock(int fd, struct findings *f)
{
    struct stat st;

    if (write(fd, "x", 1) != 1 || fstat(fd, &st))
        return;
    double skew = difftime(st.st_mtime, time(NULL));
    if (fabs(skew) > SERVER_CLOCK_S)
        findings_add(f, FINDING_WARNING, "clocks", "the file server's clock is %.0f s %s this "
                     "host's\nask the administrators to run chrony or ntpd on this host and the "
                     "file server", fabs(skew), skew > 0 ? "ahead of" : "behind");
}

void preflight_check_folder(const struct workspace *w, struct findings *f)
{
    const char *local = local_file_system(w->plan.study.dir), *dir = w->plan.study.dir;
    bool cluster = strcmp(w->plan.scheduler, "slurm") == 0 && !w->plan.site.sandbox;
    char path[PATH_MAX];

    check_rights(w, f);
    path_format(path, "%s/.doctor.%d", dir, (int)getpid());
    int fd = files_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0) {
        findings_add(f, FINDING_ERROR, "study", "%s: cannot be written: %s\nchmod u+w %s, or make "
                     "room there", dir, strerror(errno), dir);
        return;
    }
    if (local && cluster)
        findings_add(f, FINDING_WARNING, "study", "%s is on %s, which other hosts may not see\nput "
                     "studies on the cluster's shared file system ('unetctl doctor --gpus N' "
                     "checks that)", dir, local);
    else
        findings_add(f, FINDING_OK, "study", "%s can be written", dir);
    check_lock(path, fd, f);
    check_server_clock(fd, f);
    close(fd);
    files_unlink(path);
    check_space(&w->plan, f);
}

/* ---- the study's data, and what runs compute on ---- */

static void check_data(const struct plan *p, struct findings *f)
{
    const char *dir = p->study.data.dir, *file = p->study.file;
    struct data_look look;
    struct err e;

    if (!study_has_images(&p->study))
        return;
    bool refused = data_look_count(&p->study, &look, &e) != 0;
    /* Which folder holds the masks is decided once the split is made. */
    if (refused && e.code == ERR_CONFIG && path_has_file(p->study.dir, "split.json"))
        return;
    const char *complaint = refused ? NULL : data_look_complaint(&look, &p->study);
    if (refused)
        findings_add(f, FINDING_ERROR, "data", "%s\nname the folder with images/ and masks/, or "
                     "with images of one class each, in data.dir of %s", e.text, file);
    else if (look.images == 0 || look.unpaired)
        findings_add(f, look.images ? FINDING_WARNING : FINDING_ERROR, "data", "%s: %zu images, "
                     "%zu masks, %zu without a counterpart%s%s\ngive every image a mask of the "
                     "same name ('unetctl data check FILES' lists the others)", dir, look.images,
                     look.masks, look.unpaired, look.unpaired ? ", such as " : "", look.odd);
    else if (complaint)
        findings_add(f, look.meaning == DATA_ONE_CLASS ? FINDING_WARNING : FINDING_ERROR, "data",
                     "%s: %s\ntype 'unetctl data stats --data %s', and set data.* in %s", dir,
                     complaint, dir, file);
    else if (*look.trouble)
        findings_add(f, FINDING_ERROR, "data", "%s\ntype 'unetctl data check %s' for details",
                     look.trouble, dir);
    else
        findings_add(f, FINDING_OK, "data", "%zu images with %s in %s", look.images,
                     look.classes ? "classes" : "masks", dir);
}

static void check_compute(const struct plan *p, struct findings *f)
{
    struct compute_look look;

    compute_look_open(&p->study, &p->site, &look);
    if (*look.problem)
        findings_add(f, look.fatal ? FINDING_ERROR : FINDING_WARNING, "backend", "%s\n%s",
                     look.problem, look.remedy);
    else if (*look.text)
        findings_add(f, FINDING_OK, "backend", "the runs compute on %s", look.text);
}

/* ---- the container, and what Python imports ---- */

/* Prints "ok VERSION COUNT", or the module that is missing or fails with the reason, or why the
 * script cannot be read. Output of the modules goes to standard error. */
static const char program[] =
    "import ast, importlib, os, sys\n"
    "out, sys.stdout = sys.stdout, sys.stderr\n"
    "def say(*words):\n"
    "    print(' '.join(' '.join(map(str, words)).split()), end='', file=out, flush=True)\n"
    "    os._exit(0)\n"
    "path, names = sys.argv[1], []\n"
    "sys.path[0] = os.path.dirname(path)\n"
    "try:\n"
    "    with open(path, 'rb') as f:\n"
    "        body = ast.parse(f.read(), path).body\n"
    "except (OSError, SyntaxError, ValueError) as e:\n"
    "    say('script', e)\n"
    "for node in body:\n"
    "    names += ([a.name for a in node.names] if isinstance(node, ast.Import) else\n"
    "              [node.module] if isinstance(node, ast.ImportFrom) and not node.level else [])\n"
    "for name in names:\n"
    "    try:\n"
    "        importlib.import_module(name)\n"
    "    except ModuleNotFoundError as e:\n"
    "        say('missing', e.name or name)\n"
    "    except BaseException as e:\n"
    "        say('fails', name, type(e).__name__ + ':', e)\n"
    "say('ok', sys.version.split()[0], len(set(names)))\n";

/* Adds the shell text that a run begins with, up to the words in front of its program. */
static void add_start(const struct plan *p, const struct settings_program *section, struct buf *b)
{
    struct err ignored;

    template_add_sh(b, "cd %s\n{\n", p->study.dir);
    template_add_lines(b, &p->site.setup);
    if (section)
        template_add_lines(b, &section->setup);
    template_add_exports(b, &p->site.env);
    (void)script_values_add_python_path(b, &ignored);
    if (section)
        template_add_exports(b, &section->env);
    buf_add(b, "} >/dev/null 2>&1 </dev/null\nexec </dev/null timeout 120 ");
    if (container_add_words(&p->study, &p->site, b, &ignored)) /* container_check reports it */
        b->failed = true;
    buf_add(b, " ");
}

/* Adds what shows that the program of a run is in the container. */
static void add_first_program(const struct plan *p, const struct settings_program *section,
                              bool is_python, struct buf *b)
{
    struct err ignored;

    if (section && !is_python) {
        template_add_sh(b, "test -x %s", section->script);
    } else if (section) {
        script_values_add_python(b, section->python);
        buf_add(b, " --version");
    } else {
        const char *own = *p->site.trainer ? NULL : paths_bindir(&ignored);
        template_quote_sh(b, own ? own : p->site.trainer);
        buf_addf(b, "%s --version", own ? "/unet-train" : "");
    }
    buf_add(b, " 2>&1");
}

/* Runs the text in bash and writes what it prints. Returns its exit code. */
static int run_text(struct buf *text, char *dst, size_t size)
{
    const char *const words[] = {"bash", "-c", text->failed ? "exit 1" : text->data, NULL};
    struct child c = {.argv = words, .out = CHILD_READ};
    struct child_end end;
    struct err ignored;
    int code = child_run(&c, &end, &ignored) ? 1 : end.code;

    snprintf(dst, size, "%s", end.out.data ? end.out.data : "");
    child_destroy(&end);
    buf_destroy(text);
    return code;
}

static bool check_container(const struct plan *p, const struct settings_program *section,
                            bool is_python, struct findings *f)
{
    static const char own[] = "unetctl: error: container "; /* of templates/container.sh */
    const char *image = p->study.container, *file = p->study.file;
    bool on_nodes = strcmp(p->scheduler, "slurm") == 0 && !p->site.sandbox;
    char said[4096], why[1024];
    struct buf text = {0};
    struct err e;

    if (container_check(&p->study, &p->site, &e)) {
        findings_add(f, FINDING_ERROR, "container",
                     "%s\nset container and container_runtime in %s", e.text, file);
        return false;
    }
    if (container_is_pyxis(&p->study)) {
        if (sbatch_help_find("container-image", p->site.sandbox) != SBATCH_HELP_NONE)
            findings_add(f, FINDING_OK, "container", "%s: not started here; 'unetctl doctor --gpus "
                         "1' starts unetctl in it", image);
        else
            findings_add(f, FINDING_ERROR, "container", "%s: Slurm has no Pyxis here (no "
                         "--container-image in the help of sbatch)\nchoose another "
                         "container_runtime in %s", image, file);
        return false;
    }
    add_start(p, section, &text);
    add_first_program(p, section, is_python, &text);
    int code = run_text(&text, said, sizeof said);
    said[strcspn(said, "\n")] = 0;
    if (code == 0) {
        findings_add(f, FINDING_OK, "container", "%s starts%s%s", image, *said ? ": " : "", said);
        return true;
    }
    if (text_begins(said, own))
        snprintf(why, sizeof why, "%.400s", said + strlen(own));
    else
        snprintf(why, sizeof why, "%s: %s does not start: %.400s", image,
                 !section ? "unet-train" : is_python ? section->python : section->script,
                 *said ? said : "it does not exist, or is not executable");
    findings_add(f, code == ERR_PEER && on_nodes ? FINDING_WARNING : FINDING_ERROR, "container",
                 "%s\ncorrect container, container_runtime or the program in %s; 'unetctl doctor "
                 "--gpus 1' starts the container on a node", why, file);
    return false;
}

/* Imports what the script imports at its top level, outside of try, and adds what was said. */
static void check_imports(const struct plan *p, const struct settings_program *section,
                          const char *script, struct findings *f)
{
    const char *engine = p->study.engine, *file = p->study.file, *python = section->python;
    struct buf text = {0};
    char said[4096];

    add_start(p, section, &text);
    script_values_add_python(&text, python);
    template_add_sh(&text, " -c %s %s 2>/dev/null", program, script);
    run_text(&text, said, sizeof said);
    const char *rest = strchr(said, ' ') ? strchr(said, ' ') + 1 : "";
    int word = (int)strcspn(rest, " ");
    if (strncmp(said, "ok ", 3) == 0)
        findings_add(f, FINDING_OK, "python", "%s (%.*s) has the modules that %s imports", python,
                     word, rest, script);
    else if (strncmp(said, "missing ", 8) == 0)
        findings_add(f, FINDING_ERROR, "python", "%s: %s has no module '%s'\ntype '%s -m pip "
                     "install %s' (the package's name may differ), or choose another interpreter "
                     "with %s.python, or lines for %s.setup in %s", script, python, rest, python,
                     rest, engine, engine, file);
    else if (strncmp(said, "fails ", 6) == 0)
        findings_add(f, FINDING_WARNING, "python", "%s: importing %.400s\ntype '%s -c \"import "
                     "%.*s\"' on a node: a library may exist only there", script, rest, python,
                     word, rest);
    else if (strncmp(said, "script ", 7) == 0)
        findings_add(f, FINDING_ERROR, "python",
                     "%s: %.400s\ncorrect the script, or set %s.script in %s", script, rest, engine,
                     file);
    else
        findings_add(f, FINDING_ERROR, "python", "the interpreter %s does not start, or did not "
                     "end within 120 s\nset %s.python in %s, or load it in %s.setup", python,
                     engine, file, engine);
}

/* Starts the interpreter of the study's engine as run_file.sh does, after the lines of setup and
 * env, in the container. For engines that do not run Python only the container is checked. */
static void check_program(const struct plan *p, struct findings *f)
{
    const struct settings_program *section = study_engine(&p->study, p->study.engine);
    struct err e;
    const struct engine *engine = engine_find(p->study.engine, &e);
    const char *script = section ? section->script : "";
    char shipped[PATH_MAX];

    if (container_is_set(&p->study) && engine && !check_container(p, section, engine->is_python, f))
        return;
    if (!section || !engine || !engine->is_python || (!*script && !engine->script))
        return;
    if (plan_check_shipped(p, &p->study, &e))
        findings_add(f, FINDING_ERROR, "script", "%s\nset model.batch_norm: local in %s", e.text,
                     p->study.file);
    if (!*script && paths_data(engine->script, shipped, sizeof shipped, &e) == 0)
        script = shipped;
    struct buf words = {0};
    bool plain = script_values_add_python(&words, section->python);
    buf_destroy(&words);
    if (plain)
        check_imports(p, section, script, f);
    else
        findings_add(f, FINDING_OK, "python", "not checked: '%s' starts the script",
                     section->python);
}

/* ---- the scheduler ---- */

static void check_partition(const struct plan *plan, struct scheduler *s, struct findings *f)
{
    struct scheduler_partition p;
    struct err e;

    if (scheduler_partition(s, plan->options.partition, &p, &e))
        findings_add(f, FINDING_ERROR, "partition",
                     "%s\nset slurm.partition in %s to one of these", e.text, plan->study.file);
    else if (*p.unknown)
        findings_add(f, FINDING_OK, "partition", "%s: unknown: %s; Slurm decides whether a run "
                     "fits", p.name, p.unknown);
    else if (p.nodes && p.gpus_per_node < plan->site.gpus_per_node)
        findings_add(f, FINDING_ERROR, "gres", "site %s plans %d GPUs per node, but the nodes of "
                     "partition %s have %d\nchoose a partition with more GPUs (sinfo -o '%%P "
                     "%%G'), or correct gpus_per_node in %s", plan->site.name, plan->site.gpus_per_node,
                     p.name, p.gpus_per_node, plan->site.file);
    else if (strchr(p.gpu_types, ',') && !*plan->site.gpu_type && !plan->options.constraint)
        findings_add(f, FINDING_WARNING, "gres", "partition %s has GPUs of several types (%s), and "
                     "a run may get any of them: their times are not comparable\nset gpu_type in "
                     "%s, or slurm.constraint in %s", p.name, p.gpu_types, plan->site.file,
                     plan->study.file);
    else
        findings_add(f, FINDING_OK, "partition", "%s: %d node%s, %d GPU%s on each", p.name, p.nodes,
                     plural(p.nodes), p.gpus_per_node, plural(p.gpus_per_node));
}

/* Checks that srun supports the launcher's --mpi. pmix is not checked in a sandbox (a private
 * Slurm on this machine), where mpirun starts the ranks if srun lacks it. */
static void check_launcher(const struct plan *p, struct findings *f)
{
    char *argv[] = {"sh", "-c", "exec srun --mpi=list 2>&1", NULL};
    struct buf list = {0};

    if (p->site.sandbox && strstr(p->site.launcher, "--mpi=pmix "))
        return;
    sbatch_help_ask(argv, p->site.sandbox, &list);
    findings_judge_launcher(p->site.launcher, list.data, p->site.file, f);
    buf_destroy(&list);
}

/* Checks account, QOS, constraint and limits by a forecast of a run on 1 GPU, since only Slurm
 * knows them. */
static void check_job(const struct plan *p, struct scheduler *s, struct findings *f)
{
    struct scheduler_forecast forecast;
    struct plan plan = {0};
    struct attempt_job job;
    struct err e;

    bool is_planned = plan_compute(p, "1", 1, &plan, &e) == 0 &&
                      attempt_job(p, &plan.runs[0], 1, &job, &e) == 0;
    job.job.script = NULL;
    if (!is_planned)
        findings_add(f, FINDING_ERROR, "job", "%s\ntype 'unetctl plan --gpus 1' for details",
                     e.text);
    else if (scheduler_forecast(s, &job.job, &forecast, &e))
        findings_add(f, FINDING_ERROR, "job", "a run on 1 GPU would be refused: %s\ntype 'unetctl "
                     "config --origin slurm' for account, qos, constraint and time", e.text);
    else
        findings_add(f, FINDING_OK, "job", "a run on 1 GPU would be accepted%s%s",
                     *forecast.nodes ? ", now on " : "", forecast.nodes);
    plan_free_runs(&plan);
}

static void check_nodes(const struct plan *p, struct findings *f)
{
    struct bad_nodes b;
    struct err e;

    if (bad_nodes_read(p->study.dir, &b, &e)) {
        findings_add(f, FINDING_WARNING, "nodes", "%s", e.text);
        return;
    }
    for (const struct bad_node *n = b.nodes; n < b.nodes + b.count; n++)
        if (bad_nodes_is_out(p, n))
            findings_add(f, FINDING_WARNING, "nodes", "%s: %d note%s, the last: %s; jobs leave it "
                         "out\nreport it to the administrators; a run that is done there clears "
                         "it: unetctl submit ... -- --nodelist=%s", n->name, n->notes,
                         plural(n->notes), n->last, n->name);
        else
            findings_add(f, FINDING_OK, "nodes", "%s: %d note%s, the last: %s", n->name, n->notes,
                         plural(n->notes), n->last);
    bad_nodes_destroy(&b);
}

static void check_scheduler(struct workspace *w, struct findings *f)
{
    struct err e, ignored;
    struct scheduler *s = workspace_scheduler(w, workspace_kind(w), &e);
    struct job_state *jobs = NULL;
    struct sandbox sandbox;
    size_t njobs;

    /* only to see whether it answers */
    int rc = s ? scheduler_query(s, "unetctl:", false, &jobs, &njobs, &e) : -1;
    free(jobs);
    if (rc) {
        bool is_up = w->plan.site.sandbox && sandbox_find(&sandbox, &ignored) == 0;
        char *advice = strstr(e.text, "; use a login node"); /* the remedy says it */
        if (advice)
            *advice = 0;
        findings_add(f, FINDING_ERROR, "scheduler", "%s\n%s", e.text, is_up
                     ? "its Slurm has failed: type 'unetctl sandbox down', then 'unetctl sandbox up'"
                     : w->plan.site.sandbox ? "type 'unetctl sandbox up'"
                     : strcmp(w->plan.scheduler, "local") == 0 ? ""
                     : "use a login node (where sinfo works), or --scheduler local");
        return;
    }
    findings_add(f, FINDING_OK, "scheduler", "%s answers", w->plan.scheduler);
    if (strcmp(w->plan.scheduler, "slurm") == 0) {
        check_partition(&w->plan, s, f);
        check_job(&w->plan, s, f);
        check_launcher(&w->plan, f);
        check_nodes(&w->plan, f);
    }
}

void preflight_check(struct workspace *w, struct findings *f)
{
    check_host(f);
    preflight_check_folder(w, f);
    check_data(&w->plan, f);
    check_compute(&w->plan, f);
    check_program(&w->plan, f);
    check_scheduler(w, f);
}
