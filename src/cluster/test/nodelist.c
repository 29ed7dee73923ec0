/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/cluster/nodelist.h"

#include "src/rng.h"
#include "t/tap.h"

/* Returns the names joined by blanks, or the error. */
static char *expanded(const char *text, size_t limit)
{
    struct err e = {0};
    struct buf b = {0};
    struct nodelist *l = nodelist_decode(text, limit, &e);

    if (!l)
        return strdup(e.text);
    for (size_t i = 0; i < nodelist_count(l); i++)
        buf_addf(&b, "%s%s", i ? " " : "", nodelist_get(l, i, NULL));
    nodelist_destroy(l);
    return buf_steal(&b);
}

static const char *const good[][2] = {
    {"n1", "n1"},
    {"n[1,3]", "n1 n3"},
    {"n[1-3]", "n1 n2 n3"},
    {"n[0001-0003],m5,o[009-011]", "n0001 n0002 n0003 m5 o009 o010 o011"},
    {"node[1-3,5]", "node1 node2 node3 node5"},
    {"node[1-3,5],gpu[008-010]-ib", "node1 node2 node3 node5 gpu008-ib gpu009-ib gpu010-ib"},
    {"a[1-2]b[3-4]", "a1b3 a1b4 a2b3 a2b4"},
    {"n[001-003,7]", "n001 n002 n003 n7"},
    {"n[01-3]", "n01 n02 n03"},
    {"n[9-11]", "n9 n10 n11"},
    {"n[98-0101]", "n98 n99 n100 n101"},
    {"n[0099-101]", "n0099 n0100 n0101"},
    {"n1,n1,n2", "n1 n1 n2"},
    {"n[1-2],n[1-2]", "n1 n2 n1 n2"},
    {"n[3,1,2]", "n3 n1 n2"},
    {" n1 , n2 ", "n1 n2"},
    {"n1 n2\tn3\nn4", "n1 n2 n3 n4"},
    {"n1,,n2,", "n1 n2"},
    {"n[1]", "n1"},
    {"n[7-7]", "n7"},
    {"[1-3]", "1 2 3"},
    {"1-3", "1-3"},
    {"n-1", "n-1"},
    {"n[0001-2]", "n0001 n0002"},
    {"n[18446744073709551615]", "n18446744073709551615"},
    {"n[1-2]-ib[0-1]", "n1-ib0 n1-ib1 n2-ib0 n2-ib1"},
    {"n[1-2][3-4]", "n13 n14 n23 n24"},
    {"n[1-2]3[4-5]", "n134 n135 n234 n235"},
    {"n[1-2]x[01-02]y", "n1x01y n1x02y n2x01y n2x02y"},
    {"n.dom[1-2].x", "n.dom1.x n.dom2.x"},
    {"r[0-1]c[0-1]s[0-1]", "r0c0s0 r0c0s1 r1c0s0 r1c0s1 r0c1s0 r0c1s1 r1c1s0 r1c1s1"},
    {"\xc3\xa9[1-2]", "\xc3\xa9""1 \xc3\xa9""2"},
    {"n[999999999999999999]", "n999999999999999999"},
};

static const char *const bad[][2] = {
    {"", "empty"},
    {" , ", "empty"},
    {"n[1-", "position 5: the range has no end"},
    {"node[1-2", "position 5: the bracket is not closed"},
    {"node[1,", "position 5: the bracket is not closed"},
    {"n[", "position 2: the bracket is not closed"},
    {"node[1-2]]", "position 10: the bracket was not opened"},
    {"n]1", "position 2: the bracket was not opened"},
    {"n[[1]]", "position 3: a number is missing"},
    {"n[3-1]", "position 3: the range ends below its start"},
    {"n[]", "position 3: a number is missing"},
    {"n[a-b]", "position 3: a number is missing"},
    {"n[1-2-3]", "position 6: unexpected character"},
    {"n[1,,2]", "position 5: a number is missing"},
    {"n[-1]", "position 3: a number is missing"},
    {"n[1-0x3]", "position 3: the range ends below its start"},
    {"n[1-3x3]", "position 6: unexpected character"},
    {"n[1, 2]", "position 5: a number is missing"},
    {"n1;n2", "position 3: a node name has"},
    {"n{1-2}", "position 2: a node name has"},
    {"(null)", "position 1: a node name has"},
    {"n1:8888", "position 3: a node name has"},
    {"a,b\"c", "position 4: a node name has"},
    {"n[1-999999999]", "position 3: too many nodes"},
    {"n[1-999999999999999999]", "position 3: too many nodes"},
    {"n[1-9999999999999999999999]", "at most 18 digits"},
    {"n[1-99999999999999999999]", "at most 18 digits"},
    {"n[1-1000][1-1000][1-1000][1-1000]", "position 1: too many nodes"},
    {"n[1-1000],m[1-1]", "position 11: too many nodes"},
    {"a[1]b[1]c[1]d[1]e[1]f[1]g[1]h[1]i[1]", "at most 8 brackets"},
};

