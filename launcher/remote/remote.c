/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/remote/remote.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "launcher/host/path.h"
#include "launcher/remote/remote_internal.h"
#include "launcher/script/template.h"
#include "launcher/study/study.h"
#include "src/atomicfile.h"

#define PATHS_MAX 8

/* What belongs to the study there and is never sent: study.yaml is sent on its own. */
static const char *const kept[] = {STUDY_FILE, "runs", "logs", "report", "split.json",
                                   "split-*.json", ".unetctl", ".git", NULL};
/* Verbs after which results are copied back, and these results. */
#define WRITERS "collect report submit watch"
static const char *const results[] = {"logs", "report", NULL};

struct remote {
    const struct cli_command *command;
    const char *operand; /* names the study, and is not sent */
    bool several;        /* further operands are studies on the same host */
    char dir[PATH_MAX];  /* of the study here */
    struct remote_site site;
    struct buf text; /* study.yaml for there; empty: it is not sent */
    struct buf mark; /* its last line: where it is from */
    struct ssh ssh;
    struct buf words; /* of the verb, for sh */
    /* values of its options that are files in the study's folder */
    char paths[PATHS_MAX][PATH_MAX];
    size_t npaths;
};

static void destroy(struct remote *r)
{
    buf_destroy(&r->words);
    buf_destroy(&r->mark);
    buf_destroy(&r->text);
    remote_site_destroy(&r->site);
}

static const struct cli_option *find_option(const struct cli_command *c, const char *name)
{
    const struct cli_option *o = c->options;

    while (o && o->name && strcmp(o->name, name) != 0)
        o++;
    return o && o->name ? o : NULL;
}

static bool is_given(const struct cli_option *o)
{
    return o && (o->type == CLI_LIST ? ((const struct cli_list *)o->dst)->count > 0
                                     : *(const char *const *)o->dst != NULL);
}

/* ---- the words ---- */

/* Returns whether the value is a path, which is meant here unless it is absolute. */
static bool is_path(const struct cli_option *o, const char *value)
{
    return *value != '/' && strcmp(value, "-") != 0 &&
           (text_has_word("DIR FILE PATH", o->arg, strlen(o->arg)) ||
            (strcmp(o->arg, "SITE") == 0 && strchr(value, '/')));
}

/* Adds a path in the study's folder as it is named from there. */
static int add_path(struct remote *r, const struct cli_option *o, const char *value, struct err *e)
{
    char here[PATH_MAX], full[PATH_MAX] = "";
    size_t n = strlen(r->dir);

    while (strncmp(value, "./", 2) == 0)
        value += 2 + strspn(value + 2, "/");
    if (getcwd(here, sizeof here))
        path_format(full, "%s/%s", here, value);
    if (strncmp(full, r->dir, n) != 0 || full[n] != '/' || strstr(full, "/../") ||
        strpbrk(full + n, "*?[\\") || r->npaths == PATHS_MAX)
        return err_set(e, ERR_USAGE, "%s: --%s %s: only files in %s are also on %s; name one there, "
                       "or by its absolute path on %s", r->command->name, o->name, value, r->dir,
                       r->site.host, r->site.host);
    snprintf(r->paths[r->npaths], PATH_MAX, "%s", full + n + 1);
    buf_add(&r->words, "./"); /* a site's name would have none */
    template_quote_sh(&r->words, r->paths[r->npaths++]);
    return 0;
}

/* Adds the command that runs the verb there: in the study's folder, with the variables of settings
 * and options that it has here. */
static void add_verb(const struct remote *r, struct buf *script)
{
    buf_add(script, "env");
    for (char **v = environ; *v; v++)
        if (strncmp(*v, "UNETCTL_", 8) == 0 && strncmp(*v, "UNETCTL_STUDY=", 14) != 0) {
            buf_add(script, " ");
            template_quote_sh(script, *v);
        }
    buf_add(script, " ");
    ssh_add_path(script, r->site.unetctl);
    buf_addf(script, " %s%s", r->command->name, r->words.data ? r->words.data : "");
}

/* ---- there ---- */

