// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Command get asks for a page again and again, on a new connection each time,
// and prints what it got with the time, as `while :; do curl …; done` does. It
// runs in a pod, where Services can be reached.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: get URL SECONDS")
	}
	duration, err := time.ParseDuration(os.Args[2] + "s")
	if err != nil {
		log.Fatal(err)
	}
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for end := time.Now().Add(duration); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		fmt.Printf("%s: %s\n", time.Now().Format("15:04:05"), get(client, os.Args[1]))
	}
}

func get(client http.Client, url string) string {
	resp, err := client.Get(url)
	if err != nil {
		return "failed: " + err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "failed: " + err.Error()
	}
	return strings.TrimSpace(string(body))
}
