// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import "testing"

func TestContactLink(t *testing.T) {
	for contact, want := range map[string]string{
		"https://status.example.com/":         "https://status.example.com/",
		"HTTP://example.com/a b?c=d&e=\"f\"":  "http://example.com/a%20b?c=d&e=\"f\"",
		"https://例え.jp/状態":                    "https://%E4%BE%8B%E3%81%88.jp/%E7%8A%B6%E6%85%8B",
		"ops@example.com":                     "mailto:ops@example.com",
		"mailto:ops@example.com":              "mailto:ops@example.com",
		"Operations <ops@example.com>":        "mailto:ops@example.com",
		"a?subject=x&bcc=evil@example.com":    "",
		"Call us: +49 30 1234":                "",
		"javascript:alert(1)":                 "",
		"JaVaScRiPt:alert(1)":                 "",
		"java\tscript:alert(1)":               "",
		"javascript://example.com/%0aalert()": "",
		"data:text/html,<script>":             "",
		"vbscript:x":                          "",
		"ftp://example.com":                   "",
		"tel:+49301234":                       "",
		"//example.com":                       "",
		"https://":                            "",
		"https://:80/":                        "",
		"https://bank.example@evil.example/":  "",
		"mailto:ops@example.com?body=x":       "",
		"":                                    "",
	} {
		if got := contactLink(contact); got != want {
			t.Errorf("%q leads to %q, not %q", contact, got, want)
		}
	}
}
