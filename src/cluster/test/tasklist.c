/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/cluster/nodelist.h"

#include "t/tap.h"

static void decodes(const char *text, const char *want)
{
    struct tasklist t = {0};
    struct err e;
    char got[256] = "";

    if (tasklist_decode(text, 100, &t, &e)) {
        is_str(e.text, want, "'%s'", text);
        return;
    }
    for (size_t i = 0; i < t.count; i++)
        snprintf(got + strlen(got), 16, "%s%d", i ? " " : "", t.tasks[i]);
    is_str(got, want, "'%s'", text);
    tasklist_destroy(&t);
}

static void refuses(const char *text, const char *want)
{
    struct tasklist t = {0};
    struct err e = {0};

    if (!ok(tasklist_decode(text, 100, &t, &e) == -1 && e.code == ERR_USAGE && strstr(e.text, want),
            "'%s' is refused", text))
        printf("# got '%s', want '%s'\n", e.text, want);
}

int main(void)
{
    decodes("2", "2");
    decodes("2,1,3", "2 1 3");
    decodes("3(x2),2,1", "3 3 2 1");
    decodes("13(x10)", "13 13 13 13 13 13 13 13 13 13");
    decodes("2(x3),1", "2 2 2 1");
    decodes("1(x1)", "1");

    refuses("", "position 1: a number is missing");
    refuses("0", "position 1: must be at least 1");
    refuses("2(x0)", "position 4: must be at least 1");
    refuses("2(x", "position 4: a number is missing");
    refuses("2(x3", "position 5: ')' is missing");
    refuses("2(3)", "position 2: write N");
    refuses("2x3", "position 2: unexpected character");
    refuses("2(x3)1", "position 6: unexpected character");
    refuses("2,", "position 3: a number is missing");
    refuses("2, 1", "position 3: a number is missing");
    refuses("-1", "position 1: a number is missing");
    refuses("65537", "more than 65536 tasks");
    refuses("2(x101)", "position 4: too many nodes");
    refuses("2(x60),2(x41)", "position 8: too many nodes");
    refuses("2(x99999999999999999999999)", "position 4: too many nodes");
    refuses("99999999999999999999999", "more than 65536 tasks");
    tasklist_destroy(NULL);
    return done_testing();
}
