/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints: whatever lengths the header claims, only bytes that are there are read, and every
 * number that comes out is finite. */
#include "src/base.h"
#include "trainer/checkpoint/checkpoint.h"

#include <math.h>

#include "t/fuzz/fuzz.h"

/* Fits the file to a network of three layers, whose weights are finite whatever fits. */
static void fit(const char *path)
{
    static const char *const names[] = {"head.bias", "head.weight", "mid.bias", "mid.weight",
                                        "stem.weight"};
    static const int64_t shapes[][4] = {{2}, {2, 3, 1, 1}, {3}, {3, 4, 1, 1}, {4, 1, 3, 3}};
    struct err e = {0};
    struct weights *w = weights_create(&e);

    for (int i = 0; w && i < 5; i++) {
        FUZZ_REQUIRE(weights_add(w, names[i], WEIGHTS_PARAM, i % 2 || i == 4 ? 4 : 1, shapes[i],
                                 &e) == 0);
        snprintf(w->entries[i].torch, sizeof w->entries[i].torch, "a.%d layer%d", i / 2, i / 2);
    }
    FUZZ_REQUIRE(w && weights_alloc(w, &e) == 0);
    log_set_level(LOG_QUIET);
    cJSON *o = checkpoint_fit(path, w, &e);
    FUZZ_REQUIRE(o || (e.code == ERR_CHECKPOINT && e.text[0]));
    for (size_t i = 0; o && i < w->nparams; i++)
        FUZZ_REQUIRE(isfinite(w->value[i]));
    cJSON_Delete(o);
    weights_destroy(w);
}

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

    fit(path);
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
