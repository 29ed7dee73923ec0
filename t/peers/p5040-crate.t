#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rocrate loads what unetctl.crate writes, and roc-validator finds nothing that RO-Crate 1.1 or
# Process Run Crate requires. The context of RO-Crate is that of rocrate, so no network is needed.
# shellcheck source=t/lib.sh
. "${srcdir:-$(dirname "$0")/../..}/t/lib.sh"
. "$srcdir/t/peers/peers.sh"
need_python rocrate rocrate_validator yaml
export PYTHONPATH=$srcdir/python

cat >validate.py <<'END'
import email, io, json, pathlib, sys, urllib.request, urllib.response
import rocrate
from rocrate_validator import models, services
from rocrate_validator.utils.http import HttpRequester
context = (pathlib.Path(rocrate.__file__).parent / "data/ro-crate.jsonld").read_bytes()
kind = "application/ld+json"
class Context(urllib.request.BaseHandler):
    handler_order = 1
    def https_open(self, request):
        headers = email.message_from_string(f"Content-Type: {kind}\n\n")
        answer = urllib.response.addinfourl(io.BytesIO(context), headers, request.full_url, 200)
        answer.msg = "OK"
        return answer
class Answer:
    status_code, headers, text, content, ok = 200, {"Content-Type": kind}, context.decode(), context, True
    json = staticmethod(lambda: json.loads(context))
    raise_for_status = staticmethod(lambda: None)
urllib.request.install_opener(urllib.request.build_opener(Context))
HttpRequester().get = HttpRequester().head = lambda *args, **more: Answer()
for profile in "ro-crate-1.1", "process-run-crate":
    settings = services.ValidationSettings(rocrate_uri=sys.argv[1], profile_identifier=profile,
                                           requirement_severity=models.Severity.REQUIRED)
    result = services.validate(settings)
    assert result.passed(), [issue.message for issue in result.get_issues()]
END
ok "images" unet-train data synth --out data --count 12 --size 32x32 --seed 1
unetctl init s --data data --site local -s data.height=32 -s data.width=32 -s train.epochs=2 \
    -s model.base=2 -s model.depth=2 2>"$ERR"
# shellcheck disable=SC2016 # the script's own
printf '#!/bin/sh\necho ",time_per_epoch,loss,lr,training_time,test_time,iou\n0,1,1,0.1,2,0,0.5\n1,1,1,0.1,2,0,0.5" >"$1/log.csv"\n' >own.sh
chmod +x own.sh
unetctl init own --site local -- ./own.sh '{{attempt_dir}}' 2>"$ERR"
printf 'license: MIT\nauthors: [{given-names: Ada, family-names: Lovelace}]\n' | tee s/CITATION.cff >own/CITATION.cff
for study in s own; do
    exits 0 "$study: runs" unetctl submit -C $study --gpus 1,2 --wait
    exits 0 "$study: a report" unetctl report -C $study
    exits 0 "$study: a crate" python3 -m unetctl.crate $study
    ok "$study: rocrate has its runs and files" python3 - $study <<'END'
import sys
from rocrate.rocrate import ROCrate
crate = ROCrate(sys.argv[1])
assert crate.root_dataset["author"]["name"] == "Ada Lovelace", crate.root_dataset["author"]
assert crate.dereference("logs/results.csv").type == "File"
runs = crate.get_by_type("CreateAction")
assert len(runs) == 2, runs
for run in runs:
    assert run["result"].type == "Dataset" and run["agent"].type == "Person", run
    assert any(o.id.endswith("submit_file.sh") for o in run["object"]), run["object"]
END
    ok "$study: roc-validator requires no more" python3 validate.py $study
done
sed -i '/"datePublished"/d' s/ro-crate-metadata.json
ok "it requires a date" eval '! python3 validate.py s'
done_testing