/* Exit codes of the script that prepares, and what they mean. */
enum { NO_PROGRAM = 93, OTHER_VERSION, NO_RSYNC, NOT_WRITTEN, INCOMPLETE, OTHER_STUDY };
static const struct {
    int code;
    enum err_code error;
    const char *what, *todo;
} failures[] = {
    {NO_PROGRAM, ERR_CONFIG, "has no unetctl that starts",
     "install version " PACKAGE_VERSION " there, or name it: site: {ssh: HOST, unetctl: PATH}"},
    {OTHER_VERSION, ERR_CONFIG, "has another version than unetctl " PACKAGE_VERSION " here",
     "install the same on both"},
    {NO_RSYNC, ERR_CONFIG, "has no rsync", "install it there"},
    {NOT_WRITTEN, ERR_CONFIG, "cannot be written",
     "make room there, or name another folder: site: {ssh: HOST, folder: FOLDER}"},
    {INCOMPLETE, ERR_SCHED, "got only a part of study.yaml", "type the same command again"},
    {OTHER_STUDY, ERR_CONFIG, "has a study that was not sent from this folder",
     "name another folder (site: {ssh: HOST, folder: FOLDER}) or, if it is this study, remove "
     "study.yaml there, which is sent again"},
};

static int refuse(const struct remote *r, struct child_end *end, struct err *e)
{
    size_t i = 0, n = sizeof failures / sizeof *failures;

    if (end->code == SSH_LOST)
        return ssh_refuse(&r->ssh, end->err.data, e);
    const char *line = ssh_line(end->err.data, true);
    while (i < n && failures[i].code != end->code)
        i++;
    if (i == n)
        return err_set(e, ERR_SCHED, "%s: the shell there ends with %d: %s", r->site.host,
                       end->code, line);
    return err_set(e, failures[i].error, "%s:%s %s%s%s%s; %s", r->site.host, r->site.folder,
                   failures[i].what, *line ? " (" : "", line, *line ? ")" : "", failures[i].todo);
}

static void begin_script(const struct remote *r, struct buf *s)
{
    buf_add(s, "PATH=$PATH:$HOME/.local/bin\nm=");
    template_quote_sh(s, r->mark.data);
    buf_add(s, "\n");
}

static void add_checks(const struct remote *r, struct buf *s)
{
    buf_add(s, "v=$(");
    ssh_add_path(s, r->site.unetctl);
    buf_addf(s, " --version) || exit %d\n[ \"$v\" = 'unetctl " PACKAGE_VERSION "' ] || "
             "{ echo \"$v\" >&2; exit %d; }\n", NO_PROGRAM, OTHER_VERSION);
    buf_addf(s, "command -v rsync >/dev/null || exit %d\nmkdir -p ", NO_RSYNC);
    ssh_add_path(s, r->site.folder);
    buf_add(s, " && cd ");
    ssh_add_path(s, r->site.folder);
    buf_addf(s, " || exit %d\n[ -w . ] || { echo 'Permission denied' >&2; exit %d; }\n",
             NOT_WRITTEN, NOT_WRITTEN);
}

/* Adds what stores study.yaml from standard input, if it differs. One that is there already is
 * replaced only if it ends with the line m, so that it came from this folder. */
static void add_storing(struct buf *s)
{
    buf_addf(s, "n=$(cat; echo .)\ncase $n in *\"$m.\") ;; *) exit %d ;; esac\n", INCOMPLETE);
    buf_addf(s, "o=$(cat " STUDY_FILE " 2>/dev/null; echo .)\n[ \"$n\" = \"$o\" ] && exit 0\n"
             "case $o in . | *\"$m.\") ;; *) exit %d ;; esac\nt=." STUDY_FILE ".$$\n"
             "printf %%s \"${n%%.}\" >$t && mv -f $t " STUDY_FILE " && exit 0\nrm -f $t\nexit %d\n",
             OTHER_STUDY, NOT_WRITTEN);
}

/* Returns a file with the text, or -1. */
static int make_input(const struct buf *text, struct err *e)
{
    int fd = memfd_create(STUDY_FILE, MFD_CLOEXEC);

    if (fd < 0 || write(fd, text->data, text->length) != (ssize_t)text->length ||
        lseek(fd, 0, SEEK_SET))
        return err_errno(e, ERR_INTERNAL, errno, STUDY_FILE);
    return fd;
}

