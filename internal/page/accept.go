// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"mime"
	"strconv"
	"strings"
)

// A format is one way to say that there is maintenance.
type format int

const (
	formatText format = iota
	formatHTML
	formatJSON
	formatCount
)

var mediaTypes = [formatCount]string{
	formatText: "text/plain; charset=utf-8",
	formatHTML: "text/html; charset=utf-8",
	formatJSON: "application/problem+json",
}

// Specificity of a media range: the more specific one counts for a format (RFC 9110, 12.5.1).
const (
	anyType = iota + 1
	anySubtype
	exactType
)

// A preference is what a client's Accept says about one format.
type preference struct {
	specificity int // 0: nothing
	quality     float64
}

// better tells whether p is wanted more than q. Of equally wanted formats the one that
// the client names wins over the one that a wildcard includes.
func (p preference) better(q preference) bool {
	if p.quality != q.quality {
		return p.quality > q.quality
	}
	return p.quality > 0 && p.specificity > q.specificity
}

// negotiate chooses the format by the Accept headers of a request. Browsers name
// text/html; programs that name nothing in particular get text, as does who accepts
// nothing of what there is: an answer in the wrong format says more than none.
func negotiate(accept []string) format {
	var preferences [formatCount]preference
	// The formats in the order in which the client names them, which decides between
	// those it wants equally.
	var order []format
	for _, part := range strings.Split(strings.Join(accept, ","), ",") {
		mediaType, quality, ok := parseRange(part)
		if !ok {
			continue
		}
		formats, specificity := matching(mediaType)
		for _, f := range formats {
			p := &preferences[f]
			switch {
			case specificity > p.specificity:
				*p = preference{specificity, quality}
			case specificity == p.specificity && quality > p.quality:
				// Several names of JSON: the one that is wanted most counts.
				p.quality = quality
			}
			if specificity == exactType {
				order = append(order, f)
			}
		}
	}
	best, wanted := formatText, preference{}
	for _, f := range append(order, formatText, formatHTML, formatJSON) {
		if preferences[f].better(wanted) {
			best, wanted = f, preferences[f]
		}
	}
	return best
}

// parseRange reads one element of Accept, such as text/html;q=0.8.
func parseRange(part string) (mediaType string, quality float64, ok bool) {
	mediaType, params, err := mime.ParseMediaType(part)
	if err != nil {
		return "", 0, false
	}
	quality = 1
	if q, given := params["q"]; given {
		quality, err = strconv.ParseFloat(q, 64)
		if err != nil || !(quality >= 0 && quality <= 1) {
			return "", 0, false
		}
	}
	return mediaType, quality, true
}

// matching tells which formats a media range includes. Every kind of JSON is taken for
// ours: a client that reads JSON is served better by a problem document than by text.
func matching(mediaRange string) ([]format, int) {
	switch mediaRange {
	case "*/*":
		return []format{formatText, formatHTML, formatJSON}, anyType
	case "text/*":
		return []format{formatText, formatHTML}, anySubtype
	case "application/*":
		return []format{formatJSON}, anySubtype
	case "text/plain":
		return []format{formatText}, exactType
	case "text/html":
		return []format{formatHTML}, exactType
	}
	if strings.HasSuffix(mediaRange, "/json") || strings.HasSuffix(mediaRange, "+json") {
		return []format{formatJSON}, exactType
	}
	return nil, 0
}
