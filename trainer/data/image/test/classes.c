/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/image/classes.h"

#include "src/atomicfile.h"
#include "t/tap.h"

static struct err e;
static char path[] = "/tmp/unetctl-classes.XXXXXX";
static uint8_t labels[8];

static struct classes *open_file(const char *file, int count, const char *ignore)
{
    struct mask_options options = {.classes = count, .ignore = ignore, .class_file = file};
    struct classes *c;
    int value;

    return classes_open(&options, &value, &c, &e) ? NULL : c;
}

static struct classes *from_text(const char *text, int count, const char *ignore)
{
    if (atomicfile_write(path, text, strlen(text), 0600, &e))
        bail_out("%s", e.text);
    return open_file(path, count, ignore);
}

static bool labels_are(const struct classes *c, uint8_t *samples, int channels, uint32_t n,
                       const char *want)
{
    struct pixels mask = {.width = n, .height = 1, .channels = channels, .bits = 8,
                          .source_bits = 8, .samples = samples};

    if (!c || classes_label(c, &mask, "m.png", labels, &e))
        return false;
    return memcmp(labels, want, n) == 0;
}

static void test_values(void)
{
    struct classes *c = open_file(NULL, 12, "11");

    ok(!labels_are(c, (uint8_t[]){12}, 1, 1, "") && strstr(e.text, "value 12") &&
           strstr(e.text, "m.png") && strstr(e.text, "data.class_file"), "%s", e.text);
    ok(labels_are(c, (uint8_t[]){0, 10, 11}, 1, 3, "\0\012\377"),
       "values are classes; 11 is ignored");
    is_str(classes_name(c, 3), "3", "and named by their number");
    classes_destroy(c);

    c = from_text("# steel\n0 ferrite\n85  carbide network\r\n\n170 ferrite\n255 ignore # edge\n",
                  2, NULL);
    ok(labels_are(c, (uint8_t[]){0, 85, 170, 255}, 1, 4, "\0\1\0\377"), "values by a file");
    ok(!classes_are_coloured(c) && classes_count(c) == 2, "two classes");
    is_str(classes_name(c, 1), "carbide network", "a name may have blanks");
    ok(!labels_are(c, (uint8_t[]){1}, 1, 1, "") && strstr(e.text, "value 1 at column 0, row 0"),
       "%s", e.text);
    classes_destroy(c);

    c = from_text("0 ground\n1-3 cell\n4 - odd\n5-65535 ignore\n", 3, NULL);
    ok(labels_are(c, (uint8_t[]){0, 1, 3, 4, 5, 255}, 1, 6, "\0\1\1\2\377\377"),
       "ranges of values");
    is_str(c ? classes_name(c, 2) : "", "- odd", "a name may begin with a dash");
    classes_destroy(c);

    c = from_text("0 ground\n1-255 cell\n", 1, NULL);
    ok(labels_are(c, (uint8_t[]){0, 9}, 1, 2, "\0\1"), "one class: background and foreground");
    classes_destroy(c);

    c = from_text("0 a\n40000 b\n", 2, "7");
    struct pixels deep = {.width = 3, .height = 1, .channels = 1, .bits = 16, .source_bits = 16,
                          .samples = (uint8_t[]){0, 0, 0x9c, 0x40, 0, 7}};
    ok(c && classes_label(c, &deep, "m.png", labels, &e) == 0 && memcmp(labels, "\0\1\377", 3) == 0,
       "16-bit values, and a value to ignore beside a file");
    classes_destroy(c);
}

static void test_colours(void)
{
    struct classes *c = from_text("128 128 128 sky\n128 0 0 house\n192 0 128 house\n0 0 0 ignore\n",
                                  2, NULL);

    ok(c && classes_are_coloured(c), "three numbers are a colour");
    ok(labels_are(c, (uint8_t[]){128, 0, 0, 128, 128, 128, 192, 0, 128, 0, 0, 0}, 3, 4,
                  "\1\0\1\377"), "colours");
    ok(labels_are(c, (uint8_t[]){0, 128}, 1, 2, "\377\0"), "a grey pixel is a colour too");
    ok(labels_are(c, (uint8_t[]){128, 0, 0, 9}, 4, 1, "\1"), "alpha does not matter");
    ok(!labels_are(c, (uint8_t[]){1, 2, 3}, 3, 1, "") && strstr(e.text, "colour 1 2 3"), "%s",
       e.text);
    classes_destroy(c);
}

static void refuse_text(const char *text, int count, const char *ignore, const char *want)
{
    struct classes *c = from_text(text, count, ignore);

    ok(!c && e.code == ERR_DATA && strstr(e.text, want), "refused: %s", e.text);
    classes_destroy(c);
}

int main(void)
{
    int fd = mkstemp(path);

    if (fd < 0)
        bail_out("no temporary file");
    close(fd);
    test_values();
    test_colours();
    refuse_text("0 a\n1 ignore\n", 1, NULL, "names 1 classes; there must be two or more");
    refuse_text("0 a\n0 b\n", 2, NULL, ":2: a value or colour given twice");
    refuse_text("0 a\n1 b\n", 3, NULL, "has 2 classes, but data.classes says 3");
    refuse_text("0 a\n1 b\n2 c\n", 1, NULL, "has 3 classes: set data.classes to 3 (--classes 3)");
    refuse_text("0 a\n9-1 b\n", 2, NULL, ":2: must be");
    refuse_text("0 a\n1-70000 b\n", 2, NULL, "70000");
    refuse_text("0-9 a\n9 b\n", 2, NULL, "given twice");
    refuse_text("0 a\n1 2 b\n", 2, NULL, ":2: must be");
    refuse_text("0 a\n1\n", 2, NULL, ":2: must be");
    refuse_text("0 a\n1 2 3 b\n", 2, NULL, "either values or colours, not both");
    refuse_text("0 a\n70000 b\n", 2, NULL, "70000");
    refuse_text("0 0 0 a\n1 2 300 b\n", 2, NULL, "300");
    refuse_text("0 a\n1 b\n", 2, "1", "given twice");
    refuse_text("0 0 0 a\n1 1 1 b\n", 2, "1", "has colours");
    ok(!open_file("none.txt", 2, NULL) && e.code == ERR_DATA, "%s", e.text);
    unlink(path);
    return done_testing();
}
