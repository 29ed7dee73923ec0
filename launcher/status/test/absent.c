/* SPDX-License-Identifier: BSD-3-Clause */
/* Which job with a run's number is the run's job. */
#include "src/base.h"
#include "launcher/status/status_internal.h"

#include "t/tap.h"

#define ASKED 1000000

static const struct absent_claim claim = {.study = "unetctl:0123456789abcdef:",
                                          .tag = "unetctl:0123456789abcdef:unet-g01-s1:1",
                                          .name = "demo-unet-g01-s1",
                                          .allocation = "demo-allocation-",
                                          .uid = 1000,
                                          .asked = ASKED};

static struct job_state job(long uid, const char *tag, const char *name, time_t submitted)
{
    struct job_state j = {.id = "7", .uid = uid, .submitted = submitted};

    snprintf(j.tag, sizeof j.tag, "%s", tag);
    snprintf(j.name, sizeof j.name, "%s", name);
    return j;
}

static void check(const char *what, struct job_state j, bool same)
{
    ok(absent_is_same(&claim, &j) == same, "%s: %s", what, same ? "the run's" : "another");
}

int main(void)
{
    struct absent_claim by_hand = claim;
    struct job_state j = job(1000, "x", "y", ASKED + 5000);

    check("as submitted", job(1000, claim.tag, claim.name, ASKED + 1), true);
    check("its name changed", job(1000, claim.tag, "y", ASKED + 1), true);
    check("its comment changed", job(1000, "x", claim.name, ASKED + 1), true);
    check("its comment removed, and requeued later", job(1000, "", claim.name, ASKED + 90000), true);
    check("comment and name changed", job(1000, "x", "y", ASKED + 1), true);
    check("an allocation of the study",
          job(1000, "unetctl:0123456789abcdef:allocation-2:1", "demo-allocation-2", ASKED), true);
    check("an allocation whose comment changed", job(1000, "", "demo-allocation-2", ASKED), true);
    check("from an accounting without names", job(-1, "", "", ASKED + 1), true);
    check("of another user", job(1001, "", claim.name, ASKED + 1), false);
    check("of another user with our tag", job(1001, claim.tag, claim.name, ASKED + 1), false);
    check("of another study",
          job(1000, "unetctl:fedcba9876543210:unet-g01-s1:1", claim.name, ASKED + 1), false);
    check("another name, another time", job(1000, "", "y", ASKED + 5000), false);
    check("an earlier job of the number", job(1000, "", claim.name, ASKED - 5000), false);
    j.restarts = 1;
    check("comment and name changed, and requeued", j, true);
    by_hand.uid = -1;
    by_hand.asked = 0;
    by_hand.began = ASKED;
    j = job(1000, "x", "y", ASKED - 5000);
    j.started = ASKED - 1;
    ok(absent_is_same(&by_hand, &j), "submitted by hand: the run's by its start");
    j.started = ASKED - 4000;
    ok(!absent_is_same(&by_hand, &j), "submitted by hand: another by its start");
    j = job(1000, "", claim.name, ASKED - 5000);
    j.ended = ASKED - 1000;
    ok(!absent_is_same(&by_hand, &j), "submitted by hand: another that ended before");
    return done_testing();
}
