package runner_test

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// packMirror packs the providers that tests have as a registry does: one archive
// for each. They are stored and not compressed, for time.
func packMirror(into string) error {
	const registry = "registry.opentofu.org/hashicorp"
	programs, err := filepath.Glob(filepath.Join("..", "..", ".bin", "mirror", registry, "*", "*", "*", "terraform-provider-*"))
	if err != nil || len(programs) == 0 {
		return fmt.Errorf("there are no providers; run `make tools` (%v)", err)
	}
	for _, program := range programs {
		platform := filepath.Dir(program)
		version := filepath.Dir(platform)
		name := filepath.Base(filepath.Dir(version))
		file := fmt.Sprintf("terraform-provider-%s_%s_%s.zip", name, filepath.Base(version), filepath.Base(platform))
		dir := filepath.Join(into, registry, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err := pack(program, filepath.Join(dir, file)); err != nil {
			return err
		}
	}
	return nil
}

func pack(program, archive string) error {
	out, err := os.Create(archive)
	if err != nil {
		return err
	}
	defer out.Close()
	in, err := os.Open(program)
	if err != nil {
		return err
	}
	defer in.Close()
	z := zip.NewWriter(out)
	header := &zip.FileHeader{Name: filepath.Base(program), Method: zip.Store}
	header.SetMode(0o755)
	w, err := z.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, in); err != nil {
		return err
	}
	return z.Close()
}
