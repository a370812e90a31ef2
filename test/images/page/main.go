// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Command page answers every request with one line. It stands in for the
// application and the maintenance page that the MaintPage walkthrough switches
// between: which one it is depends on the name it is started under.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
)

func main() {
	text := "Production Page !"
	if filepath.Base(os.Args[0]) == "maintpage" {
		text = "Maintenance Page !"
	}
	log.Fatal(http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, text)
	})))
}
