/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/scheduler/slurm/slurm_internal.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "launcher/host/jsonio.h"
#include "launcher/host/path.h"
#include "src/clock.h"
#include "src/cluster/connection.h"

/* How long an answer may take before the helper counts as hung, in seconds. Slurm's own calls
 * give up earlier, after MessageTimeout and retries. */
#define PATIENCE_S 300.0
#define LIBRARY "unetctl-slurm"
#define COMMANDS "unetctl-slurm-commands"
#define ANSWER_LIMIT ((size_t)64 << 20)

struct helper {
    struct sandbox sandbox;
    bool in_sandbox;
    bool may_change; /* the program is LIBRARY, and COMMANDS may replace it if it fails */
    /* The last answer was that the program does not fit the release of the cluster's Slurm; set
     * only while may_change is. */
    bool misfits;
    /* Why COMMANDS replaced LIBRARY, to be logged at its first answer; otherwise "". */
    char note[sizeof ((struct err *)0)->text];
    char program[PATH_MAX];
    pid_t pid;     /* 0: not running */
    int socket;    /* its stdin and stdout */
    int talk;      /* its stderr, a file in memory; -1 before it starts */
    bool greeted;  /* it has answered once */
    struct buf in; /* bytes received after the last answer */
};

/* Makes COMMANDS the program that starts next, in place of LIBRARY. Returns false if COMMANDS is
 * not installed. reason: why, for the log. */
static bool change_to_commands(struct helper *h, const char *reason)
{
    struct err ignored;

    if (paths_libexec(COMMANDS, h->program, sizeof h->program, &ignored))
        return false;
    h->may_change = false;
    snprintf(h->note, sizeof h->note, "%s", reason);
    return true;
}

struct helper *helper_create(const struct sandbox *sandbox, const char *interface, struct err *e)
{
    struct helper *h = mem_zero(1, sizeof *h, e);

    if (!h)
        return NULL;
    if (sandbox) {
        h->sandbox = *sandbox;
        h->in_sandbox = true;
    }
    h->socket = h->talk = -1;
    h->may_change = !interface || strcmp(interface, "auto") == 0;
    bool by_commands = !h->may_change && strcmp(interface, "commands") == 0;
    if (paths_libexec(by_commands ? COMMANDS : LIBRARY, h->program, sizeof h->program, e) == 0)
        return h;
    if (h->may_change && change_to_commands(h, "this unetctl was built without libslurm"))
        return h;
    e->code = ERR_SCHED;
    if (!by_commands)
        err_prefix(e, "this unetctl was built without libslurm; --set slurm.interface=commands, or "
                      "rebuild it");
    free(h);
    return NULL;
}

/* Ends a helper by closing its input, or by force. Its messages remain readable. */
static void end_helper(struct helper *h, bool force)
{
    if (h->pid == 0)
        return;
    close(h->socket);
    h->socket = -1;
    if (force)
        kill(h->pid, SIGKILL);
    waitpid(h->pid, NULL, WNOHANG); /* does not block */
    h->pid = 0;
}

static void reset_helper(struct helper *h)
{
    end_helper(h, false);
    if (h->talk >= 0)
        close(h->talk);
    h->talk = -1;
    h->greeted = false;
    h->in.length = 0;
}

void helper_destroy(struct helper *h)
{
    if (!h)
        return;
    reset_helper(h);
    buf_destroy(&h->in);
    free(h);
}

/* Reads the last of what the helper wrote on stderr. Returns the last line, which is the fatal
 * error, or a text that says that there is none. */
static const char *read_talk(const struct helper *h, char *text, size_t size)
{
    off_t length = lseek(h->talk, 0, SEEK_END), room = (off_t)size - 1;
    ssize_t n = pread(h->talk, text, size - 1, length > room ? length - room : 0);

    text[n > 0 ? n : 0] = 0;
    const char *line = child_last_line(text);
    return *line ? line : "no reason was given";
}

/* Handles the end of the helper: its last message becomes the reason. Returns -1. */
static int report_lost_helper(struct helper *h, int code, struct err *e)
{
    char text[512];

    end_helper(h, false);
    const char *reason = read_talk(h, text, sizeof text);
    reset_helper(h);
    return err_set(e, code, "Slurm is unreachable: %s (is this a login node? --scheduler local "
                   "needs no Slurm)", reason);
}

/* Receives one line into h->in. Returns its length without the newline, or -1. */
static ssize_t receive_line(struct helper *h, struct err *e)
{
    double deadline = clock_now() + PATIENCE_S;
    size_t seen = 0;

    for (;;) {
        char *newline = h->in.length > seen ? memchr(h->in.data + seen, '\n', h->in.length - seen)
            : NULL;
        if (newline)
            return newline - h->in.data;
        seen = h->in.length;
        char *room = buf_reserve(&h->in, 65536);
        size_t n = 0;
        if (!room || seen > ANSWER_LIMIT ||
            connection_await(h->socket, POLLIN, deadline, NULL) == CONNECTION_LATE) {
            end_helper(h, true);
            reset_helper(h);
            return err_set(e, ERR_INTERNAL, "Slurm did not answer within %.0f seconds", PATIENCE_S);
        }
        if (connection_receive(h->socket, room, 65536, &n) == CONNECTION_CLOSED)
            return report_lost_helper(h, ERR_INTERNAL, e);
        h->in.length += n;
    }
}

