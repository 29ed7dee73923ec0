/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of counts is ascending, without duplicates, within its bounds. */
#include "src/base.h"
#include "src/cluster/range.h"

#include "t/fuzz/fuzz.h"

#define MIN 1
#define MAX 3000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    struct err e = {0};
    struct range r = {0};
    int rc = range_decode(text, MIN, MAX, &r, &e);

    free(text);
    if (rc) {
        FUZZ_REQUIRE(e.code == ERR_USAGE && e.text[0]);
        return 0;
    }
    FUZZ_REQUIRE(r.count >= 1 && r.count <= RANGE_COUNT_MAX);
    FUZZ_REQUIRE(r.values[0] >= MIN && r.values[r.count - 1] <= MAX);
    for (size_t i = 1; i < r.count; i++)
        FUZZ_REQUIRE(r.values[i - 1] < r.values[i]);
    range_destroy(&r);
    return 0;
}
