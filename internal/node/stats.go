// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"strings"
)

// Stats are the statistics of a section, such as settings, items or slabs; the empty
// one is the general section.
func (n *Conn) Stats(ctx context.Context, section string) (map[string]string, error) {
	command := strings.TrimSpace("stats " + section)
	lines, err := n.Do(ctx, command, func(line string) bool { return line == "END" })
	if err != nil {
		return nil, err
	}
	stats := make(map[string]string, len(lines))
	for _, line := range lines {
		words := strings.SplitN(line, " ", 3)
		if len(words) < 2 || words[0] != "STAT" {
			return nil, fmt.Errorf("%s: unexpected line %q", command, line)
		}
		stats[words[1]] = strings.Join(words[2:], "")
	}
	return stats, nil
}

// Version is memcached's.
func (n *Conn) Version(ctx context.Context) (string, error) {
	lines, err := n.Do(ctx, "version", nil)
	if err != nil {
		return "", err
	}
	version, ok := strings.CutPrefix(lines[0], "VERSION ")
	if !ok {
		return "", fmt.Errorf("version: unexpected line %q", lines[0])
	}
	return version, nil
}
