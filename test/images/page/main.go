// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Command page answers every request with one line. It stands in for the
// application and the maintenance page that the MaintPage walkthrough switches
// between: which one it is depends on the name it is started under.
//
// It is a decent web application: connections may be kept open, and when it is told to
// end it finishes what it holds. Tests make it stop listening, so that its pod is not
// ready any more, by asking for /close at port 9090.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	text := "Production Page !"
	if filepath.Base(os.Args[0]) == "maintpage" {
		text = "Maintenance Page !"
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, os.Interrupt)
	site, err := open(text)
	if err != nil {
		log.Fatal(err)
	}
	control := &http.Server{Addr: ":9090", ReadHeaderTimeout: headerPatience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/close" {
			http.NotFound(w, r)
			return
		}
		site.close(r.Context())
	})}
	go func() { log.Print(control.ListenAndServe()) }()
	<-end
	site.close(context.Background())
}
