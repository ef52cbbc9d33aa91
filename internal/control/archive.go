package control

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"io"
	"path"
	"path/filepath"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact"
	"github.com/assize-iac/assize/internal/problem"
)

// The most that an archive may hold.
const (
	entriesMax  = 20_000
	unpackedMax = 512 << 20
)

// checkArchive refuses an archive that does harm where it is unpacked.
func (c *Control) checkArchive(ctx context.Context, name artifact.Name) error {
	r, err := c.artifacts.Open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close()
	return readArchive(r)
}

// readArchive reads a tar.gz to its end: every file is below the root, and so is
// what every link leads to; nothing else is in it, and not too much of it.
func readArchive(r io.Reader) error {
	plain, err := gzip.NewReader(r)
	if err != nil {
		return badArchive("it is not compressed with gzip")
	}
	unpacked := &limit{from: plain, left: unpackedMax, over: badArchive("it is too large when it is unpacked")}
	files := tar.NewReader(unpacked)
	for n := 0; ; n++ {
		h, err := files.Next()
		switch {
		case err == io.EOF:
			if _, err := io.Copy(io.Discard, unpacked); err != nil {
				return badArchive("it is damaged at its end, or unpacked too large")
			}
			return nil
		case err != nil:
			return badArchive("it is cut short, damaged, or unpacked too large")
		case n >= entriesMax:
			return badArchive("it holds too many files")
		}
		if err := checkEntry(h); err != nil {
			return err
		}
	}
}

func checkEntry(h *tar.Header) error {
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeReg, tar.TypeDir:
	case tar.TypeSymlink:
		if path.IsAbs(h.Linkname) || !filepath.IsLocal(path.Join(path.Dir(h.Name), h.Linkname)) {
			return badArchive("a link in it leads out of it")
		}
	default:
		return badArchive("it holds something else than files, directories and symbolic links")
	}
	if path.IsAbs(h.Name) || !filepath.IsLocal(h.Name) {
		return badArchive("a name in it leads out of it")
	}
	return nil
}

// badArchive does not repeat a name: it may be of any length and hold anything.
func badArchive(why string) *problem.Error {
	return problem.New(api.Invalid, "this is no archive that can be kept: %s", why).
		WithHint("send a tar.gz of a directory: at most %d files, unpacked at most %d MiB", entriesMax, unpackedMax>>20)
}
