// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// maxAnswers bounds the memory: objects that others delete are not forgotten one by
// one. Forgetting an answer costs one request.
const maxAnswers = 10_000

// answers remembers applies that changed nothing although the owned fields and the
// intent differ. The package comment tells when that happens.
type answers struct {
	mu    sync.Mutex
	asked map[types.UID]question
}

// question is both sides of the comparison, as digests.
type question struct {
	owned, wanted [sha256.Size]byte
}

// known reports whether the API server was asked the same for the same state before.
func (a *answers) known(object types.UID, owned, wanted fields) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	before, ok := a.asked[object]
	return ok && before == ask(owned, wanted)
}

// record keeps the question if its answer was that nothing changes.
func (a *answers) record(object types.UID, owned, wanted fields, unchanged bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !unchanged {
		delete(a.asked, object)
		return
	}
	if a.asked == nil || len(a.asked) >= maxAnswers {
		a.asked = map[types.UID]question{}
	}
	a.asked[object] = ask(owned, wanted)
}

func ask(owned, wanted fields) question {
	return question{owned: digest(owned), wanted: digest(wanted)}
}

// digest cannot fail: the fields hold nothing but what JSON can say.
func digest(f fields) [sha256.Size]byte {
	set, _ := f.set.ToJSON()
	values, _ := json.Marshal(f.values)
	return sha256.Sum256(append(set, values...))
}
