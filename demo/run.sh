#!/usr/bin/env bash
# The demonstration (make demo): a plan is judged by rules, Rego and CUE, refused, fixed, judged again,
# and applied, with the real OpenTofu. It works on a copy that it removes, dials nothing, and asserts
# every exit code, so that it is a test as well.
set -euo pipefail
source "$(dirname "$0")/stage.sh"
cp -R "$root"/demo/{assize.yaml,policy,payments,pull-request,fix} .

say "A repository with one stack, and the policies that bind it."
run 0 "cat assize.yaml"

say "The payments stack as it is: a database, an audit log, a service, a network. Plan it, have the
# policies judge the plan, and apply exactly what was judged."
run 0 "tofu -chdir=payments init >/dev/null"
run 0 "export TF_CLI_ARGS_plan=-concise"
run 0 "assize plan -C payments"
run 0 "assize apply -C payments"

say "A pull request. Its diff looks harmless: a new name for the database, a block less, a worker."
run 0 "cp pull-request/main.tf payments/"
run 5 "assize plan -C payments"

say "It is refused, and nothing is left of the plan that could be applied. A pipeline that makes its own
# plans asks the same question of their JSON; 1 is \"the policy said no\", 2 would be \"could not judge\"."
run 0 "tofu -chdir=payments plan -out=pr.plan >/dev/null"
run 0 "tofu -chdir=payments show -json pr.plan >pr.json"
run 1 "assize policy check pr.json --rules policy/rules.json --rego policy/budget.rego --cue policy/limits.cue"

say "The author fixes what was denied. One warning stays: it is shown, and blocks nothing."
run 0 "cp fix/main.tf payments/"
run 0 "assize plan -C payments"

say "Before the apply, somebody edits the configuration. What was judged is no longer what is there."
run 0 "sed -i 's/disk_gb = 200/disk_gb = 450/' payments/main.tf"
run 3 "assize apply -C payments"

say "So it is planned and judged once more, and then applied: that plan file, and no other."
run 0 "assize plan -C payments"
run 0 "assize apply -C payments"
run 0 "cat payments/out/motd"

say "What to try next (the program is .bin/assize):
#   assize policy check PLAN.json --rules demo/policy/rules.json --format markdown
#   assize policy check --help         every flag and exit code
#   assize policy schema rules         the JSON Schema of a rules file, for your editor
#   assize plan --policy POLICY        in a stack of yours; then assize apply --policy POLICY
# docs/policy.md says what each kind of policy means, and what none can promise."
