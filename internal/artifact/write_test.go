package artifact

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/assize-iac/assize/api"
	"github.com/assize-iac/assize/internal/artifact/s3"
	"github.com/assize-iac/assize/internal/problem"
)

// These variables make this program a process that writes to a tree until it is
// killed, or until no file may get any longer, or one that speaks S3.
const (
	server  = "SERVE_S3"
	writer  = "WRITE_ARTIFACTS_TO"
	limited = "WRITE_LIMITED_TO"
)

var writerKey = keyPrefix + strings.Repeat("A", 43)

func TestMain(m *testing.M) {
	if dir := os.Getenv(writer); dir != "" {
		writeUntilKilled(dir)
	}
	if dir := os.Getenv(limited); dir != "" {
		fmt.Println(writeLimited(dir))
		return
	}
	if os.Getenv(server) != "" {
		serveS3()
	}
	os.Exit(m.Run())
}

// writeUntilKilled prints the name of each artifact that it has been told is kept.
func writeUntilKilled(dir string) {
	keys, err := ParseRing(writerKey)
	if err != nil {
		panic(err)
	}
	s, err := CreateTree(dir, keys)
	if err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		data := strings.Repeat(fmt.Sprint(os.Getpid(), " ", i, "\n"), 1+i%7*30_000)
		name, _, err := s.Add(context.Background(), "state", "stk_1", strings.NewReader(data))
		if err != nil {
			panic(err)
		}
		fmt.Println(name.Digest)
	}
}

// TestKilled: what a writer was told is kept can be read after it was killed, and
// nothing that is half there.
func TestKilled(t *testing.T) {
	s := tree(t, ring(t, writerKey))
	told := 0
	for range 8 {
		for _, digest := range killedWriter(t, s.dir) {
			told++
			if _, err := get(t, s, Name{Kind: "state", Owner: "stk_1", Digest: digest}); err != nil {
				t.Error(err)
			}
		}
	}
	v, err := s.Verify(t.Context(), func(err error) { t.Error(err) })
	if err != nil || !v.Whole() || v.Artifacts < told || told == 0 {
		t.Errorf("%+v, %v; %d writes were acknowledged", v, err, told)
	}
	// A day later, what is half there is swept, and only that.
	later := time.Now().Add(24 * time.Hour)
	everybody := func(context.Context, Name) (bool, error) { return true, nil }
	if _, err := s.Sweep(t.Context(), later, 2*time.Hour, everybody); err != nil {
		t.Fatal(err)
	}
	after, err := s.Verify(t.Context(), func(err error) { t.Error(err) })
	if err != nil || after.Artifacts != v.Artifacts || after.Litter != 0 || slices.ContainsFunc(keys(t, s), unfinished.MatchString) {
		t.Errorf("%+v, %v; there were %d artifacts, and now there is %q", after, err, v.Artifacts, keys(t, s))
	}
}

func killedWriter(t *testing.T, dir string) (told []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writer+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	time.AfterFunc(100*time.Millisecond+rand.N(100*time.Millisecond), func() { cmd.Process.Kill() })
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // a line that was cut short acknowledges nothing
		}
		told = append(told, strings.TrimSpace(line))
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the writer was not killed: %v", err)
	}
	return told
}

// TestFullDisk limits how long a file may get, which fails a write in its midst
// as a full disk does.
func TestFullDisk(t *testing.T) {
	s := tree(t, ring(t, writerKey))
	before := put(t, s, "before")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), limited+"="+s.dir)
	out, err := cmd.Output()
	if err != nil || string(out) != "unavailable, file too large: true, told where: false\n" {
		t.Errorf("%q, %v", out, err)
	}
	if got := keys(t, s); len(got) != 2 {
		t.Errorf("left behind: %q", got)
	}
	if got, err := get(t, s, before); err != nil || got != "before" {
		t.Errorf("%q, %v", got, err)
	}
}

