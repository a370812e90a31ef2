// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package images makes container images from files without a container engine,
// and serves them to a cluster that has no other source of images.
package images

import (
	"archive/tar"
	"bytes"
	"fmt"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A Recipe says what is in an image of one layer. The same recipe and files
// always give the same digest: no time and no user of this machine gets in.
type Recipe struct {
	// Files maps paths in the image to files of this machine.
	Files      map[string]string
	Entrypoint []string
	User       string
	Labels     map[string]string
}

// Build makes the image.
func (r Recipe) Build() (v1.Image, error) {
	layer, err := r.layer()
	if err != nil {
		return nil, err
	}
	// Uncompressed: these images travel over a loopback, where compressing
	// costs more than it saves.
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), static.NewLayer(layer, types.OCIUncompressedLayer))
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{
		User:       r.User,
		Entrypoint: r.Entrypoint,
		Labels:     r.Labels,
		Env:        []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
	}
	return mutate.ConfigFile(image, config)
}

func (r Recipe) layer() ([]byte, error) {
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	made := map[string]bool{".": true}
	for _, target := range slices.Sorted(maps.Keys(r.Files)) {
		source := r.Files[target]
		// The path is absolute in the image and relative in the archive; cleaning
		// it first keeps a ".." inside the image.
		name := strings.TrimPrefix(path.Clean("/"+target), "/")
		if err := makeDirectories(w, path.Dir(name), made); err != nil {
			return nil, err
		}
		data, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(source)
		if err != nil {
			return nil, err
		}
		// Whether it can be run is all that is kept of the file's permissions:
		// the rest depends on the umask of whoever built it.
		mode := int64(0o644)
		if info.Mode()&0o111 != 0 {
			mode = 0o755
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(data))}); err != nil {
			return nil, fmt.Errorf("%s: %w", target, err)
		}
		if _, err := w.Write(data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return layer.Bytes(), nil
}

func makeDirectories(w *tar.Writer, dir string, made map[string]bool) error {
	if made[dir] {
		return nil
	}
	if err := makeDirectories(w, path.Dir(dir), made); err != nil {
		return err
	}
	made[dir] = true
	return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755})
}
