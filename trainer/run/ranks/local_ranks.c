/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks that a process forks, and the roster of all ranks. */
#include "src/base.h"
#include "trainer/run/ranks/ranks.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "src/clock.h"
#include "src/cluster/connection.h"

#define CHECK_NS 50000000L /* between two checks of the ranks, unless a signal comes */
#define SECOND_S 5.0       /* for the ranks to end after a second signal */
#define LINGER_S 2.0       /* for the others to end when rank 0 has ended after a failure */

/* How a rank has failed; in memory that it shares with the parent. */
struct report {
    bool failed, relayed;
    struct err e;
};

struct family {
    struct local_ranks ranks;
    struct node *node;
    struct report *reports; /* by rank */
    pid_t *children;        /* by rank; 0: has ended */
    int nchildren;
    double grace_s, until; /* until: when the ranks are killed, or 0 */
    double asked_at;       /* when a signal first asked to end, or 0 */
    int code;              /* exit code of the rank that failed first, or 0 */
    int first;             /* that rank */
};

static int own_index = -1;

int local_ranks_index(void)
{
    return own_index;
}

/* --- the parent --- */

static void signal_all(const struct family *f, int signal)
{
    for (int r = 0; r < f->ranks.size; r++)
        if (f->children[r] > 0)
            kill(f->children[r], signal);
}

/* Returns whether a rank with this exit code was asked to end; rank 0 may still write a
 * checkpoint. */
static bool is_stop(int code)
{
    return code == ERR_RESUMABLE || code == ERR_INTERRUPT;
}

static void note_end(struct family *f, int rank, int status)
{
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

    f->children[rank] = 0;
    f->nchildren--;
    if (code && (!f->code || (is_stop(f->code) && !is_stop(code)))) {
        f->code = code;
        f->first = rank;
        if (!is_stop(code) && f->until == 0)
            f->until = clock_now() + f->grace_s;
    }
    if (rank == 0 && f->until > clock_now() + LINGER_S)
        f->until = clock_now() + LINGER_S;
}

static void collect_ended(struct family *f)
{
    int status;
    pid_t child;

    while (f->nchildren > 0 && (child = waitpid(-1, &status, WNOHANG)) > 0)
        for (int r = 0; r < f->ranks.size; r++)
            if (f->children[r] == child)
                note_end(f, r, status);
}

/* A terminal sends SIGINT to the ranks, too. */
static void forward(struct family *f, const siginfo_t *info)
{
    double now = clock_now();

    if (info->si_signo == SIGINT || info->si_signo == SIGTERM) {
        if (f->asked_at > 0 && now >= f->asked_at + LOCAL_RANKS_TWICE_S && f->until == 0)
            f->until = now + SECOND_S;
        f->asked_at = f->asked_at > 0 ? f->asked_at : now;
    }
    if (info->si_signo != SIGCHLD && !(info->si_signo == SIGINT && info->si_code == SI_KERNEL))
        signal_all(f, info->si_signo);
}

static void attend(struct family *f, const sigset_t *signals)
{
    siginfo_t info;

    for (collect_ended(f); f->nchildren > 0; collect_ended(f)) {
        if (f->until > 0 && clock_now() >= f->until)
            signal_all(f, SIGKILL);
        if (sigtimedwait(signals, &info, &(struct timespec){.tv_nsec = CHECK_NS}) > 0)
            forward(f, &info);
    }
}

/* Sets *e to the error of the first rank that did not relay another's, or else of any. */
static void take_error(const struct family *f, struct err *e)
{
    const struct report *found = NULL;

    for (int r = 0; r < f->ranks.size; r++) {
        const struct report *report = &f->reports[r];
        if (report->failed && (!found || (found->relayed && !report->relayed)))
            found = report;
    }
    if (found)
        *e = found->e;
    else if (f->code == ERR_RESUMABLE)
        err_set(e, ERR_RESUMABLE, LOCAL_RANKS_TWICE_TEXT);
    else if (f->code == ERR_INTERRUPT)
        err_signal(e, SIGINT);
    else if (f->code > 128)
        err_set(e, ERR_PEER, "rank %d was killed by signal %d (out of memory?)", f->first,
                f->code - 128);
    else
        err_set(e, ERR_INTERNAL, "rank %d ended with exit code %d", f->first, f->code);
    e->code = f->code;
}

/* --- a rank --- */

static int be_rank(struct family *f, int rank, pid_t parent, const sigset_t *before,
                   local_rank_f body, void *arg)
{
    struct report *report = &f->reports[rank];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        raise(SIGKILL);
    own_index = f->ranks.rank = rank;
    if (rank > 0)
        close(f->ranks.listener);
    sigprocmask(SIG_SETMASK, before, NULL);
    bool relayed = false;
    if (body(arg, &f->ranks, &relayed, &report->e) == 0)
        return 0;
    report->relayed = relayed;
    report->failed = true;
    return report->e.code ? report->e.code : ERR_INTERNAL;
}

/* Returns -1 in the parent, and in a rank its exit code. */
static int fork_ranks(struct family *f, const sigset_t *before, local_rank_f body, void *arg,
                      struct err *e)
{
    pid_t parent = getpid();

