/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/scheduler/job.h"

#include "launcher/host/child.h"
#include "launcher/sandbox/sandbox.h"
#include "src/cli.h"
#include "src/cluster/range.h"

#define PATIENCE_S 10
#define MAX_TEXT ((size_t)1 << 20)

/* Runs in the child. in_sandbox: NULL for the commands of this machine. */
static void enter(void *in_sandbox, char *const argv[])
{
    struct sandbox sandbox;
    struct err ignored;

    jobenv_clean();
    if (!in_sandbox)
        return;
    if (sandbox_find(&sandbox, &ignored) == 0)
        sandbox_exec(&sandbox, NULL, argv, &ignored);
    _exit(127);
}

void sbatch_help_ask(char *const argv[], bool in_sandbox, struct buf *dst)
{
    struct child c = {.argv = (const char *const *)argv, .in = CHILD_NULL, .out = CHILD_READ,
                      .err = CHILD_NULL, .limit_s = PATIENCE_S, .most = MAX_TEXT, .enter = enter};
    struct child_end end;
    struct err ignored;

    c.arg = in_sandbox ? &c : NULL;
    if (child_run(&c, &end, &ignored) == 0)
        buf_add_bytes(dst, end.out.data, end.out.length);
    child_destroy(&end);
}

enum sbatch_help sbatch_help_parse(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = strstr(text, "--"); n && p; p = strstr(p + 2, "--")) {
        const char *end = p + 2 + n;
        if ((p > text && !isspace((unsigned char)p[-1])) || strncmp(p + 2, name, n) != 0)
            continue;
        if (*end == '=')
            return SBATCH_HELP_VALUE;
        if (strncmp(end, "[=", 2) == 0)
            return SBATCH_HELP_OPTIONAL;
        if (!*end || isspace((unsigned char)*end) || *end == ',')
            return SBATCH_HELP_FLAG;
    }
    return SBATCH_HELP_NONE;
}

enum sbatch_help sbatch_help_find(const char *name, bool in_sandbox)
{
    char *argv[] = {"sbatch", "--help", NULL};
    struct buf text = {0};

    sbatch_help_ask(argv, in_sandbox, &text);
    enum sbatch_help found = text.data ? sbatch_help_parse(text.data, name) : SBATCH_HELP_NONE;
    buf_destroy(&text);
    return found;
}

/* ---- sbatch's variables ---- */

#define GPUS "--gpus of unetctl decides"
#define OUTPUT "'unetctl logs' shows stdout and stderr of a job, from one file"

const struct sbatch_variable sbatch_environment_variables[] = {
    {"SBATCH_ACCOUNT", SBATCH_SETTING, "account"},
    {"SBATCH_ARRAY_INX", SBATCH_DECIDED, "each run is a separate job; --seeds N repeats them"},
    {"SLURM_CLUSTERS", SBATCH_CLUSTER, ""},
    {"SBATCH_CLUSTERS", SBATCH_CLUSTER, ""},
    {"SBATCH_CONSTRAINT", SBATCH_SETTING, "constraint"},
    {"SBATCH_CPUS_PER_GPU", SBATCH_SETTING, "cpus_per_gpu"},
    {"SBATCH_DISTRIBUTION", SBATCH_DECIDED, "ranks are numbered node by node"},
    {"SBATCH_ERROR", SBATCH_DECIDED, OUTPUT},
    {"SBATCH_GPUS", SBATCH_DECIDED, GPUS},
    {"SBATCH_GPUS_PER_NODE", SBATCH_DECIDED, GPUS},
    {"SBATCH_GPUS_PER_TASK", SBATCH_DECIDED, GPUS},
    {"SBATCH_JOB_NAME", SBATCH_DECIDED, "the name is that of study and run"},
    {"SBATCH_MEM_PER_NODE", SBATCH_SETTING, "mem"},
    {"SBATCH_NO_REQUEUE", SBATCH_DECIDED, "slurm.requeues decides"},
    {"SBATCH_OPEN_MODE", SBATCH_DECIDED, "a requeued job continues its output"},
    {"SBATCH_OUTPUT", SBATCH_DECIDED, OUTPUT},
    {"SBATCH_PARTITION", SBATCH_SETTING, "partition"},
    {"SBATCH_QOS", SBATCH_SETTING, "qos"},
    {"SBATCH_REQUEUE", SBATCH_DECIDED, "slurm.requeues decides"},
    {"SBATCH_SIGNAL", SBATCH_DECIDED, "slurm.signal_s decides"},
    {"SBATCH_SPREAD_JOB", SBATCH_DECIDED, "ranks fill node after node"},
    {"SBATCH_TIMELIMIT", SBATCH_SETTING, "time"},
    {"SBATCH_TRES_PER_TASK", SBATCH_DECIDED, GPUS},
    {"SBATCH_WAIT", SBATCH_DECIDED, "--wait of unetctl submit waits"},
    {0},
};

