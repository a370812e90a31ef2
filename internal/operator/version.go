// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"runtime"
	"runtime/debug"
)

// build is what the Go toolchain recorded about this binary.
type build struct {
	Version  string
	Revision string
	Go       string
}

// buildInfo reads it. Parts that were not recorded say so instead of being empty.
func buildInfo() build {
	b := build{Version: "unknown", Revision: "unknown", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	modified := false
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Revision = setting.Value
		case "vcs.modified":
			modified = setting.Value == "true"
		}
	}
	if modified {
		b.Revision += "-modified"
	}
	return b
}
