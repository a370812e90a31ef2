// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"net/mail"
	"net/url"
	"strings"
)

// contactLink is the address that a contact leads to, empty when it is to be shown as
// text only. Only web and mail addresses become links: any other scheme could run
// something in the visitor's browser, and a name before the host looks like another host.
func contactLink(contact string) string {
	if u, err := url.Parse(contact); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil {
		return u.String()
	}
	address, err := mail.ParseAddress(strings.TrimPrefix(contact, "mailto:"))
	// What has a meaning in a mailto address could add recipients or a text to the mail.
	if err == nil && !strings.ContainsAny(address.Address, "?&%") {
		return (&url.URL{Scheme: "mailto", Opaque: url.PathEscape(address.Address)}).String()
	}
	return ""
}