static const struct sbatch_variable *find_variable(const char *entry)
{
    const struct sbatch_variable *v = sbatch_environment_variables;
    size_t n = strcspn(entry, "=");

    while (v->name && (strlen(v->name) != n || strncmp(entry, v->name, n) != 0))
        v++;
    return v->name ? v : NULL;
}

bool sbatch_environment_passes(const char *entry, bool own_directives)
{
    const struct sbatch_variable *v = find_variable(entry);
    /* Slurm itself sets these in a job. They are not the user's there. */
    bool is_of_job = getenv("SLURM_JOB_ID") &&
                     (text_begins(entry, "SLURM_HINT=") || text_begins(entry, "SBATCH_MEM_BIND") ||
                      text_begins(entry, "SBATCH_CPU_BIND"));

    if (v) /* {{cpus}} of the script has the CPUs */
        return v->rule == SBATCH_SETTING && own_directives && strcmp(v->to, "cpus_per_gpu") != 0;
    return !is_of_job && (text_begins(entry, "SBATCH_") || text_begins(entry, "SLURM_HINT=") ||
                          !jobenv_is_foreign(entry));
}

int sbatch_environment_take(struct job_options *o, struct err *e)
{
    const char *gres = getenv("SBATCH_GRES");

    for (const struct sbatch_variable *v = sbatch_environment_variables; v->name; v++)
        if (v->rule == SBATCH_CLUSTER && getenv(v->name) && *getenv(v->name))
            o->clusters = getenv(v->name);
    if (!gres || !strstr(gres, "gpu"))
        return 0;
    return err_set(e, ERR_USAGE, "$SBATCH_GRES is '%s': --gpus sets the GPUs of a job, gpu_type "
                   "of the site file their type, and gpu_request whether --gres asks for them", gres);
}

void sbatch_environment_unused(struct buf *dst)
{
    for (const struct sbatch_variable *v = sbatch_environment_variables; v->name; v++)
        if (v->rule == SBATCH_DECIDED && getenv(v->name))
            buf_addf(dst, "%s$%s (%s)", dst->length ? ", " : "", v->name, v->to);
}

/* ---- options and jobs ---- */

/* What happens to an option. OURS: set_option stores its value in a member of struct job_options.
 * PASSED: the word is passed to sbatch unchanged. */
enum option_kind {
    OURS_CLUSTERS,   /* compared with the cluster that answers, and not a word of the job */
    OURS_COMMENT,    /* a text that job_comment puts behind the tag */
    OURS_TEXT, OURS_TIME, OURS_MEM, OURS_NICE, OURS_FLAG,
    PASSED_VALUE,    /* has a value, as --NAME=VALUE or in the next word */
    PASSED_OPTIONAL, /* may have a value, only as --NAME=VALUE */
    PASSED_FLAG,     /* has no value */
    REFUSED                                     /* unetctl sets it itself */
};

/* The options of sbatch: one table for decoding the words that people type and for writing the
 * lines that sbatch reads. */
