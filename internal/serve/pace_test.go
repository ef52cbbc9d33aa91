package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// quick is a pace for tests: a tenth of a second, and a second more for each KB.
func quick() pace { return pace{patience: 100 * time.Millisecond, slowest: 1 << 10} }

// TestSlowClients: who sends nothing, or almost nothing, is let go in a short time;
// who sends steadily may take much longer; who does nothing after the last byte of a
// request is not what an answer must hurry for.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	type outcome struct {
		read int64
		err  error
		took time.Duration
	}
	seen := make(chan outcome, 1)
	s := httptest.NewServer(quick().limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		n, err := io.Copy(io.Discard, r.Body)
		seen <- outcome{n, err, time.Since(begin)}
		time.Sleep(3 * quick().patience) // an answer may take its time
		if err == nil && r.Context().Err() != nil {
			t.Errorf("%s: a request that had ended was cut off", r.URL)
		}
		_, _ = io.WriteString(w, "done")
	})))
	defer s.Close()
	for name, c := range map[string]struct {
		bytes, each int
		pause       time.Duration
		whole       bool
	}{
		"at once":       {bytes: 100, each: 100, whole: true},
		"nothing":       {bytes: 100, each: 0, pause: time.Second},
		"a byte a time": {bytes: 100, each: 1, pause: 20 * time.Millisecond},
		"steadily":      {bytes: 16 << 10, each: 1 << 10, pause: 40 * time.Millisecond, whole: true},
	} {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST /%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", strings.ReplaceAll(name, " ", "-"), c.bytes)
		go func() {
			for sent := 0; c.each > 0 && sent < c.bytes; sent += c.each {
				if _, err := conn.Write(make([]byte, c.each)); err != nil {
					return
				}
				time.Sleep(c.pause)
			}
		}()
		got := <-seen
		if c.whole != (got.err == nil) || !c.whole && got.took > time.Second {
			t.Errorf("%s: %d bytes and %v after %v", name, got.read, got.err, got.took)
		}
		if c.whole {
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || answer.StatusCode != 200 {
				t.Errorf("%s: %v", name, err)
			}
		}
		conn.Close()
	}
}

// TestSlowReaders: an answer that nobody takes ends.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s := httptest.NewServer(quick().limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(make([]byte, 64<<20))
		ended <- err
	})))
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case err := <-ended:
		if err == nil {
			t.Error("all of it was sent, to nobody")
		}
	case <-time.After(10 * time.Second):
		t.Error("it still waits for the reader")
	}
}

// TestUnreadBody: a handler that wants none of a body answers at once, and the
// connection of a client that sends no more of it does not stay.
func TestUnreadBody(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(quick().limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })))
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx")
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(said), "HTTP/1.1 403") {
		t.Errorf("%q %v", said, err)
	}
}

// TestSlowClientsOfHTTP2: the same holds for one of many requests on a connection, and
// the others go on.
func TestSlowClientsOfHTTP2(t *testing.T) {
	t.Parallel()
	type outcome struct {
		read int64
		err  error
	}
	seen := make(chan outcome, 1)
	s := httptest.NewUnstartedServer(quick().limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("%s", r.Proto)
		}
		time.Sleep(2 * quick().patience) // before it wants anything
		n, err := io.Copy(io.Discard, r.Body)
		time.Sleep(2 * quick().patience)
		seen <- outcome{n, err}
		_, _ = io.WriteString(w, "done")
	})))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	post := func(body io.Reader) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		return s.Client().Do(req)
	}
	res, err := post(strings.NewReader("at once"))
	if got := <-seen; err != nil || got.err != nil || got.read != 7 {
		t.Fatalf("%+v %v", got, err)
	}
	res.Body.Close()
	silent, sender := io.Pipe()
	defer sender.Close()
	ended := make(chan error, 1)
	go func() {
		res, err := post(silent)
		if err == nil {
			res.Body.Close()
		}
		ended <- err
	}()
	select {
	case got := <-seen:
		if got.err == nil {
			t.Errorf("%+v, and nothing was sent", got)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it still waits for a client that is silent")
	}
	res, err = post(strings.NewReader("another"))
	if got := <-seen; err != nil || got.err != nil {
		t.Fatalf("the connection did not live on: %+v %v", got, err)
	}
	res.Body.Close()
	sender.Close()
	<-ended
}
