/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/run/ranks/ranks.h"

#include "t/tap.h"
#include "trainer/comm/comm_open.h"

int main(void)
{
    struct roster_entry e[3] = {{.host = "n1", .machine = 1, .threads = 2, .cores = 4},
                                {.host = "n2", .machine = 1, .threads = 2, .cores = 4},
                                {.host = "n3", .machine = 2, .threads = 4, .cores = 4}};
    struct roster roster = {.size = 3, .entries = e}, gathered;
    struct roster_entry own = {.host = "here", .threads = 1};
    struct err err = {0};

    ok(!roster_is_oversubscribed(&roster), "every machine has a core for every thread");
    e[2].machine = 1;
    ok(roster_is_oversubscribed(&roster), "three hosts on one machine share its cores");
    e[2].machine = 2, e[2].threads = 5;
    ok(roster_is_oversubscribed(&roster), "one machine of two is enough");

    char names[32];
    for (int i = 0; i < 3; i++)
        snprintf(e[i].processor, sizeof e[i].processor, "A100");
    is_int(roster_processors(&roster, names, sizeof names), 0, "all ranks have the same processor");
    is_str(names, "A100", "which is named once");
    snprintf(e[2].processor, sizeof e[2].processor, "V100");
    is_int(roster_processors(&roster, names, sizeof names), 2, "rank 2 has another processor");
    is_str(names, "A100 + V100", "and both are named");

    struct comm *c = comm_self_open(&err);
    roster_describe(&own);
    ok(own.machine != 0 && own.cores >= 1, "a rank describes itself");
    ok(roster_gather(c, &own, &gathered, &err) == 0 && gathered.size == 1, "alone, all agree");
    is_str(gathered.entries[0].host, "here", "with itself");
    roster_destroy(&gathered);
    c->ops->close(c);
    return done_testing();
}
