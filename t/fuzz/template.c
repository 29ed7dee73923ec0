/* SPDX-License-Identifier: BSD-3-Clause */
/* A template of any text, with values that do their worst: rendered, or refused; and a value as a
 * word of sh is one word, which holds the value. */
#include "src/base.h"
#include "launcher/script/template.h"

#include "t/fuzz/fuzz.h"

/* Writes to dst what sh makes of a word: quotes and backslashes are removed. Returns -1 if the word
 * ends early or never. */
static int unquote(const char *word, struct buf *dst)
{
    for (; *word; word++) {
        if (*word == '\'') {
            size_t n = strcspn(++word, "'");
            if (word[n] == 0)
                return -1;
            buf_add_bytes(dst, word, n);
            word += n;
        } else if (*word == '\\' && word[1]) {
            buf_add_bytes(dst, ++word, 1);
        } else if (strchr(" \t\n|&;()<>$`\"*?[]#~!{}\\", *word)) {
            return -1;
        } else {
            buf_add_bytes(dst, word, 1);
        }
    }
    buf_add(dst, "");
    return 0;
}

static void check_word(const char *text)
{
    struct buf word = {0}, back = {0};

    template_quote_sh(&word, text);
    FUZZ_REQUIRE(word.length > 0 && unquote(word.data, &back) == 0 && strcmp(back.data, text) == 0);
    buf_destroy(&word);
    buf_destroy(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = fuzz_text(data, n);
    const struct template_value values[] = {
        {"name", "it's {{name}} $(x)"}, {"tasks", "3"}, {"nodes", ""}, {"setup", "a\nb"},
        {"line", text}, {NULL, NULL}};
    bool used[TEMPLATE_VALUES_MAX] = {false};
    struct buf rendered = {0}, expanded = {0};
    struct err e = {0};

    check_word(text);
    if (template_expand("fuzz", text, false, values, used, &rendered, &e))
        FUZZ_REQUIRE(e.code == ERR_CONFIG && strncmp(e.text, "fuzz", 4) == 0);
    if (template_expand("fuzz", text, true, values, used, &expanded, &e))
        FUZZ_REQUIRE(e.code == ERR_CONFIG && strncmp(e.text, "fuzz", 4) == 0);
    FUZZ_REQUIRE(template_count_lines(text) <= n + 1);
    template_has_tags(text);
    buf_destroy(&rendered);
    buf_destroy(&expanded);
    free(text);
    return 0;
}
