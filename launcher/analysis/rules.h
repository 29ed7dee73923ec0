/* SPDX-License-Identifier: BSD-3-Clause */
/* The twelve rules of Hoefler and Belli ("Scientific benchmarking of parallel computing systems",
 * SC 2015), each with whether and how this report meets it. */
#ifndef UNETCTL_LAUNCHER_ANALYSIS_RULES_H
#define UNETCTL_LAUNCHER_ANALYSIS_RULES_H

enum rule_state { RULE_MET, RULE_NOT_MET, RULE_NOT_APPLICABLE };

#define RULES_COUNT 12

struct rule {
    int number;
    const char *text; /* what it asks for, in this project's words */
    enum rule_state state;
    char why[400];
};

const char *rule_state_name(enum rule_state state);

struct analysis;
void rules_compute(struct rule rules[RULES_COUNT], const struct analysis *a);

#endif
