/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "src/clock.h"

#include <time.h>

#include "t/tap.h"

int main(void)
{
    char date[32];
    struct tm tm = {0};
    double last = clock_now();
    bool forward = true;

    for (int i = 0; i < 100000; i++) {
        double now = clock_now();
        forward = forward && now >= last;
        last = now;
    }
    ok(forward, "the clock never decreases");
    clock_sleep(-1);
    clock_sleep(0.01);
    ok(clock_now() - last >= 0.01, "sleep takes as long as requested");

    time_t wall = time(NULL);
    double age = clock_age(wall - 100);
    ok(age >= 100 && age < 200, "the age of a date is in seconds");
    ok(!(clock_age(wall + 10) > 0), "a date of a clock that is a little ahead is new");
    double first = clock_age(wall + 86400);
    ok(first >= 0 && first < 10, "so is a date of a clock that was set back");
    clock_sleep(0.05);
    ok(clock_age(wall + 86400) >= first + 0.05, "but it becomes older");
    ok(!(clock_age(wall + 10) > 0), "which the other does not");

    setenv("TZ", "Asia/Tokyo", 1);
    tzset();
    time_t before = time(NULL);
    clock_date(date);
    time_t after = time(NULL);
    const char *end = strptime(date, "%Y-%m-%dT%H:%M:%SZ", &tm);
    ok(end && *end == 0, "the date is in ISO 8601: %s", date);
    time_t got = timegm(&tm);
    ok(got >= before && got <= after, "the date is UTC in every time zone");
    return done_testing();
}
