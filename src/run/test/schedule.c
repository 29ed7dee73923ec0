/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/run/schedule.h"

#include <math.h>

#include "t/tap.h"

static double rate(const struct schedule *s, int epoch)
{
    return schedule_rate(s, epoch, 9, 10);
}

/* Finds the first epoch of each of the four factors, or -1 if no epoch has it. */
static void find_plateaus(struct schedule *s, int first[4])
{
    static const double rates[4] = {1, 0.5, 0.25, 0.125};

    for (int p = 0; p < 4; p++) {
        first[p] = -1;
        for (int epoch = s->epochs - 1; epoch >= 0; epoch--)
            if (rate(s, epoch) == s->base * rates[p])
                first[p] = epoch;
    }
}

/* The factors must change at epochs 80, 120, and 150 or 151 of 200, as in the programs of PyTorch
 * and TensorFlow that results are compared with. */
static void test_reference(enum schedule_shape shape, int last, int gpus)
{
    struct schedule s = {.base = 0.001, .epochs = 200, .gpus = gpus, .shape = shape,
                         .scaling = SCHEDULE_SCALE_LINEAR};
    int bad = 0;

    for (int epoch = 0; epoch < 200; epoch++) {
        double want = 0.001 * gpus * (epoch < 80 ? 1 : epoch < 120 ? 0.5 : epoch < last ? 0.25
                                      : 0.125);
        bad += fabs(rate(&s, epoch) - want) > 1e-17;
    }
    is_int(bad, 0, "200 epochs, %d GPUs, 1/8 from %d: the reference's rate in every epoch", gpus,
           last);
}

static void test_scaling(void)
{
    static const struct { enum schedule_scaling how; double want; } cases[] = {
        {SCHEDULE_SCALE_NONE, 0.001}, {SCHEDULE_SCALE_LINEAR, 0.008},
        {SCHEDULE_SCALE_SQRT, 0.001 * 2.8284271247461903}, {SCHEDULE_SCALE_TWO_THIRDS, 0.004}};
    struct schedule s = {.base = 0.001, .epochs = 10, .gpus = 8, .shape = SCHEDULE_CONSTANT};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s.scaling = cases[i].how;
        ok(fabs(rate(&s, 0) - cases[i].want) < 1e-17, "scaling %zu on 8 GPUs: %g", i, rate(&s, 0));
    }
}

/* Horovod's formula is lr = initial / size ((epoch + 1 / steps) (size - 1) / warmup + 1), where
 * epoch includes the fraction of the current one; the TensorFlow reference's is base + epoch
 * (base K - base) / 10. */
static void test_warmup(void)
{
    struct schedule s = {.base = 0.01, .epochs = 100, .gpus = 4, .shape = SCHEDULE_CONSTANT,
                         .scaling = SCHEDULE_SCALE_LINEAR, .warmup_epochs = 5};
    int bad = 0;

    for (int epoch = 0; epoch < 5; epoch++)
        for (int b = 0; b < 7; b++) {
            double at = epoch + b / 7.0;
            double want = 0.04 / 4 * ((at + 1.0 / 7) * 3 / 5 + 1);
            bad += fabs(schedule_rate(&s, epoch, (size_t)b, 7) - want) > 1e-16;
        }
    is_int(bad, 0, "warm-up by batch: Horovod's rate in each of 35 steps");
    ok(fabs(schedule_rate(&s, 4, 6, 7) - 0.04) < 1e-17, "the warm-up ends at the scaled rate");
    ok(schedule_rate(&s, 5, 0, 7) == 0.04, "the rate stays there");
    s.warmup_by_epoch = true;
    s.warmup_epochs = 10;
    for (int epoch = 0; epoch < 10; epoch++)
        bad += fabs(schedule_rate(&s, epoch, 3, 7) - (0.01 + epoch * (0.04 - 0.01) / 10)) > 1e-16;
    is_int(bad, 0, "warm-up by epoch: the reference's rate in each of 10 epochs");
    s.gpus = 1;
    ok(schedule_rate(&s, 0, 0, 7) == 0.01, "one GPU has no warm-up to a scaled rate");
    s.scaling = SCHEDULE_SCALE_NONE;
    ok(fabs(schedule_rate(&s, 0, 3, 7) - 0.001) < 1e-17 && schedule_rate(&s, 9, 0, 7) == 0.01,
       "without scaling it begins at 0: by epoch");
    s.warmup_by_epoch = false;
    ok(fabs(schedule_rate(&s, 2, 3, 8) - 0.01 * 2.5 / 10) < 1e-17 &&
           schedule_rate(&s, 10, 0, 7) == 0.01, "and by batch");
}

