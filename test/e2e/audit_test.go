// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// memcachedOperator is who the API server takes the operator for.
const memcachedOperator = "system:serviceaccount:memcached-operator-system:memcached-operator-controller-manager"

// A write is a request that can change something, as the API server's audit log tells
// it. Those that failed are among them: they cost the same.
type write struct {
	Verb string
	User struct {
		Username string
	}
	ObjectRef struct {
		Resource, Subresource, Namespace, Name string
	}
	ResponseStatus struct {
		Code int
	}
}

func (w write) String() string {
	return fmt.Sprintf("%s %s (%d)", w.Verb, w.object(), w.ResponseStatus.Code)
}

// object names what was written, such as memcacheds/sample/status.
func (w write) object() string {
	return strings.TrimSuffix(w.ObjectRef.Resource+"/"+w.ObjectRef.Name+"/"+w.ObjectRef.Subresource, "/")
}

// audit is a part of the audit log: from a position up to what is there now.
type audit struct {
	writes []write
	end    int64
}

func readAudit(t *testing.T, from int64) audit {
	t.Helper()
	file, err := os.Open(filepath.Join(os.Getenv("SANDBOX_DIR"), "logs/audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1] // the last line may be half written
	a := audit{end: from + int64(len(data))}
	for line := range bytes.Lines(data) {
		var w write
		if err := json.Unmarshal(line, &w); err != nil {
			t.Fatalf("%v in the audit log: %s", err, line)
		}
		a.writes = append(a.writes, w)
	}
	return a
}

// ofOperator returns the operator's writes in a namespace, without events: those tell
// of something, they do not bring it about.
func (a audit) ofOperator(n namespace) []write {
	return slices.DeleteFunc(slices.Clone(a.writes), func(w write) bool {
		return w.User.Username != memcachedOperator || w.ObjectRef.Namespace != n.name || w.ObjectRef.Resource == "events"
	})
}

var marks atomic.Int64

// mark returns a position in the audit log that has all before it that was written
// before the call. The log may lag behind the answers, so a write of the test's own is
// looked for in it.
func (n namespace) mark(t *testing.T) int64 {
	t.Helper()
	from := readAudit(t, 0).end
	name := fmt.Sprintf("mark-%d", marks.Add(1))
	n.kubectl(t, "create", "configmap", name)
	var found audit
	eventually(t, func() error {
		found = readAudit(t, from)
		for _, w := range found.writes {
			if w.ObjectRef.Namespace == n.name && w.ObjectRef.Name == name {
				return nil
			}
		}
		return fmt.Errorf("ConfigMap %s is not in the audit log", name)
	})
	return found.end
}

// fencedLabel is one that the operator puts on every child.
const fencedLabel = "app.kubernetes.io/component"

// writesSince returns what the operator has written in the namespace since the
// position. To be sure that it is through with all that happened to the Deployments
// before, a label of its own is taken off each, and is seen to be put back; these
// writes are left out.
func (n namespace) writesSince(t *testing.T, position int64, deployments ...string) []write {
	t.Helper()
	fence := n.mark(t)
	n.kubectl(t, append(append([]string{"label", "deployment"}, deployments...), fencedLabel+"-")...)
	isRepair := func(w write) bool {
		return w.ObjectRef.Resource == "deployments" && w.ObjectRef.Subresource == "" && slices.Contains(deployments, w.ObjectRef.Name)
	}
	eventually(t, func() error {
		repairs := slices.DeleteFunc(readAudit(t, fence).ofOperator(n), func(w write) bool { return !isRepair(w) })
		if len(repairs) < len(deployments) {
			return fmt.Errorf("%d of %d labels are back", len(repairs), len(deployments))
		}
		return nil
	})
	all := readAudit(t, position).ofOperator(n)
	for _, name := range deployments {
		for i, w := range slices.Backward(all) {
			if isRepair(w) && w.ObjectRef.Name == name {
				all = slices.Delete(all, i, i+1)
				break
			}
		}
	}
	return all
}