    fflush(NULL);
    for (int r = 0; r < f->ranks.size; r++) {
        pid_t child = fork();
        if (child == 0)
            return be_rank(f, r, parent, before, body, arg);
        if (child < 0) {
            f->code = ERR_INTERNAL;
            err_errno(e, ERR_INTERNAL, errno, "cannot start rank %d of %d (the limit of processes, "
                      "ulimit -u, or the memory of the job)", r, f->ranks.size);
            signal_all(f, SIGKILL);
            break;
        }
        f->children[r] = child;
        f->nchildren++;
    }
    return -1;
}

static int open_family(struct family *f, int size, struct err *e)
{
    size_t nbytes = (size_t)size * sizeof *f->reports;

    f->ranks.size = size;
    f->children = mem_zero((size_t)size, sizeof *f->children, e);
    if (!f->children || token_draw(f->ranks.token, sizeof f->ranks.token, e))
        return -1;
    f->reports = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (f->reports == MAP_FAILED) {
        f->reports = NULL;
        return err_errno(e, ERR_INTERNAL, errno, "cannot share memory with %d ranks", size);
    }
    f->node = node_offer(size, &f->ranks.node, e);
    if (!f->node)
        return -1;
    f->ranks.listener = listener_open(NULL, 0);
    if (f->ranks.listener < 0)
        return err_errno(e, ERR_INTERNAL, errno, "cannot listen for the ranks");
    f->ranks.port = listener_port(f->ranks.listener);
    return 0;
}

static void close_family(struct family *f)
{
    if (f->ranks.listener > 0 && own_index < 0)
        close(f->ranks.listener);
    if (f->reports)
        munmap(f->reports, (size_t)f->ranks.size * sizeof *f->reports);
    node_destroy(f->node);
    free(f->children);
}

int local_ranks_run(int size, double grace_s, local_rank_f body, void *arg, struct err *e)
{
    struct family f = {.grace_s = grace_s};
    sigset_t signals, before;

    if (open_family(&f, size, e)) {
        close_family(&f);
        return -1;
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_BLOCK, &signals, &before);
    int code = fork_ranks(&f, &before, body, arg, e), failed = f.code;
    if (own_index < 0) {
        attend(&f, &signals);
        if (f.code && !failed)
            take_error(&f, e);
        sigprocmask(SIG_SETMASK, &before, NULL);
        code = f.code ? -1 : 0;
    }
    close_family(&f);
    return code;
}

/* One gather of an entry from each rank; all ranks then find the same errors. */

/* Returns a hash of the kernel's boot id, which all containers and fake nodes of a machine share,
 * or of host if the id cannot be read. */
static uint64_t machine_id(const char *host)
{
    char text[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (!f || !fgets(text, sizeof text, f))
        snprintf(text, sizeof text, "%.60s", host);
    if (f)
        fclose(f);
    return hash_text(HASH_BEGIN, text);
}

void roster_describe(struct roster_entry *own)
{
    own->machine = machine_id(own->host);
    own->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static int check_same(const struct roster *r, struct err *e)
{
    const struct roster_entry *zero = &r->entries[0];

    for (int i = 1; i < r->size; i++) {
        const struct roster_entry *entry = &r->entries[i];
        const char *what = NULL;
        if (entry->config_hash != zero->config_hash)
            what = "another run.json or other options";
        else if (entry->data_hash != zero->data_hash)
            what = "another data set or split";
        else if (entry->plan_hash != zero->plan_hash)
            what = "another plan of the network";
        if (what)
            return err_set(e, ERR_PEER, "rank %d on %s has %s than rank 0 on %s; all ranks of a "
                           "run must read the same files with the same unet-train", i, entry->host,
                           what, zero->host);
    }
    return 0;
}

bool roster_shares_gpus(void)
{
    const char *word = getenv("UNET_SHARE_GPU");

    return word && strcmp(word, "1") == 0;
}

int roster_gather(struct comm *c, const struct roster_entry *own, struct roster *roster,
                  struct err *e)
{
    roster->size = c->size;
    roster->entries = mem_zero((size_t)c->size, sizeof *roster->entries, e);
    if (!roster->entries)
        return -1;
    if (c->ops->gather(c, own, roster->entries, sizeof *own, e) == 0) {
        if (check_same(roster, e) == 0)
            return 0;
        c->relayed = c->rank > 0; /* all ranks have the error; rank 0 reports it */
    }
    roster_destroy(roster);
    return -1;
}

void roster_destroy(struct roster *roster)
{
    free(roster->entries);
    *roster = (struct roster){0};
}

int roster_sharers(const struct roster *r, int rank)
{
    int n = 0;

    for (int i = 0; i < r->size; i++)
        n += r->entries[i].machine == r->entries[rank].machine;
    return n;
}

int roster_processors(const struct roster *r, char *dst, size_t size)
{
    int first = 0;
    size_t n = 0;

    for (int i = 0; i < r->size; i++) {
        const char *name = r->entries[i].processor;
        bool known = false;
        for (int j = 0; j < i && !known; j++)
            known = strcmp(r->entries[j].processor, name) == 0;
        if (known)
            continue;
        if (i > 0 && !first)
            first = i;
        if (n < size)
            n += (size_t)snprintf(dst + n, size - n, "%s%s", i > 0 ? " + " : "", name);
    }
    return first;
}

bool roster_is_oversubscribed(const struct roster *r)
{
    for (int i = 0; i < r->size; i++) {
        long wanted = 0;
        for (int j = 0; j < r->size; j++)
            if (r->entries[j].machine == r->entries[i].machine)
                wanted += r->entries[j].threads;
        if (wanted > r->entries[i].cores)
            return true;
    }
    return false;
}
