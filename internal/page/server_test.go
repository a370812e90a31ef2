// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// start runs a server on free ports until the test ends, or stop is called. It returns
// what Serve returns.
func start(t *testing.T, v *volume) (server *Server, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	server, err := Listen(ctx, Options{Content: v.dir, Listen: []int{0, 0}}, slog.New(slog.NewTextHandler(v.log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	stop = func() error {
		cancel()
		err := <-ended
		ended <- err
		return err
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return server, stop
}

func dial(t *testing.T, address net.Addr) *net.TCPConn {
	t.Helper()
	_, port, _ := net.SplitHostPort(address.String())
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if err := connection.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return connection.(*net.TCPConn)
}

// received is an answer that has been read to its end.
type received struct {
	status int
	header http.Header
	closes bool
	body   string
}

// receive reads one answer and everything up to the end of the connection.
func receive(t *testing.T, connection net.Conn, method string) received {
	t.Helper()
	reader := bufio.NewReader(connection)
	answer, err := http.ReadResponse(reader, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
		t.Errorf("the connection does not end after the answer: %q, %v", rest, err)
	}
	return received{answer.StatusCode, answer.Header, answer.Close, string(body)}
}

func TestEveryRequestIsAnsweredWith503(t *testing.T) {
	server, _ := start(t, newVolume(t))
	for _, line := range []string{
		"GET / HTTP/1.1", "GET /healthz HTTP/1.1", "GET /readyz HTTP/1.1", "GET /favicon.ico HTTP/1.1", "GET /robots.txt HTTP/1.1",
		"GET //double//slashes/../and/%2e%2e/dots?q=%zz;x HTTP/1.1", "GET /a/../../b HTTP/1.1", "GET /%00%ff HTTP/1.1",
		"GET http://other.example/absolute HTTP/1.1", "GET / HTTP/1.0",
		"HEAD /x HTTP/1.1", "POST /x HTTP/1.1", "PUT /x HTTP/1.1", "PATCH /x HTTP/1.1", "DELETE /x HTTP/1.1",
		"OPTIONS /x HTTP/1.1", "OPTIONS * HTTP/1.1", "TRACE /x HTTP/1.1", "CONNECT other.example:443 HTTP/1.1",
		"PROPFIND /x HTTP/1.1", "PURGE /x HTTP/1.1", "ANYTHING /x HTTP/1.1",
	} {
		for _, address := range server.PageAddrs() {
			connection := dial(t, address)
			// The connection ends although the client would keep it.
			fmt.Fprintf(connection, "%s\r\nHost: app.example\r\nConnection: keep-alive\r\n\r\n", line)
			method, _, _ := strings.Cut(line, " ")
			answer := receive(t, connection, method)
			if answer.status != http.StatusServiceUnavailable {
				t.Errorf("%s: %d", line, answer.status)
			}
			for name, want := range map[string]string{
				"Retry-After": "300", "Cache-Control": "no-store", "Vary": "Accept, Accept-Language", "Content-Language": "en",
				"X-Content-Type-Options": "nosniff", "Content-Type": "text/plain; charset=utf-8", MarkerHeader: MarkerValue,
			} {
				if got := answer.header.Get(name); got != want {
					t.Errorf("%s: %s is %q, not %q", line, name, got, want)
				}
			}
			if !answer.closes && method != "CONNECT" {
				t.Errorf("%s: no Connection: close", line)
			}
			if (answer.body == "") != (method == http.MethodHead) {
				t.Errorf("%s: body %q", line, answer.body)
			}
		}
	}
}

func TestHealth(t *testing.T) {
	server, _ := start(t, newVolume(t))
	for path, want := range map[string]int{HealthzPath: 200, ReadyzPath: 200, "/": 404} {
		connection := dial(t, server.HealthAddr())
		fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path)
		if answer := receive(t, connection, http.MethodGet); answer.status != want {
			t.Errorf("%s: %d", path, answer.status)
		}
	}
}

// A simple client sends all before it reads anything. It must not be reset.
func TestSentBodyIsNoReset(t *testing.T) {
	server, _ := start(t, newVolume(t))
	body := bytes.Repeat([]byte("x"), 4<<20)
	for name, head := range map[string]string{
		"with a length": "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n",
		"in chunks":     "Transfer-Encoding: chunked\r\n\r\n" + strconv.FormatInt(int64(len(body)), 16) + "\r\n",
	} {
		connection := dial(t, server.PageAddrs()[0])
		fmt.Fprintf(connection, "POST /upload HTTP/1.1\r\nHost: app.example\r\n%s", head)
		if _, err := connection.Write(body); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if name == "in chunks" {
			fmt.Fprint(connection, "\r\n0\r\n\r\n")
		}
		if answer := receive(t, connection, http.MethodPost); answer.status != 503 || answer.body == "" {
			t.Errorf("%s: %d %q", name, answer.status, answer.body)
		}
	}
}

// A client that asks before it sends is told at once, and never sends.
func TestExpectContinue(t *testing.T) {
	server, _ := start(t, newVolume(t))
	connection := dial(t, server.PageAddrs()[0])
	fmt.Fprint(connection, "PUT /upload HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(connection), &http.Request{Method: http.MethodPut})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%s", answer.Status)
	}
}

func TestHeadersAreBounded(t *testing.T) {
	server, _ := start(t, newVolume(t))
	for size, want := range map[int]int{32 << 10: 503, 128 << 10: 431} {
		connection := dial(t, server.PageAddrs()[0])
		// The server may close before all is sent.
		_, _ = fmt.Fprintf(connection, "GET / HTTP/1.1\r\nHost: x\r\nCookie: %s\r\n\r\n", strings.Repeat("c", size))
		answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%d bytes: %s", size, answer.Status)
		}
	}
}

// A request that has begun is answered although the server ends meanwhile.
func TestEndsWhenRequestsAreDone(t *testing.T) {
	v := newVolume(t)
	server, stop := start(t, v)
	connection := dial(t, server.PageAddrs()[0])
	fmt.Fprint(connection, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")
	reader := bufio.NewReader(connection)
	answer, err := http.ReadResponse(reader, &http.Request{Method: http.MethodPost})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()

	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	// It takes no new connections once it has begun to end.
	_, port, _ := net.SplitHostPort(server.PageAddrs()[1].String())
	for {
		probe, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			break
		}
		_ = probe.Close()
	}
	select {
	case err := <-ended:
		t.Fatalf("it ended while a request was being sent: %v", err)
	default:
	}
	fmt.Fprint(connection, "cde")
	if _, err := io.ReadAll(answer.Body); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestPortThatIsTaken(t *testing.T) {
	server, _ := start(t, newVolume(t))
	_, text, _ := net.SplitHostPort(server.PageAddrs()[0].String())
	port, _ := strconv.Atoi(text)
	_, err := Listen(t.Context(), Options{Listen: []int{0, port}}, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("not what to do: %v", err)
	}
}
