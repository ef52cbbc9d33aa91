package gate_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/gowebpki/jcs"
)

// canonicalDigest is what docs/warrant.md, rules 2 and 16, says a seal is.
func canonicalDigest(t testing.TB, body []byte) string {
	t.Helper()
	canonical, err := jcs.Transform(body)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(canonical)
	return "sha256:" + hex.EncodeToString(sum[:])
}
