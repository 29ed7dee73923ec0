/* SPDX-License-Identifier: BSD-3-Clause */
#include "src/base.h"
#include "launcher/collect/log/log_file.h"

#include "t/tap.h"

static void check_encode(const char *engine, int gpus, long seed, bool first, const char *want)
{
    char name[LOG_NAME_SIZE], found[32];
    int n;
    long s;

    log_name_encode(name, engine, gpus, seed, first);
    is_str(name, want, "%s on %d GPUs, seed %ld: %s", engine, gpus, seed, want);
    ok(log_name_decode(name, found, sizeof found, &n, &s) && n == gpus && s == (first ? 1 : seed),
       "the name is decoded again");
}

int main(void)
{
    static const char *const bad[] = {"log.csv", "log_.csv", "log_0.csv", "log_4.csv.tmp-12-1",
                                      "log_4_s.csv", "log_4_s0.csv", "log_12345678.csv",
                                      "xlog_4.csv",
                                      "log_a/b_4.csv", "log_<b>_4.csv", "log_hvd_.csv",
                                      "results.csv"};
    char engine[8];
    int gpus;
    long seed;

    check_encode("embedded", 4, 1, true, "log_4.csv");
    check_encode("embedded", 14, 3, false, "log_14_s3.csv");
    check_encode("horovod", 6, 1, true, "log_hvd_6.csv");
    check_encode("pytorch", 6, 2, false, "log_pytorch_6_s2.csv");
    ok(log_name_decode("log_hvd_12.csv", engine, sizeof engine, &gpus, &seed),
       "a name of the reference is decoded");
    is_str(engine, "horovod", "hvd is the engine horovod");
    ok(log_name_decode("log_2.csv", engine, sizeof engine, &gpus, &seed),
       "a name without an engine is decoded");
    is_str(engine, "native", "without an engine it is native");
    ok(log_name_decode("log_averylongengine_2.csv", engine, sizeof engine, &gpus, &seed) &&
           strlen(engine) == sizeof engine - 1, "a long engine is truncated");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ok(!log_name_decode(bad[i], engine, sizeof engine, &gpus, &seed),
           "not the name of a log: %s", bad[i]);
    return done_testing();
}
