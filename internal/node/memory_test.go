// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// conversing is a node that answers each command by a function, one client at a time.
func conversing(t *testing.T, answer func(command string) string) *Conn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for in := bufio.NewScanner(conn); in.Scan(); {
			if _, err := io.WriteString(conn, answer(in.Text())); err != nil {
				return
			}
		}
	}()
	return connect(t, &Client{Address: listener.Addr().String()})
}

// slabs is a memcached as far as its memory goes: classes with pages of a mebibyte.
type slabs struct {
	mu       sync.Mutex
	limit    int64
	pages    map[int]int64
	pool     int64 // pages that belong to no class
	busy     int   // how many times it is busy before it moves a page
	reassign string
	commands []string // without those that ask for statistics
}

func (s *slabs) answer(command string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.HasPrefix(command, "stats") {
		s.commands = append(s.commands, command)
	}
	switch words := strings.Fields(command); words[0] {
	case "stats":
		if len(words) == 1 {
			return fmt.Sprintf("STAT limit_maxbytes %d\r\nSTAT cmd_get 10\r\nSTAT get_hits 7\r\nEND\r\n", s.limit<<20)
		}
		all, text := s.pool, ""
		for class, n := range s.pages {
			all += n
			text += fmt.Sprintf("STAT %d:chunk_size 96\r\nSTAT %d:total_pages %d\r\n", class, class, n)
		}
		return text + fmt.Sprintf("STAT active_slabs %d\r\nSTAT total_malloced %d\r\nEND\r\n", len(s.pages), all<<20)
	case "cache_memlimit":
		fmt.Sscan(words[1], &s.limit) //nolint:errcheck // it is a number, or the test fails
		return "OK\r\n"
	case "slabs":
		return s.move(words[2])
	default:
		return "ERROR\r\n"
	}
}

// move frees a page if there is more than the limit, and keeps it in the pool otherwise.
func (s *slabs) move(from string) string {
	if s.reassign != "" {
		return s.reassign
	}
	if s.busy > 0 {
		s.busy--
		return "BUSY currently processing reassign request\r\n"
	}
	var class int
	fmt.Sscan(from, &class) //nolint:errcheck // it is a number, or the test fails
	if s.pages[class] < 2 {
		return "NOSPARE source class has no spare pages\r\n"
	}
	s.pages[class]--
	all := s.pool + 1
	for _, n := range s.pages {
		all += n
	}
	if all <= s.limit {
		s.pool++
	}
	return "OK\r\n"
}