// writeLimited says how a write ends that the disk has not the room for.
func writeLimited(dir string) string {
	signal.Ignore(syscall.SIGXFSZ)
	err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 3 << 19, Max: 3 << 19})
	if err != nil {
		return err.Error()
	}
	keys, err := ParseRing(writerKey)
	if err != nil {
		return err.Error()
	}
	s, err := OpenTree(dir, keys)
	if err != nil {
		return err.Error()
	}
	big := string(content(3 << 20))
	_, err = s.Put(context.Background(), state(big), strings.NewReader(big))
	return fmt.Sprintf("%s, file too large: %t, told where: %t", problem.Code(err), errors.Is(err, syscall.EFBIG), strings.Contains(err.Error(), dir))
}

// TestLargeArtifact: 300 MB in and out, and no more memory than some segments.
func TestLargeArtifact(t *testing.T) {
	start := time.Now()
	large(t, tree(t, ring(t, NewKey())), 300<<20, 32<<20)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestLargeArtifactInBucket has the server in another process, because that one
// keeps all of it in memory.
func TestLargeArtifactInBucket(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), server+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	b, err := s3.Open(t.Context(), s3.Place{Bucket: "assize", Region: "nowhere", Endpoint: strings.TrimSpace(url)})
	if err != nil {
		t.Fatal(err)
	}
	s := New(b, ring(t, NewKey()))
	defer s.Close()
	large(t, s, 128<<20, 96<<20)
}

func serveS3() {
	memory := s3mem.New()
	if err := memory.CreateBucket("assize"); err != nil {
		panic(err)
	}
	fmt.Println(httptest.NewServer(gofakes3.New(memory).Server()).URL)
	select {}
}

// large keeps and reads size bytes in at most budget bytes of memory.
func large(t *testing.T, s *Store, size int64, budget uint64) {
	t.Helper()
	peak := watchMemory(t)
	name, n, err := s.Add(t.Context(), "state", "stk_1", io.LimitReader(&endless{}, size))
	if err != nil || n != size {
		t.Fatalf("%d, %v", n, err)
	}
	r, err := s.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, err := io.Copy(io.Discard, r); err != nil || n != size {
		t.Fatalf("%d, %v", n, err)
	}
	if got := peak(); got > budget {
		t.Errorf("took %d MB of memory, want at most %d", got>>20, budget>>20)
	}
}

// endless counts: no two megabytes of it are the same.
type endless struct{ n int }

var line = bytes.Repeat([]byte("a state of many resources, "), 40)

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, line)
	e.n++
	copy(p, fmt.Sprint(e.n))
	return n, nil
}

// watchMemory returns what says how much the memory of this process has grown
// at most, garbage included.
func watchMemory(t *testing.T) func() uint64 {
	t.Helper()
	used := func() uint64 {
		m := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		metrics.Read(m)
		return m[0].Value.Uint64() - m[1].Value.Uint64()
	}
	debug.FreeOSMemory() // what earlier tests have left would hide ours
	base, peak := used(), uint64(0)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
				peak = max(peak, used())
			}
		}
	}()
	return func() uint64 {
		close(done)
		<-stopped
		t.Logf("%d MB at first, %d MB at most", base>>20, peak>>20)
		return peak - min(peak, base)
	}
}

// TestTreeGone: where a tree has gone, such as with the disk that was mounted there, no
// other one takes its place unseen: what was kept in that would be gone when the disk
// is back.
func TestTreeGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/artifacts"
	keys, err := ParseRing(writerKey)
	if err != nil {
		t.Fatal(err)
	}
	s, err := CreateTree(dir, keys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	keep := func() error {
		_, _, err := s.Add(t.Context(), "state", "stk_1", strings.NewReader("kept"))
		return err
	}
	if err := keep(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+"-unmounted"); err != nil {
		t.Fatal(err)
	}
	if err := keep(); problem.Code(err) != api.Unavailable {
		t.Errorf("without its directory: %v", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := keep(); problem.Code(err) != api.Unavailable {
		t.Errorf("in another directory: %v", err)
	}
	if err := os.Remove(dir); err != nil {
		t.Errorf("something was kept in another directory: %v", err)
	}
	if err := os.Rename(dir+"-unmounted", dir); err != nil {
		t.Fatal(err)
	}
	if err := keep(); err != nil {
		t.Errorf("once it is back: %v", err)
	}
}
