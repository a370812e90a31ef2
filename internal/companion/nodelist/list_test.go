// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package nodelist

import (
	"os"
	"path/filepath"
	"testing"
)

func TestParse(t *testing.T) {
	const good = `{"version":7,"nodes":[{"name":"c-0","host":"c-0.c.web.svc","ip":"10.0.0.1","port":11211},{"name":"c-1","host":"fd00::1","ip":"fd00::1","port":11211}]}`
	l, err := Parse([]byte(good))
	if err != nil || l.Version != 7 || len(l.Nodes) != 2 || l.String() != good {
		t.Errorf("%v, %v", l, err)
	}
	if l, err := Parse([]byte(List{Version: 1}.String())); err != nil || l.Nodes == nil {
		t.Errorf("a cluster without nodes: %v, %v", l, err)
	}
	for name, bad := range map[string]string{
		"not JSON":         `{`,
		"empty":            ``,
		"no version":       `{"nodes":[]}`,
		"negative version": `{"version":-1,"nodes":[]}`,
		"no address":       `{"version":1,"nodes":[{"name":"a","host":"a","port":1}]}`,
		"zone":             `{"version":1,"nodes":[{"name":"a","host":"a","ip":"fe80::1%eth0","port":1}]}`,
		"second node":      `{"version":1,"nodes":[{"name":"a","host":"a|10.0.0.1|1 b","ip":"10.0.0.1","port":1}]}`,
		"line break":       `{"version":1,"nodes":[{"name":"a","host":"a\nEND","ip":"10.0.0.1","port":1}]}`,
		"break at the end": `{"version":1,"nodes":[{"name":"a","host":"a\n","ip":"10.0.0.1","port":1}]}`,
		"name":             `{"version":1,"nodes":[{"name":"a\"}","host":"a","ip":"10.0.0.1","port":1}]}`,
		"port":             `{"version":1,"nodes":[{"name":"a","host":"a","ip":"10.0.0.1","port":65536}]}`,
	} {
		if l, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%s is accepted: %v", name, l)
		}
	}
}

func TestWith(t *testing.T) {
	one, two := []Node{{Name: "a"}}, []Node{{Name: "a"}, {Name: "b"}}
	first := List{}.With(one)
	if first.Version != 1 {
		t.Errorf("the first list is %v", first)
	}
	if same := first.With([]Node{{Name: "a"}}); same.Version != 1 {
		t.Errorf("the same nodes are %v", same)
	}
	if next := first.With(two).With(nil).With(two); next.Version != 4 {
		t.Errorf("three changes later it is %v", next)
	}
	if empty := (List{}).With(nil); empty.Version != 1 {
		t.Errorf("a first list without nodes is %v", empty)
	}
}

func TestNewest(t *testing.T) {
	if got := Newest("", `{"version":2,"nodes":[]}`, `{"version":3,"nodes":[]}`, `{"version":9}x`); got.Version != 3 {
		t.Error(got)
	}
}

// mount makes a directory as the kubelet does: the files are links through ..data.
func mount(t *testing.T, directory, generation string, files map[string]string) {
	t.Helper()
	data := filepath.Join(directory, generation)
	must(t, os.Mkdir(data, 0o755))
	for name, content := range files {
		must(t, os.WriteFile(filepath.Join(data, name), []byte(content), 0o644))
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(directory, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	must(t, os.Symlink(generation, filepath.Join(directory, "..tmp")))
	must(t, os.Rename(filepath.Join(directory, "..tmp"), filepath.Join(directory, "..data")))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestReaderFollowsTheKubelet(t *testing.T) {
	directory := t.TempDir()
	r := NewReader(directory)
	steps := []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing yet", map[string]string{AnnotationFile: ""}, 0},
		{"the ConfigMap", map[string]string{File: `{"version":1,"nodes":[]}`, AnnotationFile: ""}, 1},
		{"the annotation is first", map[string]string{File: `{"version":1,"nodes":[]}`, AnnotationFile: `{"version":2,"nodes":[]}`}, 2},
		{"the ConfigMap follows", map[string]string{File: `{"version":2,"nodes":[]}`, AnnotationFile: `{"version":2,"nodes":[]}`}, 2},
		{"the ConfigMap is first", map[string]string{File: `{"version":3,"nodes":[]}`, AnnotationFile: `{"version":2,"nodes":[]}`}, 3},
		{"broken", map[string]string{File: `{"version":4,`, AnnotationFile: `{"version":-4}`}, 3},
		{"older", map[string]string{File: `{"version":1,"nodes":[]}`, AnnotationFile: ""}, 3},
		{"repaired", map[string]string{File: `{"version":5,"nodes":[]}`, AnnotationFile: ""}, 5},
	}
	for i, step := range steps {
		mount(t, directory, "..generation-"+string(rune('a'+i)), step.files)
		for range 2 {
			if got := r.Newest().Version; got != step.want {
				t.Errorf("%s: version %d, want %d", step.name, got, step.want)
			}
		}
	}
	if got := NewReader(filepath.Join(directory, "nowhere")).Newest().Version; got != 0 {
		t.Errorf("version %d of no directory", got)
	}
}
