/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "src/map.h"

#include <stdio.h>

#include "t/tap.h"

int main(void)
{
    struct map m = {0};
    size_t value = 7, wrong = 0;
    char key[32];

    ok(!map_get(&m, "a", &value) && value == 7, "an empty map has nothing");
    is_int(map_set(&m, "a", 1), 0, "set");
    ok(map_get(&m, "a", &value) && value == 1, "get");
    is_int(map_set(&m, "a", 2), 0, "set again");
    ok(map_get(&m, "a", &value) && value == 2 && m.count == 1, "replaces the value");
    ok(map_get(&m, "a", NULL) && !map_get(&m, "", NULL) && !map_get(&m, "aa", NULL), "other keys");
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
    is_int((long)m.count, 50001, "they are counted");
    map_destroy(&m);
    ok(m.count == 0 && !map_get(&m, "a", NULL), "destroyed is empty");
    return done_testing();
}