static int prepare(struct remote *r, struct err *e)
{
    struct child streams = {.in = CHILD_NULL, .out = CHILD_READ, .err = CHILD_READ};
    struct child_end end = {0};
    struct buf script = {0};

    if (ssh_open(&r->ssh, r->site.host, e) ||
        (r->text.length && (streams.in = make_input(&r->text, e)) < 0))
        return -1;
    begin_script(r, &script);
    add_checks(r, &script);
    if (r->text.length)
        add_storing(&script);
    int rc = script.failed ? mem_fail(e)
                           : ssh_run(&r->ssh, script.data, &streams, false, &end, e);
    if (rc > 0)
        rc = refuse(r, &end, e);
    if (streams.in >= 0)
        close(streams.in);
    child_destroy(&end);
    buf_destroy(&script);
    return rc ? -1 : ssh_push(&r->ssh, r->dir, r->site.folder, kept, e);
}

static void mark_text(struct remote *r)
{
    struct buf dir = {0};

    for (const char *p = r->dir; *p;) { /* YAML is UTF-8 also in comments */
        size_t n = utf8_size(p);
        if (n)
            buf_add_bytes(&dir, p, n);
        else
            buf_addf(&dir, "\\x%02x", (unsigned char)*p);
        p += n ? n : 1;
    }
    buf_add(&r->mark, "# sent by unetctl from ");
    buf_add_json_string(&r->mark, dir.data ? dir.data : "");
    buf_add(&r->mark, ", where it is edited\n");
    r->mark.failed |= dir.failed;
    buf_destroy(&dir);
}

/* Ends study.yaml for there with the line of where it is from. */
static int end_text(struct remote *r, struct err *e)
{
    mark_text(r);
    buf_add(&r->text, r->text.data[r->text.length - 1] == '\n' ? "" : "\n");
    buf_add(&r->text, r->mark.data ? r->mark.data : "");
    return r->text.failed || r->mark.failed ? mem_fail(e) : 0;
}

/* Sends the files of a further study of the verb, and adds its folder there. */
static int add_study(struct remote *r, const char *operand, struct err *e)
{
    struct remote o = {.command = r->command, .operand = operand};
    int rc = study_locate(operand, o.dir, e) ? -1 : remote_site_read(o.dir, &o.site, &o.text, e);

    if (rc == 0 || (rc == 1 && strcmp(o.site.host, r->site.host) != 0))
        rc = err_set(e, ERR_USAGE, "%s: the study %s is on %s, and %s is not: studies of one report are on "
                     "one host; 'unetctl report --logs %s/logs ...' reads copies of logs",
                     r->command->name, r->operand, r->site.host, operand, r->operand);
    else if (rc == 1)
        rc = end_text(&o, e) || prepare(&o, e) ? -1 : 0;
    if (rc == 0) {
        buf_add(&r->words, " ");
        ssh_add_path(&r->words, o.site.folder);
    }
    destroy(&o);
    return rc;
}

/* Adds the words of the command line that the other host gets: all but the study and the host. */
static int add_words(struct remote *r, int argc, char **argv, struct err *e)
{
    const struct cli_option *o;
    const char *value;
    int i = 0;

    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (argv[i] == r->operand) {
            buf_add(&r->words, r->several ? " ." : "");
            continue;
        }
        if (argv[i][0] != '-' || !argv[i][1]) {
            if (r->several) {
                if (add_study(r, argv[i], e))
                    return -1;
                continue;
            }
            buf_add(&r->words, " ");
            template_quote_sh(&r->words, argv[i]);
            continue;
        }
        o = cli_take_option(r->command, argc, argv, &i, &value, e);
        if (!o)
            return -1;
        if (strcmp(o->name, "study") == 0 || strcmp(o->name, "ssh") == 0)
            continue;
        buf_addf(&r->words, " --%s%s", o->name, value ? "=" : "");
        if (value && is_path(o, value) && add_path(r, o, value, e))
            return -1;
        if (value && !is_path(o, value))
            template_quote_sh(&r->words, value);
    }
    for (; i < argc; i++) {
        buf_add(&r->words, " ");
        template_quote_sh(&r->words, argv[i]);
    }
    return r->words.failed ? mem_fail(e) : 0;
}

/* Runs the rest of the script with the terminal of this process, if it has one. Returns its exit
 * code or -1. */
