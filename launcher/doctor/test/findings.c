/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports of hosts and ranks with one problem each (not every kind of problem) lead to its finding,
 * and good reports to neither errors nor warnings; srun's list of MPI types is compared with the
 * launcher. */
#include "src/base.h"
#include "launcher/doctor/doctor.h"

#include "t/tap.h"

#define HOST_TAIL \
    "'gpu_source':'nvidia-smi','versions':{'unetctl':'1 a'},'limits':{'nofile':4096,'memlock':-1," \
    "'nproc':-1,'core':0,'stack':1},'infiniband':false,'stale':[],'proxies':[],'interface':''}"

#define SPEC "{'node':'n1','port':9,'hash':'aa','nodes':'N=n[1-2]','per_node':'T=1(x2)'}"

/* The reports of two ranks on two nodes, with ' for ". Tests replace a part of this text. */
static const char good[] =
    "[{'index':0,'world':2,'host':'n1','name':'n1','procid':'0','spec':" SPEC
    ",'port':{'number':9,'error':''},"
    "'names':[{'name':'n1','addresses':['10.0.0.1'],'back':'n1','error':''}],"
    "'peers':[{'index':1,'host':'n2','reached':true,'interface':'eth0','rtt_ms':1.0,'clock_s':0.0,"
    "'error':''}],'visible':'0','data':'','lock':'held','gpus':[{'uuid':'GPU-1','name':'x'}]"
    "," HOST_TAIL ","
    "{'index':1,'world':2,'host':'n2','name':'n2','procid':'1','place':'','spec':" SPEC
    ",'port':{'number':9,'error':''},"
    "'names':[{'name':'n1','addresses':['10.0.0.1'],'back':'n1','error':''}],"
    "'peers':[{'index':0,'host':'n1','reached':true,'interface':'eth0','rtt_ms':1.0,'clock_s':0.25,"
    "'error':''}],'visible':'0','data':'','lock':'held','gpus':[{'uuid':'GPU-2','name':'x'}]"
    "," HOST_TAIL "]";

/* Returns the reports with the last occurrence of `what` replaced by `by`, and with JSON's
 * quotes. */
static json_t *make(const char *what, const char *by)
{
    const char *at = NULL;
    json_error_t error;
    char text[8192];

    for (const char *s = what ? strstr(good, what) : NULL; s; s = strstr(s + 1, what))
        at = s;
    if (what && !at)
        bail_out("%s is not in the text", what);
    if (at)
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, by, at + strlen(what));
    else
        snprintf(text, sizeof text, "%s", good);
    for (char *s = text; *s; s++)
        if (*s == '\'')
            *s = '"';
    json_t *list = json_loads(text, 0, &error);
    if (!list)
        bail_out("%s", error.text);
    return list;
}

static void judge(json_t *list, struct findings *f)
{
    findings_judge(list, f);
    json_decref(list);
}

static void finds(enum finding_level level, const char *check, const char *what, const char *by,
                  const char *word)
{
    struct findings f = {0};
    bool found = false;

    judge(make(what, by), &f);
    for (size_t i = 0; i < f.count; i++) {
        const struct finding *n = &f.list[i];
        if (n->level == level && strcmp(n->check, check) == 0 && strstr(n->text, word) &&
            (level == FINDING_OK || *n->remedy))
            found = true;
    }
    if (!ok(found, "%s: %s", check, word))
        for (size_t i = 0; i < f.count; i++)
            printf("# %d %s %s\n", (int)f.list[i].level, f.list[i].check, f.list[i].text);
    findings_destroy(&f);
}

static void check_missing(void)
{
    json_t *list = make(NULL, NULL);
    struct findings f = {0};

    json_array_set_new(list, 0, json_null());
    judge(list, &f);
    is_int(findings_count(&f, FINDING_ERROR), 1, "a rank without a report is one error");
    ok(strstr(f.list[0].text, "1 of 2 ranks") && strstr(f.list[0].text, ": 0 (n1)"), "%s",
       f.list[0].text);
    findings_destroy(&f);
    judge(json_pack("[n, n]"), &f);
    is_int(findings_count(&f, FINDING_ERROR), 1, "no reports at all are one error");
    findings_destroy(&f);
}

static const struct finding *find(const struct findings *f, const char *check)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->list[i].check, check) == 0)
            return &f->list[i];
    return NULL;
}

static void check_text(void)
{
    struct findings f = {0};

    findings_add(&f, FINDING_ERROR, "job", "one %s of %d\ntype %s", "word\nand more", 3, "this");
    findings_add(&f, FINDING_OK, "job", "%s", "a line\nand another");
    is_str(f.list[0].text, "one word and more of 3", "the text ends at the newline of the format");
    is_str(f.list[0].remedy, "type this", "and the remedy follows it");
    ok(strcmp(f.list[1].text, "a line and another") == 0 && !*f.list[1].remedy,
       "a newline in an argument is a blank, and begins no remedy");
    findings_destroy(&f);
}

