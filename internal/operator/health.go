// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// readyTimeout is shorter than the kubelet's one second for a probe, so that a
// pod that is not ready says why instead of timing out.
const readyTimeout = 500 * time.Millisecond

// addHealth serves /healthz (the process answers) and /readyz (every cache is
// synced). Neither depends on leadership: a replica that waits for its turn is ready.
func addHealth(ctx context.Context, mgr ctrl.Manager, cached map[client.Object]cache.ByObject) error {
	// Registered before the start: a cache without informers counts as synced, and
	// the pod would be ready for a moment before it has read anything.
	for obj := range cached {
		if _, err := mgr.GetCache().GetInformer(ctx, obj, cache.BlockUntilSynced(false)); err != nil {
			return fmt.Errorf("caching %T: %w", obj, err)
		}
	}
	return errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("caches", cachesSynced(mgr.GetCache())),
	)
}

type syncWaiter interface {
	WaitForCacheSync(ctx context.Context) bool
}

func cachesSynced(caches syncWaiter) healthz.Checker {
	return func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), readyTimeout)
		defer cancel()
		if !caches.WaitForCacheSync(ctx) {
			return errors.New("caches are not synced")
		}
		return nil
	}
}