static json_t *receive_answer(struct helper *h, struct err *e)
{
    json_error_t error;
    ssize_t n = receive_line(h, e);

    if (n < 0)
        return NULL;
    json_t *answer = json_loadb(h->in.data, (size_t)n, 0, &error);
    h->in.length -= (size_t)n + 1;
    memmove(h->in.data, h->in.data + n + 1, h->in.length);
    if (!answer)
        err_set(e, ERR_INTERNAL, "the answer of %s is not JSON: %s", h->program, error.text);
    return answer;
}

static int send_line(struct helper *h, const char *request, struct err *e)
{
    double deadline = clock_now() + PATIENCE_S;

    return connection_write(h->socket, request, strlen(request), deadline, NULL) ||
                   connection_write(h->socket, "\n", 1, deadline, NULL)
               ? report_lost_helper(h, ERR_SCHED, e)
               : 0;
}

static json_t *check_answer(struct helper *h, json_t *answer, struct err *e)
{
    if (answer && !json_is_true(json_object_get(answer, "ok"))) {
        const char *why = jsonio_text(answer, "error");
        const char *advice = cause_advice(message_cause(answer));
        h->misfits = h->may_change && message_cause(answer) == CAUSE_INCOMPATIBLE;
        err_set(e, ERR_SCHED, "Slurm: %s%s%s", *why ? why : "refused without a reason",
                *advice ? "; " : "", advice);
        json_decref(answer);
        return NULL;
    }
    return answer;
}

static int start_helper(struct helper *h, struct err *e)
{
    const char *const words[] = {h->program, NULL};
    int pair[2];

    reset_helper(h);
    /* In memory: on a disk it might take as long as all the rest. */
    h->talk = memfd_create("unetctl-slurm", MFD_CLOEXEC);
    if (h->talk < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(e, ERR_SCHED, errno, "cannot start %s", h->program);
    /* It ignores Ctrl-C on the terminal, and ends when its input does. */
    struct child c = {.argv = words, .in = pair[1], .out = pair[1], .err = h->talk,
                      .group = true, .enter = h->in_sandbox ? command_enter : NULL,
                      .arg = &h->sandbox};
    pid_t pid = child_start(&c, e);
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        e->code = ERR_SCHED;
        return -1;
    }
    h->pid = pid;
    h->socket = pair[0];
    return send_line(h, "{\"op\":\"hello\"}", e);
}

/* An installation that is being replaced may have a helper of another version for a while. */
static int check_protocol(const struct helper *h, const json_t *answer, struct err *e)
{
    const char *version = jsonio_text(answer, "version");
    int protocol = (int)jsonio_integer(answer, "protocol");

    if (protocol == MESSAGE_PROTOCOL)
        return 0;
    return err_set(e, ERR_SCHED, "%s is of version %s and speaks protocol %d; this is unetctl %s, "
                                 "which speaks protocol %d: install both from one version",
                   h->program, *version ? version : "unknown", protocol, PACKAGE_VERSION,
                   MESSAGE_PROTOCOL);
}

/* Exchanges greetings, which distinguishes a helper that could not start from one that lost a
 * request. */
static int greet_helper(struct helper *h, struct err *e)
{
    json_t *answer = check_answer(h, receive_answer(h, e), e);

    h->greeted = answer && check_protocol(h, answer, e) == 0;
    json_decref(answer);
    if (h->greeted)
        return 0;
    e->code = ERR_SCHED;
    reset_helper(h);
    return -1;
}

/* Starts the program unless it runs, and exchanges greetings. If LIBRARY fails and COMMANDS may
 * replace it, does the same with COMMANDS. */
static int make_ready(struct helper *h, struct err *e)
{
    struct err later;

    if ((h->pid || start_helper(h, e) == 0) && (h->greeted || greet_helper(h, e) == 0))
        return 0;
    if (!h->may_change || !change_to_commands(h, e->text))
        return -1;
    return start_helper(h, &later) || greet_helper(h, &later) ? -1 : 0;
}

static void log_note(struct helper *h)
{
    if (*h->note)
        log_info("using Slurm's commands: %s (slurm.interface: commands silences this message)",
                 h->note);
    *h->note = 0;
}

static json_t *converse(struct helper *h, const char *request, struct err *e)
{
    return send_line(h, request, e) ? NULL : check_answer(h, receive_answer(h, e), e);
}

static char *encode_request(json_t *request, struct err *e)
{
    char *text = json_dumps(request, JSON_COMPACT);

    json_decref(request);
    if (!text)
        err_set(e, ERR_CONFIG, "a request to Slurm is not UTF-8; rename the study or its folder");
    return text;
}

json_t *helper_ask(struct helper *h, json_t *request, struct err *e)
{
    char *text = encode_request(request, e);
    json_t *answer = NULL;

    h->misfits = false;
    log_debug("asking Slurm: %s", text ? text : "");
    if (text && make_ready(h, e) == 0)
        answer = converse(h, text, e);
    if (h->misfits && change_to_commands(h, e->text)) {
        reset_helper(h);
        answer = make_ready(h, e) ? NULL : converse(h, text, e);
    }
    if (answer)
        log_note(h);
    free(text);
    return answer;
}
