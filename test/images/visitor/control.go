// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
)

// controlOf lets tests read what was counted, through the API server:
//
//	/report            what was counted since the last reset
//	/reset             count from zero; the answer is the report up to then
//	/expect?text=TEXT  what every request on a new connection must get from now on: its
//	                   status and first line contain the text; without a text, anything
//	/ask?accept=TYPE   the answer to one request that is not counted, for the whole of it
func controlOf(t *target, c *counts) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/report", func(w http.ResponseWriter, _ *http.Request) { tell(w, c.read()) })
	mux.HandleFunc("/reset", func(w http.ResponseWriter, _ *http.Request) { tell(w, c.reset()) })
	mux.HandleFunc("/expect", func(_ http.ResponseWriter, r *http.Request) { c.expect(r.URL.Query().Get("text")) })
	mux.HandleFunc("/ask", func(w http.ResponseWriter, r *http.Request) { ask(w, r, t) })
	return mux
}

// ask writes an answer as it came: status line, headers, an empty line and the body.
func ask(w http.ResponseWriter, r *http.Request, t *target) {
	conn, err := t.dial()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer conn.Close()
	if err := conn.send(t, r.URL.Query().Get("accept"), true); err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	answer, err := io.ReadAll(io.LimitReader(conn, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if _, err := w.Write(answer); err != nil {
		log.Print(err)
	}
}

func tell(w http.ResponseWriter, r report) {
	if err := json.NewEncoder(w).Encode(r); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
