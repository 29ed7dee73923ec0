/* SPDX-License-Identifier: BSD-3-Clause */
/* A task list has as many nodes as it says, each with a number of tasks within the limits. */
#include "src/base.h"
#include "src/cluster/nodelist.h"

#include "t/fuzz/fuzz.h"

#define LIMIT 5000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    struct err e = {0};
    struct tasklist l = {0};
    int rc = tasklist_decode(text, LIMIT, &l, &e);

    free(text);
    if (rc) {
        FUZZ_REQUIRE(e.code == ERR_USAGE && e.text[0]);
        return 0;
    }
    FUZZ_REQUIRE(l.count >= 1 && l.count <= LIMIT);
    for (size_t i = 0; i < l.count; i++)
        FUZZ_REQUIRE(l.tasks[i] >= 1 && l.tasks[i] <= TASKLIST_TASKS_MAX);
    tasklist_destroy(&l);
    return 0;
}
