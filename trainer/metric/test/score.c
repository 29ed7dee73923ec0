/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/metric/metric.h"

#include <math.h>

#include "t/tap.h"

static void test_binary(void)
{
    const float logits[] = {3, 0.5f, -1, 0, 2, NAN, -INFINITY, INFINITY, 7, -7};
    const float target[] = {1, 0, 1, 1, 0.6f, 1, 0, 0.5f, -1, -1};
    int64_t score[5] = {0}, parts[5] = {0};

    is_int(score_size(1), 5, "pixels, right ones, three counts");
    score_add(score, 1, logits, target, 10);
    const struct score_counts *c = score_class(score, 0);
    is_int(score[SCORE_PIXELS], 8, "pixels with a target below 0 do not count");
    is_int(c->intersection, 2, "logit > 0 and target > 0.5");
    is_int(c->pred, 4, "a logit of 0 and a NaN predict nothing");
    is_int(c->truth, 5, "a target of 0.5 is no foreground");
    is_int(score[SCORE_CORRECT], 3, "two of the foreground, one of the background");
    score_add(parts, 1, logits, target, 3);
    score_add(parts, 1, logits + 3, target + 3, 7);
    ok(memcmp(parts, score, sizeof score) == 0, "counts add up over parts");
    struct score_summary s = score_summarize(score, 1);
    ok(s.iou == 3.0 / 8 && s.dice == 0.5 && s.precision == 0.5 && s.recall == 0.4 &&
       s.accuracy == 0.375, "summary: %g %g %g %g %g", s.iou, s.dice, s.precision, s.recall,
       s.accuracy);
}

static void test_classes(void)
{
    /* truth 0 0 1 1 3, an ignored pixel, 3; predicted 0 1 1 1 0, a pixel that does not count, and
     * from NaN no class */
    const float logits[7][4] = {{9, 1, 2, 3}, {1, 9, 2, 3}, {-5, -1, -2, -3}, {0, 4, 4, 0},
                                {1, 0, 0, 0}, {9, 0, 0, 0}, {NAN, NAN, NAN, NAN}};
    const float target[7] = {0, 0, 1, 1, 3, -1, 3};
    int64_t score[SCORE_CLASSES + 12] = {0}, none[SCORE_CLASSES + 12] = {0};

    score_add(score, 4, &logits[0][0], target, 7);
    is_int(score[SCORE_PIXELS], 6, "six pixels count");
    is_int(score[SCORE_CORRECT], 3, "three are right: equal logits go to the first");
    ok(score_has(score, 0) && score_has(score, 1) && !score_has(score, 2) && score_has(score, 3),
       "three classes are there");
    const struct score_counts *one = score_class(score, 1), *three = score_class(score, 3);
    ok(one->intersection == 2 && one->pred == 3 && one->truth == 2, "class 1");
    ok(three->intersection == 0 && three->pred == 0 && three->truth == 2, "class 3 is missed");
    struct score_summary s = score_summarize(score, 4), of = score_summarize_class(score, 3);
    ok(fabs(s.iou - (2.0 / 4 + 3.0 / 4 + 1.0 / 3) / 3) < 1e-15, "mean IoU of three: %g", s.iou);
    ok(fabs(score_summarize_foreground(score, 4).iou - (3.0 / 4 + 1.0 / 3) / 2) < 1e-15,
       "without the first class");
    ok(of.precision == 0 && of.recall == 0, "nothing predicted, something to find: 0 and 0");
    ok(s.accuracy == 0.5, "accuracy is that of all pixels");
    is_int(score_total(score, 4).truth, 6, "the truth of all classes is all pixels");
    s = score_summarize(none, 4);
    ok(s.iou == 1 && s.accuracy == 1, "no pixel at all: nothing wrong");
}

static void is_near(double got, double want, const char *text)
{
    ok(fabs(got - want) < 1e-12, "%s: %g", text, got);
}

static void test_constant(void)
{
    /* 10 pixels are counted: 3 of the foreground; 5, 4 and 1 of three of four classes */
    const int64_t binary[] = {10, 0, 0, 0, 3}, none[] = {10, 10, 0, 0, 0};
    int64_t four[SCORE_CLASSES + 12] = {10, 0, 0, 0, 5, 0, 0, 4, 0, 0, 1};
    int class = -1;

    is_near(score_constant(binary, 1, false, &class), 4.0 / 11, "foreground everywhere");
    is_int(class, 1, "is the better of two by IoU");
    is_near(score_constant(binary, 1, true, &class), 0.7, "background everywhere");
    is_int(class, 0, "by accuracy");
    is_near(score_constant(none, 1, false, &class), 1, "where there is no foreground");
    is_int(class, 0, "background gets all");
    is_near(score_constant(four, 4, false, &class), (6.0 / 11 + 1.0 / 5 + 1.0 / 2) / 3,
            "of classes: the mean over those that are there or predicted");
    is_int(class, 0, "the commonest");
    is_near(score_constant(four, 4, true, &class), 0.5, "and by accuracy");
}

static void test_counts(void)
{
    struct score_counts c = {0, 0, 0};

    ok(score_iou(&c) == 1 && score_dice(&c) == 1, "nothing there, nothing predicted: 1, not 0/0");

    c = (struct score_counts){2, 4, 5};
    is_int(score_union(&c), 7, "union");
    ok(score_iou(&c) == 3.0 / 8.0, "IoU (I+1)/(U+1) = %g", score_iou(&c));
    ok(score_dice(&c) == 5.0 / 10.0, "Dice (2I+1)/(P+T+1) = %g", score_dice(&c));

    struct score_counts miss = {0, 0, 2};
    ok(score_iou(&miss) == 1.0 / 3.0, "all missed: 1/(U+1) = %g", score_iou(&miss));

    /* 1,120 images of 1024 x 768 overflow 32 bits when summed as the reference does in floats. */
    struct score_counts big = {INT64_C(880803840) * 4, INT64_C(880803840) * 4,
                               INT64_C(880803840) * 5};
    ok(fabs(score_iou(&big) - 0.8) < 1e-9, "counts beyond 2^31: %.12f", score_iou(&big));
}

int main(void)
{
    test_counts();
    test_binary();
    test_constant();
    test_classes();
    return done_testing();
}
