// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// build is what the Go toolchain recorded about this binary.
type build struct {
	version, revision, goVersion string
}

func (b build) String() string {
	return fmt.Sprintf("%s (revision %s, %s)", b.version, b.revision, b.goVersion)
}

// buildInfo reads it. Parts that were not recorded say so instead of being empty.
func buildInfo() build {
	b := build{version: "unknown", revision: "unknown", goVersion: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.version = info.Main.Version
	}
	modified := false
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.revision = setting.Value
		case "vcs.modified":
			modified = setting.Value == "true"
		}
	}
	if modified {
		b.revision += "-modified"
	}
	return b
}
