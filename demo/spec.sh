#!/usr/bin/env bash
# The demonstration of specifications in CUE: the two environments of examples/spec are checked, planned,
# applied and refactored, with the real OpenTofu. It asserts every exit code, so that it is a test as well.
set -euo pipefail
source "$(dirname "$0")/stage.sh"
cp -R "$root"/examples/spec/. .
rm -rf ./*/.assize ./*/.terraform.lock.hcl ./*/terraform.tfstate*
cat >assize.yaml </dev/null

say "Two environments of one shop, in CUE. Three components, and providers on which the platform team has put
# rules. Every attribute is checked against what its provider says of itself."
run 0 "cat dev/estate.cue"
run 0 "assize spec check dev"

say "What would be a surprise at the apply elsewhere is an error here, with its place and what to do."
run 0 "sed -i 's/team-shop/sales/' dev/estate.cue"
run 6 "assize plan dev"
run 0 "sed -i 's/sales/team-shop/' dev/estate.cue"

say "Both are stacks like any other: planned and applied together, under a policy."
run 0 "export TF_CLI_ARGS_plan=-concise"
run 0 "assize plan --all --policy policy/no-delete.cue"
run 0 "assize apply --policy policy/no-delete.cue"

say "A service gets another name. It says what it was called before, so everything moves, and nothing changes."
run 0 "sed -i 's/till: #image/checkout: #was: \"services.till\", checkout: #image/' dev/estate.cue"
run 0 "assize plan dev --policy policy/no-delete.cue"
run 0 "assize apply dev --policy policy/no-delete.cue"

say "Without that word it would be made anew, and the policy refuses."
run 0 "sed -i 's/mail: /post: /' dev/estate.cue"
run 5 "assize plan dev --policy policy/no-delete.cue"
run 0 "sed -i 's/post: /mail: /' dev/estate.cue"

say "Who applied what, when and under which policy is written down, and chained."
run 0 "assize log dev"

say "What to try next:
#   assize spec show dev               what OpenTofu is given
#   assize mcp --policy FILE           the same for an agent, under policies that it cannot change
#   assize server                      states, locks and people for a whole organisation
# docs/spec.md says what can be written, docs/server.md how a server is run."
