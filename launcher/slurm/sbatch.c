/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/slurm/sbatch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/jobenv.h"
#include "launcher/slurm/message.h"
#include "src/buf.h"

/* In the child: no shell, and nothing of another job. */
static void become_sbatch(char **argv, int output)
{
    jobenv_clean();
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    int null = open("/dev/null", O_RDONLY);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    execvp(argv[0], argv);
    fprintf(stderr, "sbatch: %s\n", strerror(errno));
    _exit(127);
}

/* Runs argv to its end. Its exit code; dst gets what it said. -1: it could not be started. */
static int run_sbatch(char **argv, struct buf *dst)
{
    int ends[2], status;
    char block[4096];
    ssize_t n;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        become_sbatch(argv, ends[1]);
    close(ends[1]);
    while (pid > 0 && ((n = read(ends[0], block, sizeof block)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0)
            buf_add_bytes(dst, block, (size_t)n);
    close(ends[0]);
    if (pid < 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The last line that says something, in place. */
static char *last_line(char *text)
{
    char *hint = strstr(text, "\nTry \"sbatch --help\"");

    if (hint)
        *hint = 0;
    size_t n = strlen(text);

    while (n > 0 && text[n - 1] == '\n')
        text[--n] = 0;
    char *newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}

/* The id among the lines (a warning may stand beside it), or NULL. */
static const char *find_id(const char *text, size_t *length)
{
    for (; text; text = strchr(text, '\n'), text += text != NULL) {
        *length = strspn(text, "0123456789");
        if (*length > 0 && (text[*length] == 0 || text[*length] == '\n' || text[*length] == ';'))
            return text;
    }
    return NULL;
}

/* Did sbatch fail without an answer of Slurm's? Its exit code does not tell, its words do: those of
 * slurm_strerror for a timeout or a connection that broke. One that a signal ended said nothing. */
static bool lost_answer(int code, const char *words)
{
    static const char *const signs[] = {"timed out", "Zero Bytes", "send/recv", "Connection reset",
                                        "Unexpected message", "communication", NULL};

    for (const char *const *sign = signs; words && *sign; sign++)
        if (strstr(words, *sign))
            return true;
    return code > 128;
}

json_t *sbatch_ask(const json_t *job, const char *mode)
{
    const json_t *words = json_object_get(job, "sbatch"), *word;
    char **argv = calloc(json_array_size(words) + 5, sizeof *argv);
    const char *script = message_text(job, "script");
    bool submits = strcmp(mode, "--parsable") == 0;
    struct buf said = {0};
    size_t n = 0, i;
    json_t *answer;

    if (!argv)
        return message_refuse("out of memory");
    argv[n++] = "sbatch";
    argv[n++] = (char *)mode;
    json_array_foreach(words, i, word) {
        argv[n++] = (char *)(json_is_string(word) ? json_string_value(word) : "");
    }
    argv[n++] = (char *)(script ? script : "--wrap=true");
    int code = run_sbatch(argv, &said);
    free(argv);
    const char *id = said.data ? find_id(said.data, &n) : NULL;
    if (code < 0 || said.failed)
        answer = message_refuse("sbatch cannot be started: %s", strerror(errno));
    else if (code != 0)
        answer = message_refuse("%s", said.data ? last_line(said.data) : "sbatch failed without a word");
    else if (!submits)
        answer = json_pack("{s:b, s:I, s:s}", "ok", 1, "start", (json_int_t)0, "nodes", "");
    else if (!id)
        answer = message_refuse("sbatch printed no job id");
    else
        answer = json_pack("{s:b, s:s#}", "ok", 1, "id", id, (int)n);
    if (submits && code != 0 && lost_answer(code, said.data))
        json_object_set_new(answer, "lost", json_true());
    buf_destroy(&said);
    return answer;
}