func TestMemory(t *testing.T) {
	const general, classes = "STAT limit_maxbytes 67108864\r\nEND\r\n", "STAT 1:total_pages 2\r\nSTAT total_malloced 2097152\r\nEND\r\n"
	for _, test := range []struct {
		name    string
		answers []string
		want    Memory
		fails   bool
	}{
		{name: "both", answers: []string{general, classes}, want: Memory{Limit: 64 << 20, Allocated: 2 << 20}},
		{name: "no limit", answers: []string{"END\r\n", classes}, fails: true},
		{name: "no pages", answers: []string{general, "END\r\n"}, fails: true},
		{name: "no number", answers: []string{"STAT limit_maxbytes 64m\r\nEND\r\n", classes}, fails: true},
		{name: "too large a number", answers: []string{"STAT limit_maxbytes 99999999999999999999\r\nEND\r\n", classes}, fails: true},
		{name: "refused", answers: []string{"CLIENT_ERROR unauthenticated\r\n"}, fails: true},
		{name: "the second refused", answers: []string{general, "ERROR\r\n"}, fails: true},
		{name: "no memcached", answers: []string{"HTTP/1.1 400 Bad Request\r\nEND\r\n"}, fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn := connect(t, &Client{Address: answering(t, plain, test.answers...)})
			got, err := conn.Memory(t.Context())
			if test.fails != (err != nil) || err == nil && got != test.want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestReads(t *testing.T) {
	for _, test := range []struct {
		name, answer string
		want         Reads
		fails        bool
	}{
		{name: "both", answer: "STAT cmd_get 10\r\nSTAT get_hits 7\r\nSTAT get_misses 3\r\nEND\r\n", want: Reads{Gets: 10, Hits: 7}},
		{name: "none yet", answer: "STAT cmd_get 0\r\nSTAT get_hits 0\r\nEND\r\n"},
		{name: "no reads", answer: "STAT get_hits 7\r\nEND\r\n", fails: true},
		{name: "no hits", answer: "STAT cmd_get 7\r\nEND\r\n", fails: true},
		{name: "no number", answer: "STAT cmd_get many\r\nSTAT get_hits 7\r\nEND\r\n", fails: true},
		{name: "refused", answer: "ERROR\r\n", fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn := connect(t, &Client{Address: answering(t, plain, test.answer)})
			got, err := conn.Reads(t.Context())
			if test.fails != (err != nil) || err == nil && got != test.want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// Commands that are answered by one word succeed with OK, and with nothing else.
func TestOrders(t *testing.T) {
	orders := map[string]func(context.Context, *Conn) error{
		"cache_memlimit 96": func(ctx context.Context, conn *Conn) error { return conn.SetMemoryLimit(ctx, 96) },
		"flush_all":         func(ctx context.Context, conn *Conn) error { return conn.Flush(ctx) },
	}
	for command, order := range orders {
		for _, answer := range []string{"OK\r\n", "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n", "ERROR\r\n", "\r\n", "OKAY\r\n"} {
			t.Run(command+" "+strings.TrimSpace(answer), func(t *testing.T) {
				var sent string
				err := order(t.Context(), conversing(t, func(command string) string {
					sent = command
					return answer
				}))
				var refused *ReplyError
				if ok := answer == "OK\r\n"; sent != command || ok != (err == nil) || !ok && !errors.As(err, &refused) {
					t.Errorf("%q, %v", sent, err)
				}
			})
		}
	}
}

func TestShrink(t *testing.T) {
	for _, test := range []struct {
		name string
		node *slabs
		to   int64
		want string // pages by class, and what is in the pool
	}{
		{"nothing above the limit", &slabs{limit: 64, pages: map[int]int64{1: 4, 2: 4}}, 8, "map[1:4 2:4] 0"},
		{"to the page", &slabs{limit: 64, pages: map[int]int64{1: 20}}, 19, "map[1:19] 0"},
		{"many pages", &slabs{limit: 256, pages: map[int]int64{5: 200}}, 96, "map[5:96] 0"},
		{"the class with most pages gives", &slabs{limit: 64, pages: map[int]int64{1: 5, 7: 50, 30: 5}}, 20, "map[1:5 7:10 30:5] 0"},
		{"then the next one", &slabs{limit: 64, pages: map[int]int64{1: 30, 2: 20}}, 8, "map[1:4 2:4] 0"},
		{"a busy node", &slabs{limit: 64, pages: map[int]int64{1: 20}, busy: 3}, 18, "map[1:18] 0"},
		{"the last page of a class is not to be had", &slabs{limit: 64, pages: map[int]int64{1: 1, 2: 1, 3: 1}}, 2, "map[1:1 2:1 3:1] 0"},
		{"no class", &slabs{limit: 64, pages: map[int]int64{}, pool: 20}, 8, "map[] 20"},
	} {
		t.Run(test.name, func(t *testing.T) {
			node := test.node
			if err := conversing(t, node.answer).Shrink(t.Context(), test.to); err != nil {
				t.Fatal(err)
			}
			node.mu.Lock()
			defer node.mu.Unlock()
			if got := fmt.Sprint(node.pages, node.pool); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			if node.limit != test.to || node.commands[0] != fmt.Sprintf("cache_memlimit %d", test.to) {
				t.Errorf("limit %d, commands %q", node.limit, node.commands[:1])
			}
			for _, command := range node.commands[1:] {
				if !strings.HasPrefix(command, "slabs reassign ") || !strings.HasSuffix(command, " 0") {
					t.Errorf("%q", command)
				}
			}
		})
	}
}

// What is not finished is not lost: the next call goes on with what is left.
func TestShrinkGoesOn(t *testing.T) {
	node := &slabs{limit: 64, pages: map[int]int64{1: 40}, busy: 1 << 30}
	conn := conversing(t, node.answer)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if err := conn.Shrink(ctx, 16); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	node.mu.Lock()
	node.busy = 0
	commands := slices.Clone(node.commands)
	node.mu.Unlock()
	// A busy node is given time between two attempts.
	if len(commands) < 2 || len(commands) > 50 {
		t.Errorf("%d commands in 50 ms", len(commands))
	}
	again := conversing(t, node.answer)
	if err := again.Shrink(t.Context(), 16); err != nil || node.pages[1] != 16 {
		t.Errorf("%v, %v", node.pages, err)
	}
}

// No answer makes it go on for ever, or believe that it is done.
func TestShrinkOfAHostileNode(t *testing.T) {
	for _, test := range []struct {
		name, reassign string
		pages          map[int]int64
		refuses        bool
	}{
		{"nothing to spare", "NOSPARE source class has no spare pages\r\n", map[int]int64{1: 40}, false},
		{"always done, and nothing changes", "OK\r\n", map[int]int64{1: 40}, false},
		{"class 0", "SAME src and dst class are identical\r\n", map[int]int64{0: 40}, false},
		{"a negative class", "BADCLASS invalid src or dst class id\r\n", map[int]int64{-1: 40}, false},
		{"refused", "CLIENT_ERROR slab reassignment disabled\r\n", map[int]int64{1: 40}, true},
		{"nonsense", "MAYBE\r\n", map[int]int64{1: 40}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			node := &slabs{limit: 64, pages: test.pages, reassign: test.reassign}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err := conversing(t, node.answer).Shrink(ctx, 16)
			var refused *ReplyError
			if test.refuses != errors.As(err, &refused) || !test.refuses && !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	}
	for name, answer := range map[string]string{
		"no total":    "STAT 1:total_pages 40\r\nEND\r\n",
		"no number":   "STAT total_malloced x\r\nEND\r\n",
		"no memcache": "hello\r\nEND\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn := conversing(t, func(command string) string {
				if strings.HasPrefix(command, "stats") {
					return answer
				}
				return "OK\r\n"
			})
			if err := conn.Shrink(t.Context(), 16); err == nil {
				t.Error("it believes to be done")
			}
		})
	}
	t.Run("the limit is refused", func(t *testing.T) {
		conn := conversing(t, func(string) string { return "ERROR\r\n" })
		if err := conn.Shrink(t.Context(), 16); err == nil {
			t.Error("it believes to be done")
		}
	})
}

func TestFattest(t *testing.T) {
	for _, test := range []struct {
		name         string
		slabs        map[string]string
		class, pages int
	}{
		{"none", nil, 0, 0},
		{"one", map[string]string{"3:total_pages": "2"}, 3, 2},
		{"most", map[string]string{"1:total_pages": "2", "2:total_pages": "9", "10:total_pages": "8"}, 2, 9},
		{"the lower one of two", map[string]string{"9:total_pages": "2", "4:total_pages": "2", "5:total_pages": "2"}, 4, 2},
		{"other statistics", map[string]string{"1:total_chunks": "900", "total_pages": "900", "active_slabs": "900", "2:total_pages": "1"}, 2, 1},
		{"nonsense", map[string]string{"x:total_pages": "9", "1:total_pages": "many", ":total_pages": "9", "2:total_pages": "1", "3:total_pages": "-5"}, 2, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			if class, pages := fattest(test.slabs); class != test.class || pages != test.pages {
				t.Errorf("class %d with %d, want %d with %d", class, pages, test.class, test.pages)
			}
		})
	}
}
