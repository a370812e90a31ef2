// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// farewell is how long visitors that keep a connection open are told with an answer
	// that it ends. To close it without a word would break the request that is on its
	// way at that moment.
	farewell = time.Second
	// endPatience is for the requests that are held at the end.
	endPatience = 10 * time.Second
	// maxWait bounds what a request can ask for.
	maxWait = 5 * time.Second

	headerPatience = 30 * time.Second
	idlePatience   = time.Minute
)

// A site is what visitors see, on port 8080.
type site struct {
	text     string
	server   *http.Server
	listener net.Listener
	leaving  atomic.Bool
}

func open(text string) (*site, error) {
	listener, err := net.Listen("tcp", ":8080")
	if err != nil {
		return nil, err
	}
	s := &site{text: text, listener: listener}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: headerPatience, IdleTimeout: idlePatience}
	go func() {
		if err := s.server.Serve(listener); !s.leaving.Load() {
			log.Fatal(err)
		}
	}()
	return s, nil
}

// close ends listening at once, as most servers do when they are told to end: what
// still sends new visitors here has to stop doing so before.
func (s *site) close(ctx context.Context) {
	s.leaving.Store(true)
	s.listener.Close()
	time.Sleep(farewell)
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		log.Print(err)
	}
}

// ServeHTTP answers with one line, after as long as the request asks with ?wait=200ms.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if wait, err := time.ParseDuration(r.URL.Query().Get("wait")); err == nil {
		time.Sleep(min(wait, maxWait))
	}
	if s.leaving.Load() {
		w.Header().Set("Connection", "close")
	}
	fmt.Fprintln(w, s.text)
}
