/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints: whatever lengths the header claims, only bytes that are there are read, and every
 * number that comes out is finite. */
#include "config.h"
#include "trainer/checkpoint/safetensors.h"

#include <math.h>

#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *path = fuzz_file(data, n);
    float one[6], two[4];
    struct safetensors_entry list[] = {
        {.name = "one", .ndim = 2, .shape = {2, 3}, .count = 6, .data = one},
        {.name = "two", .ndim = 1, .shape = {4}, .count = 4, .data = two},
    };
    struct err e = {0};
    struct safetensors *s = safetensors_open(path, &e);

    if (!s) {
        FUZZ_REQUIRE(e.code == ERR_CHECKPOINT && e.text[0]);
        return 0;
    }
    const char *hash = safetensors_metadata(s, "hash");
    if (safetensors_check_hash(s, "hash", &e))
        FUZZ_REQUIRE(e.code == ERR_CHECKPOINT);
    else
        FUZZ_REQUIRE(hash && strlen(hash) == strlen(SAFETENSORS_HASH));
    if (safetensors_read(s, list, 2, &e)) {
        FUZZ_REQUIRE(e.code == ERR_CHECKPOINT && e.text[0]);
    } else {
        for (int i = 0; i < 6; i++)
            FUZZ_REQUIRE(isfinite(one[i]));
        for (int i = 0; i < 4; i++)
            FUZZ_REQUIRE(isfinite(two[i]));
    }
    safetensors_close(s);
    return 0;
}