/* The report of this host has nothing about ranks. */
static void check_host(void)
{
    json_t *list = make(NULL, NULL), *facts = json_array_get(list, 0);
    struct findings f = {0};

    json_array_remove(list, 1);
    json_object_del(facts, "index");
    json_object_del(facts, "peers");
    json_object_del(facts, "port");
    json_object_set_new(facts, "own_name", json_string("not known"));
    judge(list, &f);
    ok(!find(&f, "ranks") && !find(&f, "numbering") && !find(&f, "routes") && !find(&f, "gpus") &&
           !find(&f, "ports"), "one host is not judged as ranks");
    ok(find(&f, "names") && strstr(find(&f, "names")->text, "n1: its own name does not resolve"),
       "its own name is");
    ok(find(&f, "versions") && strncmp(find(&f, "versions")->text, "unet-train: ", 12) == 0,
       "and whether it has the trainer");
    findings_destroy(&f);
}

static void check_together(void)
{
    json_t *list = make(NULL, NULL), *r;
    struct findings f = {0};
    size_t i;

    json_array_foreach(list, i, r) {
        json_object_set_new(r, "data", json_string("/x: no"));
        json_object_set_new(r, "stale", json_pack("[s, s]", i ? "RANK=1" : "RANK=0", "TF_CONFIG=x"));
    }
    judge(list, &f);
    is_str(find(&f, "data")->text, "n1, n2: the images cannot be read: /x: no",
           "hosts with the same fault are named together");
    is_str(find(&f, "variables")->text, "n1, n2: already set, by another shell or run: RANK=0, "
           "TF_CONFIG=x; programs would use these values", "each variable is named once");
    ok(strncmp(find(&f, "variables")->remedy, "unset RANK TF_CONFIG (", 22) == 0,
       "the remedy unsets all");
    findings_destroy(&f);
}

/* Returns the finding about a launcher, or "". */
static const char *judge_launcher(const char *launcher, const char *list)
{
    static char text[800];
    struct findings f = {0};

    findings_judge_launcher(launcher, list, "/my/site.yaml", &f);
    snprintf(text, sizeof text, "%s", f.count ? f.list[0].text : "");
    if (f.count && f.list[0].level == FINDING_ERROR)
        ok(strncmp(f.list[0].remedy, "set in /my/site.yaml: launcher: mpirun ", 39) == 0 &&
               f.list[0].remedy[strlen(f.list[0].remedy) - 1] == ')',
           "the remedy names the site's file");
    findings_destroy(&f);
    return text;
}

static void check_launcher(void)
{
    static const char list[] = "MPI plugin types are...\n\tnone\n\tcray_shasta\n\tpmi2\n\tpmix\n"
                               "specific pmix plugin versions available: pmix_v4,pmix_v5\n";
    static const char poor[] = "MPI plugin types are...\n\tnone\n\tpmi2\n";

    is_str(judge_launcher("srun --mpi=pmix -n 2", list), "srun knows --mpi=pmix",
           "--mpi=pmix is found in srun's list");
    is_str(judge_launcher("srun -N1 --mpi pmix_v5 -n 2", list), "srun knows --mpi=pmix_v5",
           "a version of PMIx is found in srun's list");
    is_str(judge_launcher("srun --mpi=pmix -n 2", poor),
           "the site starts ranks by srun --mpi=pmix, but this cluster's srun knows only none, pmi2 "
           "(srun --mpi=list)", "a Slurm without PMIx is reported");
    is_str(judge_launcher("srun -n 2", poor), "", "a launcher without --mpi is not checked");
    is_str(judge_launcher("mpirun --mpi=pmix -n 2", poor), "",
           "a launcher other than srun is not checked");
    is_str(judge_launcher("srun --mpi=pmix", "sh: srun: not found\n"), "",
           "without srun nothing is reported");
    is_str(judge_launcher("srun --mpi=pmix", NULL), "", "without an answer nothing is reported");
}

