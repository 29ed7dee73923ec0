/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/data/prepare/prepare.h"

#include <sys/stat.h>

#include "t/tap.h"
#include "trainer/data/image/image_file.h"

static struct err e;

/* Writes SIDE/images/NAME.png and SIDE/masks/NAME.png of 4 x 4 pixels. The image is of one grey
 * value, and the first `values` pixels of the mask are 1, 2 ...; values 0: the mask is red. */
static void write_pair(const char *side, const char *name, uint8_t grey, int values)
{
    uint8_t image[16], mask[48] = {255};
    char path[64];

    memset(image, grey, sizeof image);
    for (int i = 0; i < values; i++)
        mask[i] = (uint8_t)(i + 1);
    for (int i = values; values && i < 16; i++)
        mask[i] = 0;
    mkdir(side, 0700);
    snprintf(path, sizeof path, "%s/images", side);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/masks", side);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/images/%s.png", side, name);
    if (png_file_write(path, 4, 4, 1, image, &e))
        bail_out("%s", e.text);
    snprintf(path, sizeof path, "%s/masks/%s.png", side, name);
    if (png_file_write(path, 4, 4, values ? 1 : 3, mask, &e))
        bail_out("%s", e.text);
}

/* Image 10 is in training twice and in validation once, 20 in training twice, 30 in training once
 * and in validation twice, whatever the order of the copies. */
static void test_leaks(void)
{
    static const uint8_t train[] = {10, 20, 30, 10, 20}, val[] = {30, 10, 30};

    mkdir("divided", 0700);
    for (size_t i = 0; i < sizeof train; i++)
        write_pair("divided/train", (char[]){'a' + (char)i, 0}, train[i], 1);
    for (size_t i = 0; i < sizeof val; i++)
        write_pair("divided/val", (char[]){'v' + (char)i, 0}, val[i], 1);
    struct survey *s = survey_create("divided", NULL, 0, 0, 0, &e);
    if (!s)
        bail_out("%s", e.text);
    is_int(s->duplicates, 5, "five images equal an earlier one");
    is_int(s->leaks, 3, "three training images are also validation images");
    survey_destroy(s);
}

/* The first mask that has no colours sets the smallest number of values, also behind one that
 * has. */
static void test_fewest(void)
{
    write_pair("coloured", "a", 1, 0);
    write_pair("coloured", "b", 2, 5);
    write_pair("coloured", "c", 3, 3);
    struct survey *s = survey_create("coloured", NULL, 0, 0, 0, &e);
    if (!s)
        bail_out("%s", e.text);
    is_int(s->masks.coloured, 1, "one mask has colours");
    is_int(s->masks.fewest, 3, "the fewest values of a mask without colours");
    is_int(s->masks.most, 5, "the most");
    survey_destroy(s);
}

int main(void)
{
    char dir[] = "/tmp/unetctl-survey.XXXXXX", command[64];

    if (!mkdtemp(dir) || chdir(dir))
        bail_out("no temporary folder");
    test_leaks();
    test_fewest();
    snprintf(command, sizeof command, "rm -r %s", dir);
    ok(system(command) == 0, "the files are removed");
    is_int(survey_otsu((uint8_t[]){10, 10, 10, 200, 200}, 5), 10, "two values: the lower one");
    is_int(survey_otsu((uint8_t[]){5, 5, 5}, 3), 255, "one value: nothing is above");
    is_int(survey_otsu((uint8_t[]){0, 255}, 2), 0, "the ends of the range");

    /* Variances n0 n1 (m0-m1)^2 of a threshold at 1, 2 and 8: 1*3*(1-19/3)^2 = 85.3,
     * 2*2*(1.5-8.5)^2 = 196, 3*1*(11/3-9)^2 = 85.3. */
    is_int(survey_otsu((uint8_t[]){1, 2, 8, 9}, 4), 2, "four values by hand");
    return done_testing();
}
