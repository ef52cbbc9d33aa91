# What demonstrations share; they source it, with -euo pipefail set. It leaves them in a directory of their
# own, which is removed at the end, with the tools that `make demo` builds and no settings of the caller's.
# What the tools keep for the next time, such as providers, goes there as well.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

unset "${!TF_@}" "${!ASSIZE_@}"
export PATH=$root/.bin:$PATH
export TF_CLI_CONFIG_FILE=$root/.bin/tofurc TF_IN_AUTOMATION=1 TF_INPUT=0 CHECKPOINT_DISABLE=1

work=$(mktemp -d "${TMPDIR:-/tmp}/assize-demo.XXXXXX")
trap 'cd / && rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export XDG_CACHE_HOME=$work/cache
mkdir "$work/repo"
cd "$work/repo"

bold='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
	bold=$'\e[1m' plain=$'\e[0m'
fi

# say prints a paragraph about what comes next.
say() { printf '\n%s# %s%s\n' "$bold" "$*" "$plain"; }

# run CODE COMMAND prints the command as one would type it, runs it, and insists on its exit code.
run() {
	local want=$1 got=0
	shift
	printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"
	eval "$*" || got=$?
	[ "$got" = 0 ] || echo "(exit code $got)"
	[ "$got" = "$want" ] || {
		echo "demo: that command ends with exit code $want when all is well" >&2
		exit 1
	}
}
