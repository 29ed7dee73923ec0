# SPDX-License-Identifier: BSD-3-Clause
# models.inc of the descriptions in templates/models/: {name, base, depth, sides} of each model.
BEGIN { print "/* SPDX-License-Identifier: BSD-3-Clause */" }
function value(name,    part) {
    return match($0, "[{ ]" name ": *[0-9]+") ? substr($0, RSTART + length(name) + 2, RLENGTH - length(name) - 2) + 0 : 0
}
function add(name) { printf "{\"%s\", %d, %d, %d},\n", name, base, depth, sides }
function finish() { if (model != "" && !variants) add(model) }
FNR == 1 { finish(); model = ""; base = depth = variants = 0; sides = 1; section = "" }
/^[a-z]/ { section = $1 }
/^model:/ { model = $2 }
/^sides:/ { sides = $2 == "2^depth" ? 0 : $2 }
/^parameters:/ { base = value("base"); depth = value("depth") }
section == "variants:" && /^  [a-z0-9-]+:/ {
    own = base
    base = value("base") ? value("base") : own
    variants++
    sub(/:.*/, "", $1)
    add($1)
    base = own
}
END { finish() }
