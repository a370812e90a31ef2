// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package companion

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/web-operators/internal/companion/nodelist"
	"github.com/example/web-operators/internal/credentials"
	"github.com/example/web-operators/internal/golden"
)

// replay is a node that answers as a memcached 1.6.18 once did. Slab classes beyond the
// second are left out.
func replay(t *testing.T, name string) nodelist.Node {
	t.Helper()
	return listen(t, name, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			file := "testdata/" + strings.ReplaceAll(strings.TrimSpace(line), " ", "-") + ".txt"
			data, err := os.ReadFile(file)
			if err != nil {
				fmt.Fprint(conn, "ERROR\r\n")
				continue
			}
			fmt.Fprint(conn, strings.ReplaceAll(string(data), "\n", "\r\n"))
		}
	})
}

func listen(t *testing.T, name string, talk func(net.Conn)) nodelist.Node {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				talk(conn)
			}()
		}
	}()
	port := listener.Addr().(*net.TCPAddr).Port
	return nodelist.Node{Name: name, Host: name + ".c.web.svc", IP: "127.0.0.1", Port: int32(port)}
}

func scrape(t *testing.T, timeout string, nodes ...nodelist.Node) string {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	if timeout != "" {
		request.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", timeout)
	}
	w := httptest.NewRecorder()
	metricsHandler(reader(t, nodelist.List{Version: 1, Nodes: nodes}), credentials.Directories{}).ServeHTTP(w, request)
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestMetrics(t *testing.T) {
	golden.File(t, "metrics.txt", []byte(scrape(t, "", replay(t, "c-0"))))
}

// Nodes that are gone, silent or no memcached at all are down, and nobody waits longer
// for the others.
func TestNodesThatAreDown(t *testing.T) {
	silent := listen(t, "silent", func(conn net.Conn) { io.Copy(io.Discard, conn) }) //nolint:errcheck // until the client goes
	half := listen(t, "half", func(conn net.Conn) {
		fmt.Fprint(conn, "STAT uptime 1\r\n")
		io.Copy(io.Discard, conn) //nolint:errcheck // until the client goes
	})
	stranger := listen(t, "stranger", func(conn net.Conn) { fmt.Fprint(conn, "HTTP/1.1 400 Bad Request\r\n\r\n") })
	begin := time.Now()
	said := scrape(t, "0.4", replay(t, "c-0"), silent, half, stranger, nodelist.Node{Name: "gone", Host: "gone", IP: "127.0.0.1", Port: 1})
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	var up []string
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "memcached_up{") {
			up = append(up, strings.TrimSpace(line))
		}
	}
	want := []string{
		`memcached_up{node="c-0"} 1`, `memcached_up{node="gone"} 0`, `memcached_up{node="half"} 0`,
		`memcached_up{node="silent"} 0`, `memcached_up{node="stranger"} 0`,
	}
	if !slices.Equal(up, want) {
		t.Errorf("%q", up)
	}
	if !strings.Contains(said, `memcached_current_items{node="c-0"} `) || strings.Contains(said, `memcached_uptime_seconds{node="half"}`) {
		t.Error(said)
	}
}

// Whatever a node says, the metrics of the others can be read.
func TestStrangeStatistics(t *testing.T) {
	strange := listen(t, "strange", func(conn net.Conn) {
		in := bufio.NewReader(conn)
		for {
			if _, err := in.ReadString('\n'); err != nil {
				return
			}
			fmt.Fprint(conn, "STAT version \xff\"\\\r\nSTAT uptime soon\r\nSTAT curr_items NaN\r\nSTAT items:1:number -1\r\n"+
				"STAT items:x:number 1\r\nSTAT items:999999:number 1\r\nSTAT 1:cmd_set 1\r\nSTAT lru_crawler maybe\r\nEND\r\n")
		}
	})
	said := scrape(t, "", strange, replay(t, "c-0"))
	for _, line := range []string{`memcached_up{node="strange"} 1`, `memcached_version{node="strange",version="?\"\\"} 1`, `memcached_slab_current_items{node="strange",slab="1"} -1`} {
		if !strings.Contains(said, line+"\n") {
			t.Errorf("%s is missing in\n%s", line, said)
		}
	}
	for _, line := range []string{`memcached_uptime_seconds{node="strange"}`, `slab="999999"`, `slab="x"`} {
		if strings.Contains(said, line) {
			t.Errorf("%s is in\n%s", line, said)
		}
	}
}

func TestScrapesAreLimited(t *testing.T) {
	asked, release := make(chan struct{}, 10), make(chan struct{})
	slow := listen(t, "slow", func(net.Conn) {
		asked <- struct{}{}
		<-release
	})
	handler := metricsHandler(reader(t, nodelist.List{Version: 1, Nodes: []nodelist.Node{slow}}), credentials.Directories{})
	get := func() int {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
		return w.Code
	}
	done := make(chan int)
	for range maxScrapes {
		go func() { done <- get() }()
	}
	for range maxScrapes {
		<-asked
	}
	if code := get(); code != http.StatusServiceUnavailable {
		t.Errorf("one more scrape: %d", code)
	}
	close(release)
	for range maxScrapes {
		if code := <-done; code != http.StatusOK {
			t.Errorf("a scrape: %d", code)
		}
	}
	if code := get(); code != http.StatusOK {
		t.Errorf("afterwards: %d", code)
	}
}
