/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/script/template.h"

#include "t/tap.h"

static const struct template_value values[] = {
    {"name", "it's a \"test\" $HOME `x` \xc3\xa9"},
    {"plain", "/a/b-c_d.e,f=1:2@3%4+5"},
    {"empty", ""},
    {"lines", "one\ntwo"},
    {NULL, NULL},
};

static void check(const char *text, const char *want)
{
    bool used[TEMPLATE_VALUES_MAX];
    struct buf b = {0};
    struct err e = {0};

    if (ok(template_expand("file", text, false, values, used, &b, &e) == 0, "renders %s", want))
        is_str(b.data, want, "the result is the expected text");
    else
        printf("# %s\n", e.text);
    buf_destroy(&b);
}

static void check_bad(const char *text, const char *word)
{
    bool used[TEMPLATE_VALUES_MAX];
    struct buf b = {0};
    struct err e = {0};

    is_int(template_expand("file", text, false, values, used, &b, &e), -1, "refused: %s", text);
    is_int(e.code, ERR_CONFIG, "exit code");
    if (!ok(strstr(e.text, word) != NULL, "the error says '%s'", word))
        printf("# %s\n", e.text);
    buf_destroy(&b);
}

static const struct template_value tags[] = {
    {"gpus", "8"},           {"tag_node", "4"},   {"tag_program", "/a/train.py"},
    {"tag_program1", "/a b"}, {"setup.sh", "/s/e.sh"}, {NULL, NULL},
};

static void check_tags(const char *text, const char *want)
{
    bool used[TEMPLATE_VALUES_MAX];
    struct buf b = {0};
    struct err e = {0};

    if (ok(template_expand("file", text, template_has_tags(text), tags, used, &b, &e) == 0,
           "expands %s", text))
        is_str(b.data, want, "the result is the expected text");
    else
        printf("# %s\n", e.text);
    buf_destroy(&b);
}

static void check_bad_tags(const char *text, const char *word)
{
    bool used[TEMPLATE_VALUES_MAX];
    struct buf b = {0};
    struct err e = {0};

    is_int(template_expand("file", text, template_has_tags(text), tags, used, &b, &e), -1,
           "refused: %s", text);
    if (!ok(strstr(e.text, word) != NULL, "the error says '%s'", word))
        printf("# %s\n", e.text);
    buf_destroy(&b);
}

static void check_used(void)
{
    bool used[TEMPLATE_VALUES_MAX];
    struct buf b = {0};
    struct err e = {0};

    ok(template_expand("file", "{{gpus}} tag_program", true, tags, used, &b, &e) == 0,
       "markers and tags in one text are expanded");
    ok(used[0] && !used[1] && used[2] && !used[3], "the values that were used are marked");
    buf_destroy(&b);
}

int main(void)
{
    check_tags("--nodes=tag_node\ncd tag_node; tag_node", "--nodes=4\ncd 4; 4");
    check_tags("tag_node mytag_node tag_node.x", "4 mytag_node 4.x");
    check_tags("tag_node source setup.sh && ./setup.sh setup.sh.bak asetup.sh",
               "4 source /s/e.sh && ./setup.sh setup.sh.bak asetup.sh");
    check_tags("no tags: setup.sh {{gpus}}", "no tags: setup.sh 8");
    check_tags("'tag_program'", "'/a/train.py'");
    check_bad_tags("a\ntag_nodes", "file:2: unknown tag 'tag_nodes'; did you mean 'tag_node'?");
    check_bad_tags("tag_program1", "file:1: 'tag_program1' would become '/a b', which needs "
                   "quotes");
    check_bad_tags("tag_node\n{{tag}}", "file:2: unknown marker '{{tag}}'");
    check_used();
    check("a {{name|sh}} b\n", "a 'it'\\''s a \"test\" $HOME `x` \xc3\xa9' b\n");
    check("{{name}}{{plain|sh}}\n",
          "it's a \"test\" $HOME `x` \xc3\xa9/a/b-c_d.e,f=1:2@3%4+5\n");
    check("{{name}}\n{{empty}}\nx{{empty}}\n", "it's a \"test\" $HOME `x` \xc3\xa9\nx\n");
    check("{{empty|sh}}{{name}}", "''it's a \"test\" $HOME `x` \xc3\xa9");
    check("{{empty|sh}}\n{{name}}", "''\nit's a \"test\" $HOME `x` \xc3\xa9");
    check("{{name}}\n{{lines}}\n", "it's a \"test\" $HOME `x` \xc3\xa9\none\ntwo\n");
    check_bad("{{name}}\n{{plian}}\n", "file:2: unknown marker '{{plian}}'; did you mean "
              "'{{plain}}'");
    check_bad("{{name}}\n\n{{name\n}}", "file:3: '{{' has no '}}'");
    check_bad("{{name|html}}", "file:1: unknown filter '|html'");
    check_bad("{{name}}{{lines|sh}}", "file:1: the value of 'lines' has a newline");
    return done_testing();
}