/* The rates that torch.optim.lr_scheduler's CosineAnnealingLR(T_max=10) and
 * PolynomialLR(total_iters=10, power=0.9) give in epochs 0, 3 and 9, from 1. */
static void test_decays(void)
{
    static const double want[2][3] = {{1, 0.7938926261462366, 0.024471741852423234},
                                      {1, 0.7254178469372199, 0.12589254117941667}};
    struct schedule s = {.base = 1, .epochs = 10, .gpus = 1};
    static const int at[] = {0, 3, 9};

    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) {
            s.shape = k ? SCHEDULE_POLY : SCHEDULE_COSINE;
            ok(fabs(rate(&s, at[i]) - want[k][i]) < 1e-12, "%s in epoch %d: %.15g",
               k ? "poly" : "cosine", at[i], rate(&s, at[i]));
        }
}

static void test_list(void)
{
    static const char *const bad[] = {"", "30", "30:", "30:x", "30:0.1,", "30:0.1,20:0.01", "30:0",
                                      ":0.1", "30:0.1;60:0.01", "-1:0.5"};
    struct schedule s = {.base = 0.0125, .epochs = 90, .gpus = 1};
    struct err e = {0};
    int wrong = 0;

    ok(schedule_parse(&s, "30:0.1,60:0.01,80:0.001", &e) == 0, "a list is decoded %s", e.text);
    for (int epoch = 0; epoch < 90; epoch++) {
        double want = 0.0125 * (epoch < 30 ? 1 : epoch < 60 ? 0.1 : epoch < 80 ? 0.01 : 0.001);
        wrong += fabs(rate(&s, epoch) - want) > 1e-18;
    }
    is_int(wrong, 0, "Horovod's ImageNet example: its rate in each of 90 epochs");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ok(schedule_parse(&s, bad[i], &e) == -1 && e.code == ERR_CONFIG, "refused: %s", e.text);
}

int main(void)
{
    struct schedule s = {.base = 0.001, .epochs = 20, .gpus = 4, .shape = SCHEDULE_STEP};
    int first[4];

    for (int gpus = 1; gpus <= 14; gpus += 13) {
        test_reference(SCHEDULE_STEP, 150, gpus);
        test_reference(SCHEDULE_STEP_TF, 151, gpus);
    }
    test_scaling();
    test_warmup();
    test_decays();
    test_list();
    find_plateaus(&s, first);
    ok(first[0] == 0 && first[1] == 8 && first[2] == 12 && first[3] == 15,
       "the plateaus of 20 epochs");
    s.epochs = 7; /* 2.8, 4.2, 5.25 */
    find_plateaus(&s, first);
    ok(first[0] == 0 && first[1] == 3 && first[2] == 5 && first[3] == 6,
       "plateaus of 7 epochs begin at rounded-up epochs");
    s.epochs = 1;
    ok(rate(&s, 0) == 0.001, "a single epoch has the full rate");
    s.epochs = 200;
    s.shape = SCHEDULE_CONSTANT;
    ok(rate(&s, 199) == 0.001, "a constant schedule keeps the rate");
    return done_testing();
}