static int run_there(const struct remote *r, const char *rest, struct err *e)
{
    bool asks = isatty(STDIN_FILENO); /* no verb reads what is not a terminal */
    const struct child streams = {.in = asks ? CHILD_KEEP : CHILD_NULL};
    bool tty = asks && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO);
    struct buf script = {0};
    struct child_end end = {0};

    begin_script(r, &script);
    buf_add(&script, "cd ");
    ssh_add_path(&script, r->site.folder);
    buf_addf(&script, " || exit\n%s", rest);
    int rc = script.failed ? mem_fail(e)
                           : ssh_run(&r->ssh, script.data, &streams, tty, &end, e);
    child_destroy(&end);
    buf_destroy(&script);
    if (rc != SSH_LOST)
        return rc;
    return err_set(e, ERR_SCHED, "the connection to %s ended before 'unetctl %s' did; the ledger in "
                   "%s there has what was submitted: type the same command again", r->site.host,
                   r->command->name, r->site.folder);
}

/* Copies the results here after the verb returned rc. Returns that or -1. */
static int bring(const struct remote *r, int rc, struct err *e)
{
    const char *names[PATHS_MAX + 3];
    size_t n = 0;

    for (; results[n]; n++)
        names[n] = results[n];
    for (size_t i = 0; i < r->npaths; i++)
        names[n++] = r->paths[i];
    names[n] = NULL;
    if (ssh_pull(&r->ssh, r->site.folder, r->dir, names, e)) {
        if (rc)
            log_warn("%s", e->text);
        return rc ? rc : -1;
    }
    if (path_has_file(r->dir, results[0]))
        log_info("copied the results of %s:%s to %s", r->site.host, r->site.folder, r->dir);
    return rc;
}

static int run_verb(struct remote *r, int argc, char **argv, struct err *e)
{
    struct buf rest = {0};

    if (end_text(r, e) || add_words(r, argc, argv, e) || prepare(r, e))
        return -1;
    buf_add(&rest, "exec ");
    add_verb(r, &rest);
    int rc = rest.failed ? mem_fail(e) : run_there(r, rest.data, e);
    buf_destroy(&rest);
    const char *verb = r->command->name;
    if (rc >= 0 && (text_has_word(WRITERS, verb, strlen(verb)) || r->npaths))
        rc = bring(r, rc, e);
    return rc;
}

/* ---- init ---- */

static int fetch_study(struct remote *r, const char *file, struct err *e)
{
    static const char *const classes[] = {"classes.txt", NULL};
    const struct child streams = {.in = CHILD_NULL, .out = CHILD_READ, .err = CHILD_READ};
    struct child_end end = {0};
    struct buf script = {0}, text = {0};

    buf_add(&script, "head -c 1000000 ");
    ssh_add_path(&script, r->site.folder);
    buf_add(&script, "/" STUDY_FILE);
    int rc = script.failed ? mem_fail(e)
                           : ssh_run(&r->ssh, script.data, &streams, false, &end, e);
    if (rc > 0)
        rc = refuse(r, &end, e);
    char *mark = rc ? NULL : strstr(end.out.data, r->mark.data);
    if (mark)
        *mark = 0;
    if (rc == 0 && !mark)
        rc = err_set(e, ERR_SCHED, "%s:%s/" STUDY_FILE " is incomplete; type the same command again",
                     r->site.host, r->site.folder);
    if (rc == 0)
        rc = ssh_pull(&r->ssh, r->site.folder, r->dir, classes, e) ||
                     remote_site_encode(end.out.data, &r->site, &text, e) ||
                     atomicfile_write_new(file, text.data, text.length, 0666, e)
                 ? -1
                 : 0;
    child_destroy(&end);
    buf_destroy(&script);
    buf_destroy(&text);
    return rc;
}

/* Makes the study there, and study.yaml here. A study.yaml there that came from here, without runs,
 * is one of an init that was interrupted. */
static int init_there(struct remote *r, int argc, char **argv, const char *file, struct err *e)
{
    struct buf rest = {0};

    if (add_words(r, argc, argv, e) || prepare(r, e))
        return -1;
    buf_add(&rest, "case $(cat " STUDY_FILE " 2>/dev/null; echo .) in *\"$m.\") [ -e .unetctl ] || "
                   "rm -f " STUDY_FILE " ;; esac\n");
    add_verb(r, &rest);
    buf_add(&rest, " && printf %s \"$m\" >>" STUDY_FILE);
    int rc = rest.failed ? mem_fail(e) : run_there(r, rest.data, e);
    buf_destroy(&rest);
    return rc ? rc : fetch_study(r, file, e);
}

