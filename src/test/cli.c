/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/cli.h"

#include "t/tap.h"

static bool flag;
static const char *word;
static long number;
static const char *typed;
static struct cli_list list;
static const struct cli_option options[] = {
    {"force", 'f', CLI_FLAG, NULL, "ask nothing", &flag, 0, 0},
    {"gpus", 'g', CLI_STRING, "LIST", "counts", &word, 0, 0},
    {"port-base", 0, CLI_INT, "P", "first port", &number, 1, 65535},
    {"site", 0, CLI_STRING | CLI_TYPED, "SITE", "where", &typed, 0, 0},
    {"set", 'S', CLI_LIST, "K=V", "override", &list, 0, 0},
    {0}};
static struct cli_command command = {
    .name = "submit", .args = "[FILE] [-- WORDS]", .summary = "x", .options = options, .max_operands = 1};

static int decode(char **argv, int *noperands, int *nrest, struct err *e)
{
    char **rest;
    int argc = 0;

    flag = false, word = typed = NULL, number = 0, list.count = 0;
    while (argv[argc])
        argc++;
    return cli_decode(&command, "UTEST_", argc, argv, noperands, nrest, &rest, e);
}

int main(void)
{
    struct err e;
    int n, nrest;

    ok(decode((char *[]){"--gpus", "1..4", "-f", "a", "-S", "k=1", "--set=k=2", "--", "-x", "y",
                         NULL},
              &n, &nrest, &e) == 0, "a full command line is decoded");
    is_str(word, "1..4", "a value after a blank is decoded");
    ok(flag && n == 1 && nrest == 2 && list.count == 2, "flag, operand, list and rest are decoded");
    ok(decode((char *[]){"-g3", "--port-base=13565", NULL}, &n, &nrest, &e) == 0 && number == 13565,
       "-gVALUE and --name=VALUE are decoded");
    ok(decode((char *[]){"--gpu", "4", NULL}, &n, &nrest, &e) == -1 && e.code == ERR_USAGE,
       "an unknown option is a usage error");
    ok(strstr(e.text, "--gpus") != NULL, "the error names the nearest option: %s", e.text);
    ok(decode((char *[]){"--port-base", "0", NULL}, &n, &nrest, &e) == -1,
       "a number out of bounds is refused: %s",
       e.text);
    ok(decode((char *[]){"--port-base", "12x", NULL}, &n, &nrest, &e) == -1,
       "a text that is not a number is refused: %s",
       e.text);
    ok(decode((char *[]){"--gpus", NULL}, &n, &nrest, &e) == -1,
       "a missing value is refused: %s", e.text);
    ok(decode((char *[]){"--force=1", NULL}, &n, &nrest, &e) == -1,
       "a flag with a value is refused: %s",
       e.text);
    ok(decode((char *[]){"a", "b", NULL}, &n, &nrest, &e) == -1,
       "an operand too many is refused: %s", e.text);
    ok(decode((char *[]){"-p", "short", NULL}, &n, &nrest, &e) == -1 &&
           strstr(e.text, "WORDS come after '--': submit -- -p"),
       "an option that may belong after -- is refused: %s", e.text);
    command.args = "[FILE]";
    ok(decode((char *[]){"--", "-x", NULL}, &n, &nrest, &e) == 0 && n == 1 && nrest == 0,
       "where no words follow --, an operand may");
    ok(decode((char *[]){"a", "--", "b", NULL}, &n, &nrest, &e) == -1,
       "an operand too many after -- is refused: %s", e.text);
    setenv("UTEST_PORT_BASE", "77", 1);
    ok(decode((char *[]){NULL}, &n, &nrest, &e) == 0 && number == 77,
       "the environment supplies a value");
    ok(decode((char *[]){"--port-base", "5", NULL}, &n, &nrest, &e) == 0 && number == 5,
       "the command line overrides the environment");
    setenv("UTEST_SITE", "x", 1);
    ok(decode((char *[]){NULL}, &n, &nrest, &e) == 0 && !typed,
       "the environment does not supply a typed option");
    ok(decode((char *[]){"--site", "y", NULL}, &n, &nrest, &e) == 0 && typed,
       "the command line does");
    setenv("UTEST_PORT_BASE", "x", 1);
    ok(decode((char *[]){NULL}, &n, &nrest, &e) == -1 && strstr(e.text, "UTEST_PORT_BASE"),
       "a variable with a bad value is named: %s", e.text);
    unsetenv("UTEST_PORT_BASE");
    ok(decode((char *[]){NULL}, &n, &nrest, &e) == 0 && log_shows(LOG_INFO) &&
           !log_shows(LOG_DEBUG), "notes are written, steps are not");
    ok(decode((char *[]){"-q", NULL}, &n, &nrest, &e) == 0 && log_shows(LOG_WARN) &&
           !log_shows(LOG_INFO), "--quiet leaves warnings");
    ok(decode((char *[]){"--verbose", NULL}, &n, &nrest, &e) == 0 && log_shows(LOG_DEBUG),
       "--verbose writes all");
    setenv("UTEST_QUIET", "1", 1);
    ok(decode((char *[]){NULL}, &n, &nrest, &e) == 0 && !log_shows(LOG_INFO),
       "the environment says it for all verbs");
    ok(decode((char *[]){"-v", NULL}, &n, &nrest, &e) == 0 && log_shows(LOG_DEBUG),
       "the command line overrides it");
    ok(decode((char *[]){"-q", "-v", NULL}, &n, &nrest, &e) == -1 && e.code == ERR_USAGE,
       "both are refused: %s", e.text);
    static const char *const names[] = {"qos", "time", "hold", "train.epochs", NULL};
    ok(!cli_nearest("foo", names) && !cli_nearest("load", names),
       "words of few letters with two differences are not near");
    char text[CLI_SUGGESTION];
    is_str(cli_nearest("tiem", names), "time", "a word with two letters swapped is near");
    is_str(cli_suggest("tiem", names, text), "; did you mean 'time'?",
           "a suggestion names the near word");
    is_str(cli_suggest("foo", names, text), "", "without a near word there is no suggestion");
    is_str(cli_nearest("train.epcohs", names), "train.epochs", "a longer word is near, too");
    return done_testing();
}
