package scan

import (
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/assize-iac/assize/internal/stack"
)

// registry matches namespace/name/provider, with the host of a registry before it.
var registry = regexp.MustCompile(`^(?:([0-9A-Za-z][0-9A-Za-z.-]*\.[0-9A-Za-z-]+(?::\d+)?)/)?([0-9A-Za-z][\w-]*)/([0-9A-Za-z][\w-]*)/([0-9a-z]+)$`)

// scp matches the short form of an SSH address, user@host:path.
var scp = regexp.MustCompile(`^(?:[\w.-]+@)([\w.-]+):(.+)$`)

// registryHosts are those the tools take as the default.
var registryHosts = []string{"registry.opentofu.org", "registry.terraform.io"}

// source says what a module's address means: where the module is, its key
// without a version, and the revision that is asked for. A local one's key is
// its path, with slashes as the tools read it; the version attribute counts for registries only
// (docs/scan.md, rules 17 to 19).
func source(text, version string) stack.Call {
	call := stack.Call{Source: withoutSecret(text)}
	slashed := strings.ReplaceAll(text, `\`, "/")
	if text == "." || text == ".." || strings.HasPrefix(slashed, "./") || strings.HasPrefix(slashed, "../") || path.IsAbs(text) {
		call.Kind, call.Key = stack.LocalModule, slashed
		return call
	}
	address, query, _ := strings.Cut(text, "?")
	address, sub := cutSubdirectory(address)
	if m := registry.FindStringSubmatch(address); m != nil && m[1] != "github.com" && m[1] != "bitbucket.org" && m[1] != "gitlab.com" {
		host := strings.ToLower(m[1])
		for _, usual := range registryHosts {
			if host == usual {
				host = ""
			}
		}
		call.Kind, call.Key, call.Ref = stack.RegistryModule, "registry:"+below(path.Join(host, m[2], m[3], m[4]), sub), version
		return call
	}
	values, _ := url.ParseQuery(query)
	if repo, ok := gitRepository(address); ok {
		call.Kind, call.Key, call.Ref = stack.GitModule, below(repo, sub), values.Get("ref")
		return call
	}
	call.Kind, call.Key = stack.ArchiveModule, below(withoutSecret(address), sub)
	if strings.HasPrefix(address, "hg::") {
		call.Ref = values.Get("rev")
	} else if strings.HasPrefix(address, "oci://") {
		call.Ref = values.Get("tag")
	}
	return call
}

// cutSubdirectory splits at the // that is not part of a scheme.
func cutSubdirectory(address string) (pkg, sub string) {
	start := 0
	if i := strings.Index(address, "://"); i >= 0 {
		start = i + 3
	}
	if i := strings.Index(address[start:], "//"); i >= 0 {
		return address[:start+i], strings.Trim(path.Clean("/"+address[start+i+2:]), "/")
	}
	return address, ""
}

func below(pkg, sub string) string {
	if sub == "" {
		return pkg
	}
	return pkg + "//" + sub
}

// gitRepository is the one name of a repository that has many addresses:
// owner/repo on GitHub, host/path elsewhere.
func gitRepository(address string) (string, bool) {
	rest, forced := strings.CutPrefix(address, "git::")
	host, repo := "", ""
	if m := scp.FindStringSubmatch(rest); m != nil && !strings.Contains(rest, "://") {
		host, repo = m[1], m[2]
	} else if u, err := url.Parse(rest); err == nil && u.Host != "" {
		if !forced && u.Scheme != "git" && u.Scheme != "ssh" && !strings.HasSuffix(u.Path, ".git") {
			return "", false
		}
		host, repo = hostOf(u), u.Path
	} else if first, after, ok := strings.Cut(rest, "/"); ok && (forced || first == "github.com" || first == "bitbucket.org" || first == "gitlab.com") {
		host, repo = first, after
	} else {
		return "", false
	}
	repo = strings.TrimSuffix(strings.Trim(repo, "/"), ".git")
	host = strings.ToLower(host)
	if host == "github.com" {
		// A path in an address of the short form is a directory in the repository.
		if parts := strings.SplitN(repo, "/", 3); len(parts) == 3 {
			return parts[0] + "/" + strings.TrimSuffix(parts[1], ".git") + "//" + parts[2], true
		}
		return repo, true
	}
	return host + "/" + repo, true
}

// hostOf is the host with its port, unless that is the usual one of its scheme.
func hostOf(u *url.URL) string {
	switch u.Scheme + ":" + u.Port() {
	case "https:443", "http:80", "ssh:22", "git:9418":
		return u.Hostname()
	}
	return u.Host
}

// userinfo matches the credentials in an address, and secretQuery the values of
// a query that may be some.
var (
	userinfo    = regexp.MustCompile(`://[^/@?#\s]*@`)
	secretQuery = regexp.MustCompile(`(?i)([?&][^=&]*(?:token|secret|signature|sig|password|credential|access_?key|sshkey)[^=&]*=)[^&]*`)
)

// withoutSecret is an address that may be shown.
func withoutSecret(address string) string {
	if !strings.ContainsAny(address, "@?&") { // neither can match
		return address
	}
	address = userinfo.ReplaceAllStringFunc(address, func(user string) string {
		if user == "://git@" { // who everybody is to a Git host
			return user
		}
		return "://"
	})
	return secretQuery.ReplaceAllString(address, "${1}(sensitive)")
}
