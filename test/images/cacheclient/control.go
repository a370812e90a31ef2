// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"strconv"
)

// control lets tests ask, through the API server:
//
//	/report        what was counted and seen since the last reset
//	/reset         count from zero; the answer is the report up to then
//	/fill?items=N  store the items up to N, and read them from now on
//	/count         read all items now, and tell how many of them each node has
//	/end?node=I    tell a node to end, which it does if it runs with -A
func (l *load) control() http.Handler {
	mux := http.NewServeMux()
	handle := func(path string, answer func(*http.Request) (any, error)) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			result, err := answer(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			if err := json.NewEncoder(w).Encode(result); err != nil {
				log.Print(err)
			}
		})
	}
	handle("/report", func(*http.Request) (any, error) { return l.read(), nil })
	handle("/reset", func(*http.Request) (any, error) { return l.reset(), nil })
	handle("/count", func(*http.Request) (any, error) { return l.count(l.wanted()) })
	handle("/fill", func(r *http.Request) (any, error) {
		items, err := strconv.Atoi(r.URL.Query().Get("items"))
		if err != nil {
			return nil, err
		}
		if err := l.fill(0, items); err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.items = items
		return items, nil
	})
	handle("/end", func(r *http.Request) (any, error) {
		node, err := strconv.Atoi(r.URL.Query().Get("node"))
		if err != nil || node < 0 || node >= len(l.nodes) {
			return nil, fmt.Errorf("there is no node %q", r.URL.Query().Get("node"))
		}
		c, err := l.dial(l.nodes[node].name, ioPatience)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		_, err = fmt.Fprint(c, "shutdown\r\n")
		return node, err
	})
	return mux
}
