/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"

#include "t/tap.h"

int main(void)
{
    struct map m = {0};
    size_t value = 7, wrong = 0;
    char key[32];

    ok(!map_get(&m, "a", &value) && value == 7, "an empty map has no keys");
    is_int(map_set(&m, "a", 1), 0, "a key is set");
    ok(map_get(&m, "a", &value) && value == 1, "its value is found");
    is_int(map_set(&m, "a", 2), 0, "the key is set again");
    ok(map_get(&m, "a", &value) && value == 2 && m.count == 1, "its value is replaced");
    ok(map_get(&m, "a", NULL) && !map_get(&m, "", NULL) && !map_get(&m, "aa", NULL),
       "other keys are not found");
    for (size_t i = 0; i < 50000; i++) {
        snprintf(key, sizeof key, "unet-g%zu-s1", i);
        wrong += map_set(&m, key, i) != 0;
    }
    for (size_t i = 0; i < 50000; i++) {
        snprintf(key, sizeof key, "unet-g%zu-s1", i);
        wrong += !map_get(&m, key, &value) || value != i;
        snprintf(key, sizeof key, "unet-g%zu-s2", i);
        wrong += map_get(&m, key, NULL);
    }
    is_int((long)wrong, 0, "50,000 keys are found, and no others");
    is_int((long)m.count, 50001, "all keys are counted");
    map_destroy(&m);
    ok(m.count == 0 && !map_get(&m, "a", NULL), "a destroyed map is empty");
    return done_testing();
}
