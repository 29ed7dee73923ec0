/* SPDX-License-Identifier: BSD-3-Clause */
/* A node list that is accepted says the same after it was written and read again. */
#include "src/base.h"
#include "src/cluster/nodelist.h"

#include "t/fuzz/fuzz.h"

#define LIMIT 5000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    struct err e = {0};
    struct nodelist *l = nodelist_decode(text, LIMIT, &e);

    free(text);
    if (!l) {
        FUZZ_REQUIRE(e.code == ERR_USAGE && e.text[0]);
        return 0;
    }
    char *encoded = nodelist_encode(l, &e);
    FUZZ_REQUIRE(encoded);
    struct nodelist *again = nodelist_decode(encoded, LIMIT, &e);
    FUZZ_REQUIRE(again && nodelist_count(l) >= 1 && nodelist_count(l) <= LIMIT);
    FUZZ_REQUIRE(nodelist_count(again) == nodelist_count(l));
    for (size_t i = 0; i < nodelist_count(l); i++) {
        size_t length;
        const char *name = nodelist_get(l, i, &length);
        FUZZ_REQUIRE(length >= 1 && length <= NODELIST_NAME_MAX && strlen(name) == length);
        FUZZ_REQUIRE(!strpbrk(name, ", \t\n[];'\"`$\\&|<>()*?{}"));
        FUZZ_REQUIRE(strcmp(name, nodelist_get(again, i, NULL)) == 0);
    }
    free(encoded);
    nodelist_destroy(again);
    nodelist_destroy(l);
    return 0;
}