int main(void)
{
    struct findings f = {0};

    judge(make(NULL, NULL), &f);
    is_int(findings_count(&f, FINDING_ERROR) + findings_count(&f, FINDING_WARNING), 0,
           "good reports lead to no errors and warnings");
    ok(findings_count(&f, FINDING_OK) >= 10, "each check that passed is reported");
    findings_destroy(&f);
    judge(make("'addresses':['10.0.0.1'],'back':'n1'",
               "'listed':true,'addresses':['127.0.1.1'],'back':'me'"), &f);
    is_int(findings_count(&f, FINDING_ERROR) + findings_count(&f, FINDING_WARNING), 0,
           "loopback addresses are accepted where a sandbox lists its nodes");
    findings_destroy(&f);
    finds(FINDING_ERROR, "numbering", "'hash':'aa'", "'hash':'bb'",
          "rank 1 (n2): it has another specification of the same nodes");
    finds(FINDING_ERROR, "numbering", "'port':9,'hash':'aa'", "'port':8,'hash':'bb'",
          "it listens at port 8, sha256 bb; rank 0 on n1 has aa");
    finds(FINDING_ERROR, "numbering", "'T=1(x2)'", "'T=2'",
          "N=n[1-2] T=2; rank 0 on n1 has N=n[1-2] T=1(x2)");
    finds(FINDING_ERROR, "numbering", "'N=n[1-2]'", "'N=n[1-3]'",
          "rank 1 (n2): it sees another cluster: N=n[1-3] T=1(x2); rank 0 on n1 has N=n[1-2]");
    finds(FINDING_ERROR, "numbering", "'procid':'1'", "'procid':'0'",
          "rank 1 (n2): its launcher calls it rank 0");
    finds(FINDING_ERROR, "numbering", "'place':''", "'place':'it runs on n3'",
          "rank 1 (n2): it runs on n3");
    finds(FINDING_ERROR, "ports", "'number':9,'error':''",
          "'number':9,'error':'port 9: Address already in use'",
          "n2: port 9: Address already in use");
    finds(FINDING_ERROR, "names", "'10.0.0.1'", "'127.0.1.1'",
          "n2: the name n1 resolves to 127.0.1.1");
    finds(FINDING_ERROR, "names", "'back':'n1','error':''", "'back':'','error':'unknown'",
          "does not resolve");
    finds(FINDING_WARNING, "names", "'back':'n1'", "'back':'other'",
          "that address is called other");
    finds(FINDING_ERROR, "routes",
          "'reached':true,'interface':'eth0','rtt_ms':1.0,'clock_s':0.25,'error':''",
          "'reached':false,'interface':'','rtt_ms':0.0,'clock_s':0.0,'error':'No route to host'",
          "rank 1 (n2) does not reach rank 0 (n1): No route to host");
    finds(FINDING_WARNING, "routes", "'interface':'eth0'", "'interface':'ib0'", "eth0, ib0");
    finds(FINDING_WARNING, "clocks", "'clock_s':0.25", "'clock_s':-3.0", "n2 is 3.0 s ahead of");
    finds(FINDING_ERROR, "clocks", "'clock_s':0.25", "'clock_s':3600.0", "n2 is 3600.0 s behind");
    finds(FINDING_ERROR, "versions", "'1 a'", "'2 b'", "n2 has unetctl 2 b, but n1 has 1 a");
    finds(FINDING_ERROR, "gpus", "GPU-2", "GPU-1", "have the same GPU GPU-1");
    finds(FINDING_ERROR, "gpus", "'gpus':[{'uuid':'GPU-2','name':'x'}]", "'gpus':[]",
          "n2: no GPU there");
    finds(FINDING_ERROR, "gpus", "'gpus':[{'uuid':'GPU-2','name':'x'}]",
          "'compute':{'error':'no driver'},'gpus':[]", "n2: no driver");
    finds(FINDING_OK, "gpus", "'gpus':[{'uuid':'GPU-1','name':'x'}]",
          "'compute':{'fake':true,'device':'Xeon','backend':'dnnl'},'gpus':[]",
          "fake ones: the ranks compute on the CPU, Xeon (backend dnnl)");
    finds(FINDING_WARNING, "interface", "'interface':''}",
          "'interface':'','dead_links':['ib0 (10.1.0.2) is down']}",
          "n2: the interface ib0 (10.1.0.2) is down");
    finds(FINDING_ERROR, "data", "'data':''", "'data':'/x: no'",
          "n2: the images cannot be read: /x: no");
    finds(FINDING_WARNING, "lock", "'lock':'held'", "'lock':'free'",
          "n2: a lock on the study is not seen");
    finds(FINDING_WARNING, "variables", "'stale':[]", "'stale':['RANK=3']",
          "n2: already set, by another shell or run: RANK=3;");
    finds(FINDING_WARNING, "proxies", "'proxies':[]", "'proxies':['http_proxy=http://p']",
          "n2: http_proxy");
    finds(FINDING_ERROR, "interface", "'interface':''}", "'interface':'NCCL_SOCKET_IFNAME=x'}",
          "does not name a network");
    finds(FINDING_ERROR, "limits", "'nofile':4096", "'nofile':64",
          "n2: ulimit -n is 64; 260 open files");
    finds(FINDING_WARNING, "limits", "'nproc':-1", "'nproc':100", "n2: ulimit -u is 100");
    finds(FINDING_WARNING, "limits",
          "'memlock':-1,'nproc':-1,'core':0,'stack':1},'infiniband':false",
          "'memlock':65536,'nproc':-1,'core':0,'stack':1},'infiniband':true",
          "ulimit -l is 64 KiB");
    check_text();
    check_host();
    check_together();
    check_missing();
    check_launcher();
    done_testing();
}
