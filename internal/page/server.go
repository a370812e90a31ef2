// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	// Slow and large requests cost memory and connections. Cookies may be large: a request
	// that the application accepts should not be refused here.
	readHeaderTimeout = 10 * time.Second
	writeTimeout      = 30 * time.Second
	maxHeaderBytes    = 64 << 10
	// shutdownTime is less than the 30 seconds that a pod is given to end.
	shutdownTime = 20 * time.Second
)

// Options are the command line.
type Options struct {
	Content string // directory of the content
	Listen  []int  // ports of the page
	Health  int    // port of the health checks
}

// A Server serves the page. It has its ports from the beginning, so that nothing that
// can fail is left for later.
type Server struct {
	store  *store
	pages  []net.Listener
	health net.Listener
	log    *slog.Logger
}

// Listen takes the ports and reads the content.
func Listen(ctx context.Context, o Options, log *slog.Logger) (*Server, error) {
	s := &Server{store: newStore(o.Content, log), log: log}
	for _, port := range o.Listen {
		l, err := listen(ctx, "--listen", port)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.pages = append(s.pages, l)
	}
	var err error
	if s.health, err = listen(ctx, "--health", o.Health); err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.store.get()
	return s, nil
}

func listen(ctx context.Context, flag string, port int) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return nil, fmt.Errorf("%w; give another port with %s", err, flag)
	}
	return l, nil
}

func (s *Server) close() error {
	var errs []error
	for _, l := range s.pages {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// PageAddrs and HealthAddr are where it listens.
func (s *Server) PageAddrs() []net.Addr {
	var addrs []net.Addr
	for _, l := range s.pages {
		addrs = append(addrs, l.Addr())
	}
	return addrs
}

func (s *Server) HealthAddr() net.Addr { return s.health.Addr() }

// Serve answers requests until the context ends, and then those it has begun.
func (s *Server) Serve(ctx context.Context) error {
	errorLog := slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)
	pages := &http.Server{
		Handler:           &handler{store: s.store, now: time.Now},
		ReadHeaderTimeout: readHeaderTimeout,
		WriteTimeout:      writeTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          errorLog,
		// Otherwise `OPTIONS *` is answered with 200, as if the application were there.
		DisableGeneralOptionsHandler: true,
	}
	health := &http.Server{Handler: healthHandler(), ReadHeaderTimeout: readHeaderTimeout, WriteTimeout: writeTimeout, ErrorLog: errorLog}

	ended := make(chan error, len(s.pages)+1)
	for _, l := range s.pages {
		go func() { ended <- pages.Serve(l) }()
	}
	go func() { ended <- health.Serve(s.health) }()
	s.log.Info("serving", "pages", s.PageAddrs(), "health", s.HealthAddr())

	var err error
	select {
	case <-ctx.Done():
		s.log.Info("ending: finishing the requests that have begun")
	case err = <-ended:
	}
	// A context of its own: the one that was given has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	return errors.Join(err, pages.Shutdown(ctx), health.Shutdown(ctx))
}

// healthHandler runs only when every port is taken and the content was looked at, so
// to be alive is to be ready.
func healthHandler() http.Handler {
	mux := http.NewServeMux()
	for _, path := range []string{HealthzPath, ReadyzPath} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	}
	return mux
}
