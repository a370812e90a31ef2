// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Command visitor asks for a page many times a second, and counts what it got: which
// page, and every request that failed. It runs in a pod, where Services can be reached,
// and ends by itself.
//
//	visitor URL REQUESTS-PER-SECOND SECONDS
//
// Half of the requests are made on a new connection each, as from visitors who come,
// and half on a few connections that are kept open, as by a proxy. What it has counted
// is read at a second port, see control.go.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"
)

const (
	maxRate    = 2000
	maxSeconds = 24 * 60 * 60
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: visitor URL REQUESTS-PER-SECOND SECONDS")
	}
	rate, err := number(args[1], maxRate)
	if err != nil {
		return err
	}
	seconds, err := number(args[2], maxSeconds)
	if err != nil {
		return err
	}
	target, err := resolve(args[0])
	if err != nil {
		return err
	}
	log.Printf("asking %s at %s, %d times a second for %d s", args[0], target.address, rate, seconds)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seconds)*time.Second)
	defer cancel()
	counts := newCounts()
	control := &http.Server{Addr: ":9090", Handler: controlOf(target, counts), ReadHeaderTimeout: 5 * time.Second}
	go func() { log.Print(control.ListenAndServe()) }()
	load(ctx, target, counts, rate)
	return nil
}

func number(arg string, limit int) (int, error) {
	n, err := strconv.Atoi(arg)
	if err != nil {
		return 0, err
	}
	if n < 2 || n > limit {
		return 0, fmt.Errorf("%d is not from 2 to %d", n, limit)
	}
	return n, nil
}
