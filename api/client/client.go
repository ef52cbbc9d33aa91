// Package client asks a server of Assize over its native API. It holds a token and
// never shows it; it decides nothing.
package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/assize-iac/assize/api"
	v1 "github.com/assize-iac/assize/api/v1"
	"github.com/assize-iac/assize/internal/binding"
	"github.com/assize-iac/assize/internal/problem"
)

// A Client asks one server with one token.
type Client struct {
	base  *url.URL
	token func() string // a function, so that no %v shows the token
	http  *http.Client
}

// A Server says which server to ask, and how to know that it is the one.
type Server struct {
	URL   string // such as https://assize.example.com
	Token string
	CA    string // file with certificates to trust beside those of the system; "" for none
	Agent string // what the client calls itself
}

// Address is the URL of a server in the one form in which it is kept and compared:
// scheme, host, and a port that is not the usual one. A token is not sent in clear
// but to the machine itself.
func Address(text string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return "", problem.New(api.Invalid, "this is no address of a server").WithHint("it looks like https://assize.example.com or https://localhost:8443")
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	switch {
	case u.Scheme == "https" && port == "443", u.Scheme == "http" && port == "80":
		port = ""
	case u.Scheme == "http" && !local(host), u.Scheme != "https" && u.Scheme != "http":
		return "", problem.New(api.Invalid, "%s would get the token in clear", host).WithHint("use https://%s", u.Host)
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" {
		host += ":" + port
	}
	return u.Scheme + "://" + host, nil
}

// local reports whether a host is this machine, by any name that cannot be another.
func local(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// New is a client of a server. It asks the server nothing yet.
func New(s Server) (*Client, error) {
	address, err := Address(s.URL)
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if transport.TLSClientConfig, err = trust(s.CA); err != nil {
		return nil, err
	}
	transport.ResponseHeaderTimeout = 2 * time.Minute // a large state is checked before the answer
	return &Client{base: base, token: func() string { return s.Token }, http: &http.Client{
		Transport: agent{name: s.Agent, next: transport},
		// A redirect is never followed: whoever answers with one is not the server,
		// and would get the token.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// trust is what certificates are believed: those of the system, and those of a file.
func trust(file string) (*tls.Config, error) {
	if file == "" {
		return &tls.Config{}, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, problem.New(api.Invalid, "the certificates of the server cannot be read: %w", err).
			WithHint("ASSIZE_CA names a file, such as ca.pem in the data directory of the server")
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, problem.New(api.Invalid, "%s holds no certificate", file).
			WithHint("ASSIZE_CA names a PEM file, such as ca.pem in the data directory of the server")
	}
	return &tls.Config{RootCAs: pool}, nil
}

// An agent says who asks.
type agent struct {
	name string
	next http.RoundTripper
}

func (a agent) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.name != "" {
		r.Header.Set("User-Agent", a.name)
	}
	return a.next.RoundTrip(r)
}

// Address is the server that is asked.
func (c *Client) Address() string { return c.base.String() }

// documentMax is the size of an answer that is a document, in bytes.
const documentMax = 64 << 20

// Ask sends a request and reads the answer into out, which is nil for an answer
// without a document.
func (c *Client) Ask(ctx context.Context, in binding.Request, out any) error {
	body, err := c.Open(ctx, in)
	if err != nil {
		return err
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, documentMax))
	if err != nil {
		return c.unreachable(err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return problem.New(api.Unavailable, "what %s answers is not what a server of Assize does", c.base.Host).WithHint("is it the right address?")
	}
	return nil
}

// A Download is an answer that is bytes. A Read that ends before the answer does is
// an error, so that nobody takes a part for the whole.
type Download struct {
	io.ReadCloser
	Header http.Header
	Size   int64 // -1: not known
}

// Open sends a request whose answer is bytes. Close the answer.
func (c *Client) Open(ctx context.Context, in binding.Request) (Download, error) {
	sent, err := binding.Encode(in)
	if err != nil {
		return Download{}, err
	}
	r, err := http.NewRequestWithContext(ctx, sent.Method, c.base.String()+sent.Target, sent.Body)
	if err != nil {
		return Download{}, problem.New(api.Invalid, "the request cannot be made: a name in it holds something that no URL can")
	}
	if size, ok := size(sent.Body); ok {
		r.ContentLength = size
	}
	if sent.Type != "" {
		r.Header.Set("Content-Type", sent.Type)
	}
	if token := c.token(); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.http.Do(r)
	if err != nil {
		return Download{}, c.unreachable(err)
	}
	if res.StatusCode >= 300 {
		defer res.Body.Close()
		return Download{}, c.failure(res)
	}
	return Download{ReadCloser: res.Body, Header: res.Header, Size: res.ContentLength}, nil
}

// size is how many bytes a file has that is sent from its beginning: a server that
// is told can say no before they come.
func size(body io.Reader) (int64, bool) {
	f, ok := body.(*os.File)
	if !ok {
		return 0, false
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	at, err := f.Seek(0, io.SeekCurrent)
	return info.Size() - at, err == nil
}

// failure is what the server says went wrong. What somebody between us and it says,
// such as a proxy, is not repeated.
func (c *Client) failure(res *http.Response) error {
	var said v1.Error
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err == nil && json.Unmarshal(data, &said) == nil && said.Code != "" {
		return &problem.Error{Code: said.Code, Message: said.Message, Hint: said.Hint}
	}
	code := api.Unavailable
	if res.StatusCode < 500 {
		code = api.Invalid
	}
	return problem.New(code, "%s answers %d, and not as a server of Assize does", c.base.Host, res.StatusCode).
		WithHint("is it the right address, and does nothing stand in between?")
}

// unreachable is a connection that could not be made, or that broke.
func (c *Client) unreachable(err error) error {
	if errors.Is(err, context.Canceled) {
		return problem.New(api.Limited, "it was interrupted before %s had answered", c.base.Host)
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err // without the URL
	}
	p := problem.New(api.Unavailable, "%s cannot be reached: %w", c.base.Host, err)
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return p.WithHint("if it is your own server: export ASSIZE_CA=DIR/ca.pem, with its data directory as DIR")
	}
	return p.WithHint("is the server running, and is it the right address? ASSIZE_SERVER_URL or `assize login` says which")
}

// All are the items of a list, asked for page by page as they are needed. of is the
// request for one page. Ranging over it ends with the first error.
func All[T any](ctx context.Context, c *Client, of func(v1.Paging) binding.Request) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		paging := v1.Paging{Limit: 200}
		for {
			var page v1.Page[T]
			if err := c.Ask(ctx, of(paging), &page); err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			paging.Cursor = page.Next
		}
	}
}