static int init(struct remote *r, const char *words, int argc, char **argv, struct err *e)
{
    char file[PATH_MAX];

    for (int i = 0; i < argc && !r->operand; i++) {
        const char *value;
        if (argv[i][0] != '-')
            r->operand = argv[i];
        else if (!cli_take_option(r->command, argc, argv, &i, &value, e))
            return -1;
    }
    bool made = mkdir(r->operand, 0777) == 0;
    path_format(file, "%s/" STUDY_FILE, r->operand);
    int rc = !made && errno != EEXIST ? err_errno(e, ERR_CONFIG, errno, "%s", r->operand)
                                      : atomicfile_check_new(file, e);
    if (rc == 0)
        rc = study_locate(r->operand, r->dir, e) || remote_site_decode(words, r->dir, &r->site, e)
                 ? -1 : 0;
    mark_text(r);
    if (rc == 0)
        rc = r->mark.failed ? mem_fail(e) : 0;
    if (rc == 0) {
        buf_add(&r->words, " .");
        rc = init_there(r, argc, argv, file, e);
    }
    if (rc && made)
        rmdir(r->operand);
    if (rc == 0)
        log_info("wrote %s, whose verbs run in %s on %s", file, r->site.folder, r->site.host);
    return rc;
}

/* ---- which study ---- */

/* Finds the study of the verb. Returns 1 if it is on another host, 0, or -1. */
static int find_study(struct remote *r, int argc, char **argv, struct err *e)
{
    const struct cli_command *c = r->command;
    const struct cli_option *study = find_option(c, "study");
    bool logs = is_given(find_option(c, "logs")), takes_studies = strstr(c->args, "STUDY");
    int noperands = 0, nfolders = 0, rc = 0;
    char file[PATH_MAX];

    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *value;
        if (argv[i][0] == '-' && argv[i][1]) {
            if (!cli_take_option(c, argc, argv, &i, &value, e))
                return -1;
            continue;
        }
        noperands++;
        if (!takes_studies ||
            access(path_format(file, "%s/" STUDY_FILE, argv[i]), F_OK) != 0)
            continue;
        nfolders++;
        if (rc == 1 || study_locate(argv[i], r->dir, e))
            continue;
        rc = remote_site_read(r->dir, &r->site, &r->text, e);
        r->operand = rc == 1 ? argv[i] : NULL;
        if (rc < 0)
            return -1;
    }
    bool no_output = find_option(c, "output") && !is_given(find_option(c, "output"));
    r->several = rc == 1 && noperands > 1 && nfolders == noperands && !logs;
    if (rc == 1 && (r->several ? no_output : noperands > 1 || logs))
        return err_set(e, ERR_USAGE, r->several
                       ? "%s: the study %s is on %s; name the report's folder in it: -o %s/FOLDER"
                       : "%s: the study %s is on %s; name it alone, or its logs here: --logs %s/logs",
                       c->name, r->operand, r->site.host, r->operand);
    /* the operands of report are folders of logs, those of status runs */
    if (rc == 1 || nfolders || logs || (noperands && takes_studies && !strstr(c->args, "RUN")))
        return rc;
    if (study_locate(is_given(study) ? *(const char *const *)study->dst : NULL, r->dir, e))
        return 0; /* the verb reports it */
    return remote_site_read(r->dir, &r->site, &r->text, e);
}

bool remote_elsewhere(const struct cli_command *c, int argc, char **argv, int *rc, struct err *e)
{
    const struct cli_option *ssh = find_option(c, "ssh");
    struct remote r = {.command = c};
    bool makes = is_given(ssh);

    if (!makes && !find_option(c, "study"))
        return false;
    int found = makes ? 1 : find_study(&r, argc, argv, e);
    *rc = found <= 0 ? found
          : makes    ? init(&r, *(const char *const *)ssh->dst, argc, argv, e)
                     : run_verb(&r, argc, argv, e);
    destroy(&r);
    return found != 0;
}
