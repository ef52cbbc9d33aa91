package postgrestest

import (
	"net"
	"net/url"
	"path/filepath"
	"testing"
)

// Between is the way to a database with something in between: relay passes on what a
// client and the database say, as far as it likes, and both connections end with it.
// The address is one of [URL].
func Between(t testing.TB, address string, relay func(client, database net.Conn)) string {
	t.Helper()
	way, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	const socket = ".s.PGSQL.5432"
	query, dir := way.Query(), t.TempDir()
	target := filepath.Join(query.Get("host"), socket)
	listener, err := net.Listen("unix", filepath.Join(dir, socket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				database, err := net.Dial("unix", target)
				if err != nil {
					return
				}
				defer database.Close()
				relay(client, database)
			}()
		}
	}()
	query.Set("host", dir)
	way.RawQuery = query.Encode()
	return way.String()
}