static const struct option {
    const char *name;
    char letter;
    enum option_kind kind;
    size_t offset;   /* where its member is in struct job_options; 0 unless the kind is OURS */
    const char *why; /* the reason, or what to do instead; NULL unless the kind is REFUSED */
} options[] = {
#define OURS(name, letter, kind, member) \
    {name, letter, OURS_##kind, offsetof(struct job_options, member), NULL},
#define PASSED(name, letter, kind) {name, letter, PASSED_##kind, 0, NULL},
#define REFUSE(name, letter, why) {name, letter, REFUSED, 0, why},
    OURS("clusters", 'M', CLUSTERS, clusters)
    OURS("comment", 0, COMMENT, comment)
    OURS("partition", 'p', TEXT, partition)
    OURS("account", 'A', TEXT, account)
    OURS("qos", 'q', TEXT, qos)
    OURS("constraint", 'C', TEXT, constraint)
    OURS("reservation", 0, TEXT, reservation)
    OURS("nodelist", 'w', TEXT, nodelist)
    OURS("exclude", 'x', TEXT, exclude)
    OURS("dependency", 'd', TEXT, dependency)
    OURS("licenses", 'L', TEXT, licenses)
    OURS("mem", 0, MEM, mem)
    OURS("time", 't', TIME, time_min)
    OURS("nice", 0, NICE, nice)
    OURS("exclusive", 0, FLAG, exclusive)
    OURS("hold", 'H', FLAG, hold)
    PASSED("acctg-freq", 0, VALUE) PASSED("batch", 0, VALUE) PASSED("bb", 0, VALUE)
    PASSED("bbf", 0, VALUE) PASSED("begin", 'b', VALUE) PASSED("cluster-constraint", 0, VALUE)
    PASSED("container", 0, VALUE) PASSED("container-id", 0, VALUE)
    PASSED("container-type", 0, VALUE) PASSED("contiguous", 0, FLAG)
    PASSED("core-spec", 'S', VALUE) PASSED("cores-per-socket", 0, VALUE)
    PASSED("cpu-freq", 0, VALUE) PASSED("cpus-per-gpu", 0, VALUE) PASSED("deadline", 0, VALUE)
    PASSED("delay-boot", 0, VALUE) PASSED("error", 'e', VALUE) PASSED("export", 0, VALUE)
    PASSED("export-file", 0, VALUE) PASSED("extra-node-info", 'B', VALUE)
    PASSED("get-user-env", 0, OPTIONAL) PASSED("gid", 0, VALUE) PASSED("gpu-bind", 0, VALUE)
    PASSED("gpu-freq", 0, VALUE) PASSED("gres", 0, VALUE) PASSED("gres-flags", 0, VALUE)
    PASSED("hint", 0, VALUE) PASSED("ignore-pbs", 0, FLAG) PASSED("input", 'i', VALUE)
    PASSED("kill-on-invalid-dep", 0, VALUE) PASSED("mail-type", 0, VALUE)
    PASSED("mail-user", 0, VALUE) PASSED("mcs-label", 0, VALUE) PASSED("mem-bind", 0, VALUE)
    PASSED("mem-per-cpu", 0, VALUE) PASSED("mem-per-gpu", 0, VALUE) PASSED("mincpus", 0, VALUE)
    PASSED("network", 0, VALUE) PASSED("no-kill", 'k', OPTIONAL) PASSED("no-requeue", 0, FLAG)
    PASSED("nodefile", 'F', VALUE) PASSED("ntasks-per-core", 0, VALUE)
    PASSED("ntasks-per-socket", 0, VALUE) PASSED("open-mode", 0, VALUE)
    PASSED("overcommit", 'O', FLAG) PASSED("oversubscribe", 's', FLAG) PASSED("power", 0, VALUE)
    PASSED("prefer", 0, VALUE) PASSED("priority", 0, VALUE) PASSED("profile", 0, VALUE)
    PASSED("propagate", 0, OPTIONAL) PASSED("reboot", 0, FLAG)
    PASSED("requeue", 0, FLAG) PASSED("segment", 0, VALUE) PASSED("signal", 0, VALUE) PASSED("sockets-per-node", 0, VALUE)
    PASSED("spread-job", 0, FLAG) PASSED("switches", 0, VALUE) PASSED("thread-spec", 0, VALUE)
    PASSED("threads-per-core", 0, VALUE) PASSED("time-min", 0, VALUE) PASSED("tmp", 0, VALUE)
    PASSED("tres-bind", 0, VALUE) PASSED("use-min-nodes", 0, FLAG) PASSED("verbose", 'v', FLAG)
    PASSED("wait-all-nodes", 0, VALUE) PASSED("wckey", 0, VALUE)
    REFUSE("array", 'a', "each run is a separate job; --seeds N repeats them")
    REFUSE("chdir", 'D', "a job runs in the folder of its run")
    REFUSE("container-image", 0, "set container: IMAGE in the study or its site")
    REFUSE("cpus-per-task", 'c', "--set slurm.cpus_per_gpu=N")
    REFUSE("distribution", 'm', "ranks are numbered node by node")
    REFUSE("gpus", 'G', "--gpus of unetctl, before the '--'")
    REFUSE("gpus-per-node", 0, "gpus_per_node in the site file")
    REFUSE("gpus-per-socket", 0, "--gpus of unetctl, before the '--'")
    REFUSE("gpus-per-task", 0, "--gpus of unetctl, before the '--'")
    REFUSE("help", 'h', "sbatch --help")
    REFUSE("job-name", 'J', "the name is that of study and run")
    REFUSE("nodes", 'N', "gpus_per_node in the site file decides")
    REFUSE("ntasks", 'n', "the number of GPUs and the strategy decide")
    REFUSE("ntasks-per-gpu", 0, "the strategy decides")
    REFUSE("ntasks-per-node", 0, "the number of GPUs and the strategy decide")
    REFUSE("output", 'o', "'unetctl logs RUN' shows it")
    REFUSE("parsable", 0, "an option of unetctl submit")
    REFUSE("quiet", 'Q', "unetctl reads the job's id, which it hides")
    REFUSE("test-only", 0, "unetctl plan --test-only")
    REFUSE("tres-per-task", 0, "the number of GPUs decides")
    REFUSE("uid", 0, "run unetctl as that user")
    REFUSE("usage", 0, "sbatch --help")
    REFUSE("version", 'V', "sbatch --version")
    REFUSE("wait", 'W', "--wait of unetctl submit, before the '--'")
    REFUSE("wrap", 0, "unetctl writes the script")
    {0},
};

#define NICE_BARE 100 /* the value of --nice without a number, in sbatch */

/* Returns the member of an option: a bool *, int * or const char **. */
static void *member_of(const struct job_options *o, const struct option *w)
{
    return (char *)o + w->offset;
}

long job_mem_decode(const char *text)
{
    static const char units[] = "KMGT";
    long v = number_take(&text, 1L << 30);

    if (v < 0)
        return -1;
    if (*text == 0)
        return v;
    const char *unit = strchr(units, *text & ~0x20);
    if (!unit || text[1] != 0)
        return -1;
    if (*unit == 'K')
        return (v + 1023) / 1024;
    return v << (10 * (unit - units - 1));
}

static int set_option(struct job_options *o, const struct option *w, const char *value,
                      struct err *e)
{
    char *end;
    int minutes;
    long nice;

    switch (w->kind) {
    case OURS_FLAG:
        *(bool *)member_of(o, w) = true;
        return 0;
    case OURS_TIME:
        minutes = time_limit_decode(value);
        if (minutes < 0)
            return err_set(e, ERR_USAGE, "--time %s is not a time limit; write minutes, "
                           "H:MM:SS, D-HH:MM or UNLIMITED", value);
        *(int *)member_of(o, w) = minutes;
        o->unlimited = minutes == 0;
        return 0;
    case OURS_NICE:
        nice = strtol(value, &end, 10);
        if (end == value || *end || nice < -2147483645 || nice > 2147483645)
            return err_set(e, ERR_USAGE, "--nice=%s is not a number", value);
        *(int *)member_of(o, w) = (int)nice;
        return 0;
    case OURS_MEM:
        if (job_mem_decode(value) < 0)
            return err_set(e, ERR_USAGE, "--mem %s is not an amount of memory, such as 4G or 4000M",
                           value);
        break;
    case OURS_COMMENT:
        if (strlen(value) > JOB_COMMENT_MAX || strchr(value, '|'))
            return err_set(e, ERR_USAGE, "--comment: the text has a | or more than %d bytes; unetctl "
                           "puts it behind its own comment", JOB_COMMENT_MAX);
        /* fall through */
    case OURS_CLUSTERS:
    case OURS_TEXT:
        if (*value == 0 || strpbrk(value, "\n"))
            return err_set(e, ERR_USAGE, "--%s: the value is empty or has a line break", w->name);
        break;
    default: break;
    }
    *(const char **)member_of(o, w) = value;
    return 0;
}

/* Returns the option of the table that `name` abbreviates or misspells, or NULL if it resembles
 * none, so that it may be an option of a newer Slurm. */
static const char *nearest_option(const char *name)
{
    const char *names[sizeof options / sizeof *options];
    size_t n = 0;

    for (const struct option *w = options; w->name; w++)
        names[n++] = w->name;
    names[n] = NULL;
    for (size_t i = 0; i < n; i++) /* an abbreviation, which sbatch would accept */
        if (text_begins(names[i], name))
            return names[i];
    return cli_nearest(name, names);
}

static int refuse_word(const char *text, const char *near, struct err *e)
{
    return err_set(e, ERR_USAGE, "'%.*s' is not an option of sbatch%s%s%s", (int)strcspn(text, "="),
                   text, near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

static int add_extra(struct job_options *o, const char *word, struct err *e)
{
    for (const char *c = word; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return err_set(e, ERR_USAGE, "'%s' has a control character or line break", word);
    if (o->nextra == JOB_EXTRA_MAX)
        return err_set(e, ERR_USAGE, "more than %d options for sbatch are given", JOB_EXTRA_MAX);
    o->extra[o->nextra++] = word;
    return 0;
}

/* Returns whether this is a bundle of short options. sbatch would read -Hn3 as -H -n3. A repeated
 * letter, as in -vv, is not a bundle. */
static bool is_bundle(const char *text)
{
    return text[0] == '-' && text[1] != '-' && text[1] &&
           text[2 + strspn(text + 2, (char[]){text[1], 0})];
}

static int refuse_bundle(const char *text, struct err *e)
{
    return err_set(e, ERR_USAGE, "'%s': write each option of sbatch as a separate word", text);
}

/* Adds the word after given[*i], which is the value of that option, to extra, and advances *i to
 * it. Fails if there is no such word. */
static int add_option_value(struct job_options *o, int nwords, char **given, int *i, struct err *e)
{
    if (*i + 1 == nwords)
        return err_set(e, ERR_USAGE, "'%s' needs a value", given[*i]);
    return add_extra(o, given[++*i], e);
}

/* Takes an option that is not in the table. Adds to extra, with its value, a long option that
 * sbatch lists in its help (of one of Slurm's plugins, or of a newer Slurm), and, without knowing
 * of a value, one that resembles no option of the table. Refuses any other word as a typing
 * error. */
static int take_unknown(struct job_options *o, int nwords, char **given, int *i, struct err *e)
{
    const char *text = given[*i];
    bool is_long = strncmp(text, "--", 2) == 0, has_value = strchr(text, '=') != NULL;
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    enum sbatch_help help = is_long ? sbatch_help_find(name + 2, o->in_sandbox) : SBATCH_HELP_NONE;
    if (help != SBATCH_HELP_NONE) {
        if (add_extra(o, text, e))
            return -1;
        return help == SBATCH_HELP_VALUE && !has_value ? add_option_value(o, nwords, given, i,
                                                                          e) : 0;
    }
    const char *near = is_long ? nearest_option(name + 2) : NULL;
    if (near || !is_long || strpbrk(text, " \t") == text + strcspn(text, "= \t"))
        return refuse_word(text, near, e);
    return add_extra(o, text, e);
}

/* Returns the option that the word names, or NULL. *value becomes the text after "=" or after
 * the letter, or NULL. */
static const struct option *find_option(const char *text, const char **value)
{
    bool is_long = strncmp(text, "--", 2) == 0;
    size_t n = is_long ? strcspn(text, "=") : 2;

    *value = NULL;
    if (text[0] != '-' || !text[1] || !text[n - 1])
        return NULL;
    for (const struct option *w = options; w->name; w++)
        if (is_long ? strlen(w->name) == n - 2 && strncmp(text + 2, w->name, n - 2) == 0
                    : w->letter && w->letter == text[1]) {
            if (text[n])
                *value = text + n + is_long;
            return w;
        }
    return NULL;
}

/* Adds given[*i] to extra unchanged, with its value if that is the next word. Refuses it if
 * unetctl sets the option itself, as it also does for --gres of GPUs. */
static int pass_option(struct job_options *o, const struct option *w, const char *value,
                       int nwords, char **given, int *i, struct err *e)
{
    const char *text = given[*i];

    if (w->kind == REFUSED)
        return err_set(e, ERR_USAGE, "'%s': unetctl decides on --%s: %s", text, w->name, w->why);
    if (w->kind == PASSED_FLAG && is_bundle(text))
        return refuse_bundle(text, e);
    if (strcmp(w->name, "gres") == 0 &&
        strstr(value ? text : *i + 1 < nwords ? given[*i + 1] : "", "gpu"))
        return err_set(e, ERR_USAGE, "'%s': --gpus sets the GPUs of a job, gpu_type of the site "
                       "file their type, and gpu_request whether --gres asks for them", text);
    if (add_extra(o, text, e))
        return -1;
    return w->kind == PASSED_VALUE && !value ? add_option_value(o, nwords, given, i, e) : 0;
}

static int take_option(struct job_options *o, const struct option *w, const char *value,
                       int nwords, char **given, int *i, struct err *e)
{
    if (w->kind > OURS_FLAG)
        return pass_option(o, w, value, nwords, given, i, e);
    if (w->kind == OURS_FLAG && is_bundle(given[*i]))
        return refuse_bundle(given[*i], e);
    if (w->kind == OURS_FLAG && value) /* such as --exclusive=user */
        return add_extra(o, given[*i], e);
    if (w->kind == OURS_NICE && !value) {
        *(int *)member_of(o, w) = NICE_BARE;
        return 0;
    }
    if (w->kind != OURS_FLAG && !value) {
        if (*i + 1 == nwords)
            return err_set(e, ERR_USAGE, "'%s' needs a value", given[*i]);
        value = given[++*i];
    }
    return set_option(o, w, value, e);
}

int job_options_decode(struct job_options *o, int nwords, char **given, struct err *e)
{
    for (int i = 0; i < nwords; i++) {
        const char *text = given[i], *value;
        const struct option *w = find_option(text, &value);
        int rc;

        if (w)
            rc = take_option(o, w, value, nwords, given, &i, e);
        else if (text[0] != '-' || !text[1] || strcmp(text, "--") == 0)
            rc = refuse_word(text, NULL, e);
        else
            rc = take_unknown(o, nwords, given, &i, e);
        if (rc)
            return -1;
    }
    return 0;
}

/* ---- the words of sbatch ---- */

#define append_word(w, ...) append_text(w, mem_textf(NULL, __VA_ARGS__))
static void append_text(struct job_words *w, char *word)
{
    struct err ignored;

    w->failed |= !word || setting_append_line(&w->list, word, &ignored);
    free(word);
}

static void add_word(struct job_words *dst, const struct job_options *o, const struct option *w)
{
    const void *member = member_of(o, w);
    const char *text = w->kind == OURS_TEXT || w->kind == OURS_MEM ? *(const char *const *)member
                                                                    : NULL;

    if (text)
        append_word(dst, "--%s=%s", w->name, text);
    else if (w->kind == OURS_TIME && o->unlimited)
        append_word(dst, "--time=UNLIMITED");
    else if ((w->kind == OURS_TIME || w->kind == OURS_NICE) && *(const int *)member)
        append_word(dst, "--%s=%d", w->name, *(const int *)member);
    else if (w->kind == OURS_FLAG && *(const bool *)member)
        append_word(dst, "--%s", w->name);
}

bool job_needs_whole_nodes(const struct job_options *o, int nodes, int tasks)
{
    return o->exclusive || (nodes > 0 && tasks % nodes != 0);
}

/* Adds the request for CPUs and GPUs. All but --gpus-per-task are the same for each node, or leave
 * open which node has how many: they cannot request two GPUs of one node and one of another. */
static void add_gpus(struct job_words *dst, const struct job *job)
{
    const char *type = job->gpu_type ? job->gpu_type : "", *colon = *type ? ":" : "";
    static const char *const words[] = {"gpus-per-task=", "gres=gpu:", "gpus-per-node=", "gpus="};
    bool even = job->nodes > 0 && job->tasks % job->nodes == 0;
    enum job_gpus by = even ? job->gpu_request : JOB_GPUS_PER_TASK;
    int tasks = by == JOB_GPUS_PER_TASK ? 1 : by == JOB_GPUS_ALL ? job->tasks
                                                                 : job->tasks / job->nodes;

    if (by != JOB_GPUS_PER_TASK)
        append_word(dst, "--ntasks-per-node=%d", job->tasks / job->nodes);
    append_word(dst, "--cpus-per-task=%d", job->cpus_per_task);
    append_word(dst, "--%s%s%s%d", words[by], type, colon, tasks * job->gpus_per_task);
}

static void add_resources(struct job_words *dst, const struct job *job)
{
    struct job_options chosen = job->options;

    chosen.exclusive = job_needs_whole_nodes(&job->options, job->nodes, job->tasks);
    append_word(dst, "--nodes=%d", job->nodes);
    append_word(dst, "--ntasks=%d", job->tasks);
    add_gpus(dst, job);
    if (job->signal_s)
        append_word(dst, "--signal=B:USR1@%d", job->signal_s);
    append_word(dst, "--%s", job->requeues ? "requeue" : "no-requeue");
    append_word(dst, "--open-mode=append");
    for (const struct option *w = options; w->name; w++)
        add_word(dst, &chosen, w);
}

/* The tag, and after a blank the user's own text if there is one. */
#define JOB_COMMENT_SIZE 512
static const char *job_comment(const struct job *job, char dst[JOB_COMMENT_SIZE])
{
    const char *own = job->options.comment;

    snprintf(dst, JOB_COMMENT_SIZE, "%s%s%s", job->tag, own ? " " : "", own ? own : "");
    return dst;
}

void job_words_fill(const struct job *job, struct job_words *dst)
{
    char text[JOB_COMMENT_SIZE];
    const char *comment = job_comment(job, text);

    *dst = (struct job_words){0};
    append_word(dst, "--job-name=%s", job->name);
    append_word(dst, "--comment=%s", comment);
    append_word(dst, "--chdir=%s", job->work_dir);
    append_word(dst, "--output=%s", job->output);
    if (job->own_directives) {
        for (int i = 0; i < job->options.ngiven; i++)
            append_word(dst, "%s", job->options.given[i]);
        if (job->options.comment) /* again, because sbatch takes the last, which is one of these */
            append_word(dst, "--comment=%s", comment);
        return;
    }
    add_resources(dst, job);
    for (int i = 0; i < job->options.nextra; i++)
        append_word(dst, "%s", job->options.extra[i]);
}

/* Adds a word to an #SBATCH line. sbatch splits these lines at blanks, ends them at #,
 * interprets quotes and backslashes, and refuses a word that starts with a colon. The name of an
 * option and its "=" stay outside the quotes, unless they have such a character. */
static void add_quoted(struct buf *b, const char *word)
{
    size_t name = word[0] == '-' ? strcspn(word, "=") + (strchr(word, '=') != NULL) : 0;

    if (*word && *word != ':' && !strpbrk(word, " \t\"'\\#")) {
        buf_add(b, word);
        return;
    }
    if (strpbrk(word, " \t\"'\\#") && strpbrk(word, " \t\"'\\#") < word + name)
        name = 0;
    buf_add_bytes(b, word, name);
    buf_add(b, "\"");
    for (const char *s = word + name; *s; s++)
        buf_addf(b, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
    buf_add(b, "\"");
}

char *job_directives(const struct job *job)
{
    struct job_words w;
    struct buf b = {0};

    job_words_fill(job, &w);
    for (char **word = w.list.lines; word && *word; word++) {
        buf_add(&b, **word == '-' || word == w.list.lines ? "#SBATCH " : " ");
        add_quoted(&b, *word);
        if (!word[1] || *word[1] == '-')
            buf_add(&b, "\n");
    }
    b.failed |= w.failed;
    setting_clear_lines(&w.list);
    return buf_steal(&b);
}

void job_add_output(const char *path, struct buf *dst)
{
    for (; *path; path++)
        buf_add_bytes(dst, *path == '%' ? "%%" : path, *path == '%' ? 2 : 1);
}
