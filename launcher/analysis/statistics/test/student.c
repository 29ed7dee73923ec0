/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "launcher/analysis/statistics/student.h"

#include "launcher/analysis/test/near.h"

int main(void)
{
    static const double d[] = {1.1, -0.3, 2.2, 0.7, -0.1, 1.9, 0.4}, flat[] = {2, 2, 2},
        zero[] = {0, 0};
    static const double a[] = {1.2, 3.4, 2.2, 5.1, 4.4}, b[] = {2.9, 6.1, 5.5, 7.2, 4.9, 8.0};
    struct student s = student_paired(d, 7, 0.95);

    /* scipy 1.10.1: stats.ttest_1samp, stats.t.interval, stats.ttest_ind(equal_var=False). */
    near(s.p, 0.057640711624732284, 1e-9, "paired: p");
    near(s.mean, 0.8428571428571429, 1e-12, "mean");
    near(s.interval.low, -0.03754086410426494, 1e-6, "low");
    near(s.interval.high, 1.7232551498185507, 1e-8, "high");
    s = student_welch(a, 5, b, 6, 0.95);
    near(s.p, 0.03666463993547867, 1e-9, "Welch: p");
    near(s.mean, 2.5066666666666673, 1e-12, "mean");
    near(s.interval.low, 0.1938812743220546, 1e-8, "low");
    near(s.interval.high, 4.8194520590112795, 1e-8, "high");
    s = student_paired(flat, 3, 0.95);
    ok(s.p == 0 && s.interval.low == 2 && s.interval.high == 2, "no scatter: certain");
    s = student_paired(zero, 2, 0.95);
    ok(s.p == 1, "no scatter and no difference");
    s = student_paired(d, 1, 0.95);
    ok(isnan(s.p) && !interval_is_known(&s.interval), "one difference tells nothing");

    /* The formula in the header, n counted up in Python with stats.t.ppf. */
    is_int(student_needed(0.02, 0.01, 0.05, 0.8, 1), 34, "pairs needed");
    is_int(student_needed(0.02, 0.01, 0.05, 0.8, 2), 64, "runs needed in each sample");
    is_int(student_needed(0.1, 0.01, 0.05, 0.8, 2), 1571, "many");
    is_int(student_needed(0.001, 0.01, 0.05, 0.8, 1), 2, "never below 2");
    is_int(student_needed(NAN, 0.01, 0.05, 0.8, 1), 0, "an unknown scatter");
    is_int(student_needed(1, 1e-6, 0.05, 0.8, 1), 0, "beyond all measure");
    return done_testing();
}
