package credentials

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/problem"
)

// TofuPath is the file in which `tofu login` and `terraform login` keep tokens.
// OpenTofu uses another directory only where the old one does not exist.
func TofuPath() (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", problem.New(api.Invalid, "there is no place to keep tokens in: %w", err).WithHint("set HOME")
	}
	dir := filepath.Join(home, ".terraform.d")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && os.Getenv("XDG_CONFIG_HOME") != "" {
		dir = filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "opentofu")
	}
	return filepath.Join(dir, "credentials.tfrc.json"), nil
}

// Share gives OpenTofu the token for a server, or takes it away when it is "". All
// else in its file stays as it is.
func Share(path, address, token string) error {
	file := map[string]json.RawMessage{}
	hosts := map[string]json.RawMessage{}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && token == "":
		return nil
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	case err == nil:
		err = json.Unmarshal(data, &file)
	}
	if held, ok := file["credentials"]; err == nil && ok {
		err = json.Unmarshal(held, &hosts)
	}
	if err == nil && (file == nil || hosts == nil) {
		err = errors.New("null") // not ours to mend
	}
	if err != nil {
		return unreadable(path, err)
	}
	_, host, _ := strings.Cut(address, "://")
	delete(hosts, host)
	if token != "" {
		if hosts[host], err = json.Marshal(map[string]string{"token": token}); err != nil {
			return err
		}
	}
	if file["credentials"], err = json.Marshal(hosts); err != nil {
		return err
	}
	return write(path, file)
}
