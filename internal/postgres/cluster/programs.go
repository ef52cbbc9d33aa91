package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// oldest is the first major version with all that the schema uses: NULLS NOT
// DISTINCT (docs/database.md, rule 1).
const oldest = 15

// Programs are those of one PostgreSQL.
type Programs struct {
	dir     string // with initdb and postgres
	version string // as postgres --version says it
	major   int
}

// Find is the first PostgreSQL that is new enough of: the directory that
// ASSIZE_POSTGRES_BIN names, the one in PATH, the newest that Debian's packages
// have installed, and the directories that the caller knows (docs/database.md,
// rule 1). What ASSIZE_POSTGRES_BIN names is taken or refused, never passed over.
func Find(also ...string) (Programs, error) {
	if dir := os.Getenv("ASSIZE_POSTGRES_BIN"); dir != "" {
		programs, ok := look(dir)
		if !ok {
			return Programs{}, problem.New(api.Invalid, "ASSIZE_POSTGRES_BIN is %s, and there are no initdb and postgres of version %d or later", dir, oldest).
				WithHint("name the directory with both, such as /usr/lib/postgresql/17/bin")
		}
		return programs, nil
	}
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		dirs = append(dirs, filepath.Dir(path))
	}
	for _, dir := range append(append(dirs, installed()...), also...) {
		if programs, ok := look(dir); ok {
			return programs, nil
		}
	}
	return Programs{}, problem.New(api.Unavailable, "no PostgreSQL of version %d or later was found", oldest).
		WithHint("install one (on Debian: apt-get install postgresql), or run tools/build postgres, or set ASSIZE_POSTGRES_BIN to the directory of its initdb")
}

// installed are the directories of Debian's packages, the newest first.
func installed() []string {
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return nil
	}
	major := func(dir string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir))) // what is no number comes last
		return n
	}
	slices.SortFunc(dirs, func(a, b string) int { return major(b) - major(a) })
	return dirs
}

var versionNumber = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+)\S*`)

// look is the PostgreSQL in dir, where links are followed: the programs find
// their files beside where they really are.
func look(dir string) (Programs, bool) {
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil {
		return Programs{}, false
	}
	p := Programs{dir: filepath.Dir(real)}
	if _, err := exec.LookPath(p.path("initdb")); err != nil {
		return Programs{}, false
	}
	said, err := exec.Command(p.path("postgres"), "--version").Output()
	found := versionNumber.FindSubmatch(said)
	if err != nil || found == nil {
		return Programs{}, false
	}
	p.version = strings.TrimSpace(string(said))
	p.major, err = strconv.Atoi(string(found[1]))
	return p, err == nil && p.major >= oldest
}

func (p Programs) path(name string) string { return filepath.Join(p.dir, name) }

// Version is what the programs say of themselves, such as "postgres (PostgreSQL) 17.5".
func (p Programs) Version() string { return p.version }
