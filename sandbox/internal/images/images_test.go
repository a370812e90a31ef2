// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"archive/tar"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

func recipe(t *testing.T) Recipe {
	t.Helper()
	dir := t.TempDir()
	program, data := filepath.Join(dir, "program"), filepath.Join(dir, "data")
	if err := os.WriteFile(program, []byte("program"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Recipe{
		Files:      map[string]string{"/usr/bin/program": program, "/../../etc/data": data},
		Entrypoint: []string{"/usr/bin/program"},
		User:       "65532",
	}
}

func digest(t *testing.T, image v1.Image) string {
	t.Helper()
	d, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

func build(t *testing.T) v1.Image {
	t.Helper()
	image, err := recipe(t).Build()
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func TestSameFilesSameDigest(t *testing.T) {
	if a, b := digest(t, build(t)), digest(t, build(t)); a != b {
		t.Errorf("two builds of the same files: %s and %s", a, b)
	}
}

func TestImageHoldsTheFiles(t *testing.T) {
	want := map[string]int64{"etc/": 0o755, "etc/data": 0o644, "usr/": 0o755, "usr/bin/": 0o755, "usr/bin/program": 0o755}
	files := tar.NewReader(mutate.Extract(build(t)))
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		name := h.Name
		if h.Typeflag == tar.TypeDir {
			name = strings.TrimSuffix(name, "/") + "/"
		}
		if mode, ok := want[name]; !ok || mode != h.Mode {
			t.Errorf("%s has mode %o, want %o (in the image: %v)", name, h.Mode, mode, ok)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestArchiveKeepsTheImage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "image.tar")
	image := build(t)
	if err := Save(image, "example.com/image:1", file); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := image.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	got, err := loaded.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("the image's ID is %s after loading, was %s", got, want)
	}
}

// A node asks for images in this way, see containerd's documentation of
// registry hosts: the path has no registry, the parameter ns has.
func TestRegistryStandsInForAll(t *testing.T) {
	const own = "127.0.0.1:5000"
	server := httptest.NewServer(ByNamespace(registry.New(), own))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	image := build(t)
	for _, tag := range []string{"memcached:1.6", "quay.io/library/other:1", "registry.example:5000/team/app:v1"} {
		if err := Push(image, tag, address); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path   string
		status int
	}{
		{"/v2/library/memcached/manifests/1.6?ns=docker.io", http.StatusOK},
		{"/v2/docker.io/library/memcached/manifests/1.6?ns=" + own, http.StatusOK},
		{"/v2/library/memcached/manifests/1.6?ns=quay.io", http.StatusNotFound},
		{"/v2/library/other/manifests/1?ns=quay.io", http.StatusOK},
		{"/v2/team/app/manifests/v1?ns=registry.example%3A5000", http.StatusOK},
		{"/v2/team/app/manifests/v2?ns=registry.example%3A5000", http.StatusNotFound},
	} {
		resp, err := http.Get(server.URL + c.path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s: %s, want %d", c.path, resp.Status, c.status)
		}
	}
}
