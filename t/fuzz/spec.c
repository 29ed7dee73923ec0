/* SPDX-License-Identifier: BSD-3-Clause */
/* What the trainer makes of TF_CONFIG: every rank has a host, and the process's own rank is one of
 * these ranks. */
#include "src/base.h"
#include "trainer/run/ranks/ranks.h"

#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    struct err e = {0};
    struct spec s = {0};
    int rc = spec_read(text, &s, &e);

    free(text);
    if (rc) {
        FUZZ_REQUIRE(e.code == ERR_PEER && e.text[0]);
        return 0;
    }
    FUZZ_REQUIRE(s.nworkers >= 1 && s.rank >= 0 && s.rank < s.nworkers);
    for (int i = 0; i < s.nworkers; i++)
        FUZZ_REQUIRE(s.hosts[i] && s.hosts[i][0]);
    spec_destroy(&s);
    return 0;
}
