// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package browser looks at the built-in maintenance page as visitors do: the program
// itself, in a real Chromium.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var (
	pageProgram string          // the built server
	chromium    context.Context // the browser that all tests share
	axeSource   string
	screenshots string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	axe, err := os.ReadFile(os.Getenv("AXE_CORE"))
	if err != nil {
		fmt.Fprintf(os.Stderr, "AXE_CORE must name axe-core's axe.min.js (%v): run make test-browser\n", err)
		return 1
	}
	axeSource = string(axe)

	dir, err := os.MkdirTemp("", "browser-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	screenshots = os.Getenv("SCREENSHOTS")
	if screenshots == "" {
		screenshots = filepath.Join(dir, "screenshots")
	}
	pageProgram = filepath.Join(dir, "maintenance-page")
	build := exec.Command("go", "build", "-trimpath", "-o", pageProgram, "./cmd/maintenance-page")
	build.Dir = "../.."
	if said, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, said)
		return 1
	}

	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.UserDataDir(filepath.Join(dir, "profile")),
		// No name is looked up but this machine's: whatever the browser would like to ask on
		// its own, it cannot.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("lang", "en-US"),
	)
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's own sandbox does not work for root
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	var end context.CancelFunc
	chromium, end = chromedp.NewContext(allocator)
	defer end()
	if err := chromedp.Do(chromium); err != nil {
		fmt.Fprintf(os.Stderr, "Chromium does not start: %v\n", err)
		return 1
	}
	return m.Run()
}
