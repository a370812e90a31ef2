// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import "testing"

func TestNegotiate(t *testing.T) {
	for _, c := range []struct {
		who    string
		accept []string
		want   format
	}{
		{"nothing said", nil, formatText},
		{"empty", []string{""}, formatText},
		{"curl", []string{"*/*"}, formatText},
		{"Chromium", []string{"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8"}, formatHTML},
		{"Safari", []string{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, formatHTML},
		{"a picture in a page", []string{"image/avif,image/webp,image/*,*/*;q=0.8"}, formatText},
		{"axios", []string{"application/json, text/plain, */*"}, formatJSON},
		{"jQuery", []string{"application/json, text/javascript, */*; q=0.01"}, formatJSON},
		{"kubectl-like", []string{"application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}, formatJSON},
		{"problem", []string{"application/problem+json"}, formatJSON},
		{"other JSON", []string{"application/vnd.api+json"}, formatJSON},
		{"other JSON, upper case", []string{"Application/VND.API+JSON"}, formatJSON},
		{"wildcard JSON", []string{"application/*+json"}, formatJSON},
		{"any application type", []string{"application/*"}, formatJSON},
		{"any text", []string{"text/*"}, formatText},
		{"any text, HTML rather", []string{"text/*;q=0.5, text/html"}, formatHTML},
		{"quality decides", []string{"text/html;q=0.5, application/json;q=0.6"}, formatJSON},
		{"quality decides against the order", []string{"application/json;q=0.6,text/html;q=0.7"}, formatHTML},
		{"order decides", []string{"text/html, application/json"}, formatHTML},
		{"order decides, the other way", []string{"application/json, text/html"}, formatJSON},
		{"named wins over a wildcard", []string{"*/*, text/html"}, formatHTML},
		{"the most specific range counts", []string{"*/*;q=1, text/plain;q=0.1, text/html;q=0.2, application/json;q=0.3"}, formatJSON},
		{"the better of two kinds of JSON", []string{"application/json;q=0.1, text/html;q=0.5, application/ld+json;q=0.9"}, formatJSON},
		{"anything but text", []string{"text/plain;q=0, */*"}, formatHTML},
		{"anything but text and HTML", []string{"text/*;q=0, */*;q=0.1"}, formatJSON},
		{"nothing at all", []string{"*/*;q=0"}, formatText},
		{"no HTML", []string{"text/html;q=0"}, formatText},
		{"nothing that there is", []string{"image/png"}, formatText},
		{"events", []string{"text/event-stream"}, formatText},
		{"several lines", []string{"image/png", "text/html"}, formatHTML},
		{"broken parts are left out", []string{";;;, text/html;q=x, /, application/json;q=0.2, \x00"}, formatJSON},
		{"quality out of range", []string{"text/html;q=7, application/json;q=-1, text/plain;q=NaN"}, formatText},
	} {
		if got := negotiate(c.accept); got != c.want {
			t.Errorf("%s: %q gets %s, not %s", c.who, c.accept, mediaTypes[got], mediaTypes[c.want])
		}
	}
}
