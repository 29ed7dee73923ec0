/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "trainer/run/run_log.h"

#include "t/tap.h"

static void refuse_goal(const char *until)
{
    struct goal g;
    struct err e = {0};

    ok(goal_text_parse(&g, until, 0, &e) == -1 && e.code == ERR_CONFIG, "refused: %s", e.text);
}

static void note_iou(const struct goal *g, struct goal_state *state, int epochs, double iou)
{
    struct score_summary s = {.iou = iou, .dice = iou / 2};

    goal_note(g, state, epochs, &s);
}

int main(void)
{
    struct goal_state state = {0};
    struct goal g;
    struct err e;

    refuse_goal("iou");
    refuse_goal("iou>0.9");
    refuse_goal("iou>=");
    refuse_goal("iou>=x");
    refuse_goal("iou>=0.9 ");
    refuse_goal("iou>=1.1");
    refuse_goal("loss>=0.5");
    ok(goal_text_parse(&g, "", 3, &e) == 0 && !g.metric && g.patience == 3, "patience alone");
    note_iou(&g, &state, 1, 0.5);
    note_iou(&g, &state, 2, 0.6);
    note_iou(&g, &state, 3, 0.6);
    note_iou(&g, &state, 4, 0.55);
    ok(!state.stopped && state.best_epoch == 2, "two epochs without a better one are not three");
    note_iou(&g, &state, 5, 0.59);
    ok(state.stopped && !state.reached && state.best == 0.6, "three are");

    state = (struct goal_state){0};
    ok(goal_text_parse(&g, "dice>=0.4", 0, &e) == 0, "a quality");
    note_iou(&g, &state, 1, 0.7);
    ok(!state.stopped, "not yet");
    note_iou(&g, &state, 2, 0.9);
    ok(state.stopped && state.reached == 2, "reached after 2 epochs");
    return done_testing();
}
