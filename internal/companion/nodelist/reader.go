// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package nodelist

import (
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

// maxSize is that of a ConfigMap.
const maxSize = 1 << 20

// Reader reads the newest list from the files of a directory. The kubelet may change
// them at any time, and not both at once; so it looks at them at every call, and never
// goes back to an older version. It may be used by many goroutines.
type Reader struct {
	directory string

	mu     sync.Mutex
	read   map[string]fs.FileInfo
	newest List
}

// NewReader returns a Reader of a directory.
func NewReader(directory string) *Reader {
	return &Reader{directory: directory, read: map[string]fs.FileInfo{}}
}

// Newest is the newest list that was ever there. Its version is 0 if there was none.
func (r *Reader) Newest() List {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range []string{File, AnnotationFile} {
		r.look(name)
	}
	return r.newest
}

// look reads a file if it is another than the last time. The kubelet swaps a symbolic
// link, so it is another file whenever its content is.
func (r *Reader) look(name string) {
	file, err := os.Open(filepath.Join(r.directory, name))
	if err != nil {
		return // not there yet, or between two versions
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return // an annotation that the pod does not have
	}
	if before := r.read[name]; before != nil && os.SameFile(before, info) && before.ModTime().Equal(info.ModTime()) {
		return
	}
	r.read[name] = info
	data, err := io.ReadAll(io.LimitReader(file, maxSize))
	if err != nil {
		slog.Error("Cannot read the list of nodes", "file", name, "error", err)
		return
	}
	l, err := Parse(data)
	if err != nil {
		slog.Error("The list of nodes cannot be used, the last one stays", "file", name, "error", err)
		return
	}
	if l.Version > r.newest.Version {
		slog.Info("New list of nodes", "file", name, "version", l.Version, "nodes", len(l.Nodes))
		r.newest = l
	}
}