static void tables(void)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char *got = expanded(good[i][0], NODELIST_LIMIT);
        is_str(got, good[i][1], "'%s'", good[i][0]);
        free(got);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        struct nodelist *l = nodelist_decode(bad[i][0], 1000, &e);
        if (!ok(!l && e.code == ERR_USAGE && strstr(e.text, bad[i][1]), "'%s' is refused",
                bad[i][0]))
            printf("# got '%s', want '%s'\n", e.text, bad[i][1]);
        nodelist_destroy(l);
    }
}

static void limits(void)
{
    struct err e = {0};
    struct nodelist *l = nodelist_decode("n[1-999],m", 1000, &e);
    char name[400];

    ok(l && nodelist_count(l) == 1000, "a list may have as many names as the limit");
    nodelist_destroy(l);
    nodelist_destroy(NULL);

    memset(name, 'x', sizeof name);
    strcpy(name + 255, ",y");
    l = nodelist_decode(name, 10, &e);
    ok(l && nodelist_count(l) == 2, "a name may have 255 bytes");
    nodelist_destroy(l);
    strcpy(name + 254, "[9-10]");
    ok(!nodelist_decode(name, 10, &e) && strstr(e.text, "255 bytes"),
       "a name that grows to 256 bytes is refused: %.40s", e.text);
    memset(name, 'x', sizeof name);
    strcpy(name + 390, "[1]");
    ok(!nodelist_decode(name, 10, &e) && strlen(e.text) < 250,
       "a long list is shortened in the error");
}

static void compresses(const char *text, const char *want)
{
    struct err e = {0};
    struct nodelist *l = nodelist_decode(text, NODELIST_LIMIT, &e);
    char *got = l ? nodelist_encode(l, &e) : strdup(e.text);

    is_str(got, want, "'%s' in short", text);
    free(got);
    nodelist_destroy(l);
}

static bool survives(uint64_t index)
{
    static const char *const prefixes[] = {"n", "n0", "gpu-", "", "n1x"};
    static const char *const suffixes[] = {"", "", "", "-ib"};
    struct buf text = {0};
    struct err e = {0};
    uint64_t draw = index * 1000;

    for (int i = 0; i < 12; i++) {
        uint64_t v = rng_u64(1244, 0, draw++);
        buf_addf(&text, "%s%s%0*d%s", i ? " " : "", prefixes[v % 5], (int)((v >> 8) % 4) + 1,
                 (int)((v >> 16) % 14) + ((v >> 24) % 3 == 0 ? 93 : 0), suffixes[(v >> 32) % 4]);
    }
    struct nodelist *l = nodelist_decode(text.data, 100, &e);
    char *encoded = nodelist_encode(l, &e), *again = expanded(encoded, 100);
    bool same = strcmp(again, text.data) == 0;
    if (!same)
        printf("# '%s' encodes as '%s', which decodes as '%s'\n", text.data, encoded, again);
    free(again);
    free(encoded);
    nodelist_destroy(l);
    buf_destroy(&text);
    return same;
}

int main(void)
{
    int survived = 0;

    tables();
    limits();
    compresses("node1,node2,node3,node5", "node[1-3,5]");
    compresses("node1", "node1");
    compresses("node1 login", "node1,login");
    compresses("n1,m1,n2", "n1,m1,n2");
    compresses("n[08-11]", "n[08-11]");
    compresses("n8,n9,n10,n011", "n[8-10,011]");
    compresses("n3,n2,n1", "n[3,2,1]");
    compresses("n1,n1", "n[1,1]");
    compresses("n1,n1-ib,n2-ib", "n1,n1-ib,n2-ib");
    compresses("a[1-2]b[3-4]", "a1b[3-4],a2b[3-4]");
    compresses("[1-3]", "[1-3]");
    compresses("n[18446744073709551615],n18446744073709551616",
               "n[18446744073709551615,18446744073709551616]");
    for (uint64_t i = 0; i < 2000; i++)
        survived += survives(i);
    is_int(survived, 2000, "2000 random lists are the same after encode and decode (seed 1244)");
    return done_testing();
}
