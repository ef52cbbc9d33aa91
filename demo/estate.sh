#!/usr/bin/env bash
# The demonstration over several stacks: the estate of examples/estate is planned, applied, changed,
# refused, mended and applied again, wave by wave, with the real OpenTofu; then somebody changes something
# by hand, and one environment is given up. It asserts every exit code, so that it is a test as well.
set -euo pipefail
source "$(dirname "$0")/stage.sh"
cp -R "$root"/examples/estate/. .
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat
git init -q -b main
git add -A
git -c user.name=demo -c user.email=demo@example.com commit -q -m "the estate"
git clean -qfdX # what somebody left in examples/estate

say "Twelve stacks: three environments, and what they share. Nothing in assize.yaml says what depends on
# what; that is read from the code."
run 0 "assize graph"

say "Nothing of it is there yet. All of it is planned at once: a stack that reads the state of another is
# planned against what that other one will be, and no plan of that kind can be applied."
run 0 "export TF_CLI_ARGS_plan=-concise"
run 0 "assize plan --all"

say "So the apply goes wave by wave. Before its turn, such a stack is planned again, judged again, and
# goes on only if its changes are those that were shown. A hook has kept a log."
run 0 "assize apply"
run 0 "cat .cloud/log .cloud/teahouse.example.zone"

say "A pull request: the networks get a third zone. One line, and nobody has edited the other stacks."
run 0 "git switch -q -c third-zone"
run 0 "sed -i 's/\"a\", \"b\"/\"a\", \"b\", \"c\"/' stacks/network/main.tf"
run 0 "git diff --unified=0"
run 0 "assize affected --base main"

say "What it comes to, two and three stacks further on, before anything is applied: replicas, tasks, names.
# And one environment cannot pay for it."
run 5 "assize plan --base main"

say "Two zones are enough for dev. Its stacks have nothing to do now, and the others are as they were."
run 0 "echo 'zones = [\"a\", \"b\"]' >>stacks/network/env/dev.tfvars"
run 0 "assize plan --base main"

say "Before the apply, somebody slips in another version of the shop. Networks and databases are applied as
# they were judged; the shop is not what was judged any more, so it stops, and the names wait."
run 0 "sed -i 's/shop:1.4.0/shop:1.5.0/' stacks/service/main.tf"
run 3 "assize apply"

say "That is taken back. What is left is planned once more, and applied."
run 0 "git checkout -q stacks/service/main.tf"
run 0 "assize plan 'stacks/service:*' stacks/dns"
run 0 "assize apply"
run 0 "cat .cloud/teahouse.example.zone"

say "At night, somebody edits the zone by hand. A job that looks for drift every night finds it."
run 0 "echo 'www A 192.0.2.1' >>.cloud/teahouse.example.zone"
run 2 "assize drift"

say "In the morning, that one stack is planned and applied."
run 0 "assize plan stacks/dns"
run 0 "assize apply stacks/dns"
run 0 "assize drift stacks/dns"

say "And dev is given up: what was made last goes first."
run 0 "assize destroy 'stacks/*:dev' --yes"
run 0 "ls .cloud"

say "What to try next, in a copy of examples/estate (its README.md has more):
#   assize graph --format html         what depends on what, as a page
#   assize config stacks/service:prod  what is in force for a stack, and where each value came from
#   assize plan --help                 which stacks, every flag and exit code
# docs/rollouts.md says what a command over several stacks does, and docs/ci.md how a pipeline runs it."
