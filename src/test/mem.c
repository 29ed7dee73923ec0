/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"

#include "t/tap.h"

int main(void)
{
    struct err e = {0};
    size_t capacity = 0, grown = 0;
    int *list = NULL;

    char *zero = mem_zero(0, 8, &e), *text = mem_textf(&e, "%d-%s", 7, "a");
    ok(zero && *zero == 0, "an array of no elements can be allocated");
    is_str(text, "7-a", "formatted text");
    ok(!mem_alloc(SIZE_MAX / 2, 8, &e) && e.code == ERR_INTERNAL,
       "a product that overflows is refused: %s",
       e.text);
    for (int i = 0; i < 1000; i++) {
        size_t before = capacity;
        if (mem_grow(&list, (size_t)i, &capacity, sizeof *list, &e))
            bail_out("%s", e.text);
        grown += capacity != before;
        list[i] = i;
    }
    ok(list[0] == 0 && list[999] == 999 && grown < 10,
       "an array is enlarged %zu times up to 1000 elements", grown);
    size_t full = SIZE_MAX / 8;
    ok(mem_grow(&list, full, &full, 16, &e) == -1 && list[999] == 999,
       "an array that cannot be enlarged stays unchanged");
    free(list);
    free(text);
    free(zero);
    ok(hash_text(HASH_BEGIN, "") == hash_bytes(HASH_BEGIN, "", 1) &&
           hash_bytes(HASH_BEGIN, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c), "FNV-1a");
    return done_testing();
}
