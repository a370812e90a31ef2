// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	cachev1alpha1 "github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/testenv"
)

var env *testenv.Environment

func TestMain(m *testing.M) { testenv.Main(m, &env) }

func testOptions() Options {
	return Options{
		Name:        "test-operator",
		AddToScheme: cachev1alpha1.AddToScheme,
		Cache:       map[client.Object]cache.ByObject{&cachev1alpha1.Memcached{}: {}},
		Setup:       func(ctrl.Manager) error { return nil },
	}
}

func TestFlags(t *testing.T) {
	s, err := parse(testOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !s.metricsSecure || s.metricsAddress != ":8443" || s.maxConcurrentReconciles <= 1 || s.leaderElect ||
		s.pprofAddress != "" || len(s.watchNamespaces) != 0 || s.log.Development {
		t.Errorf("defaults: %+v", s)
	}
	options := managerOptions(testOptions(), s)
	if options.Metrics.FilterProvider == nil || !options.Metrics.SecureServing || options.Cache.DefaultNamespaces != nil {
		t.Errorf("defaults: %+v", options)
	}

	s, err = parse(testOptions(), []string{
		"--watch-namespaces=a, b", "--max-concurrent-reconciles=7", "--metrics-secure=false", "--leader-elect", "--zap-devel",
	})
	if err != nil {
		t.Fatal(err)
	}
	options = managerOptions(testOptions(), s)
	if len(options.Cache.DefaultNamespaces) != 2 || options.Controller.MaxConcurrentReconciles != 7 ||
		options.Metrics.FilterProvider != nil || options.Metrics.SecureServing || !options.LeaderElection {
		t.Errorf("%+v", options)
	}

	for _, args := range [][]string{
		{"--watch-namespaces=a/b"}, {"--max-concurrent-reconciles=0"}, {"--no-such-flag"}, {"argument"},
	} {
		if _, err := parse(testOptions(), args); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	if _, err := parse(testOptions(), []string{"--help"}); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
}

func TestVersion(t *testing.T) {
	if s, err := parse(testOptions(), []string{"--version"}); err != nil || !s.printVersion {
		t.Error(err)
	}
	if got := buildInfo(); got.version == "" || got.revision == "" || !strings.Contains(got.String(), "go1.") {
		t.Error(got)
	}
}

type synced bool

func (s synced) WaitForCacheSync(ctx context.Context) bool {
	if !s {
		<-ctx.Done()
	}
	return bool(s)
}

func TestReadiness(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "/readyz", http.NoBody)
	if err := cachesSynced(synced(true))(request); err != nil {
		t.Error(err)
	}
	begin := time.Now()
	if err := cachesSynced(synced(false))(request); err == nil || time.Since(begin) > time.Second {
		t.Errorf("%v after %s: the kubelet waits for a second", err, time.Since(begin))
	}
}

// running starts a manager and returns the addresses of its metrics and health.
func running(t *testing.T, o Options, args ...string) (metrics, health string, stop func()) {
	t.Helper()
	metrics, health = freeAddress(t), freeAddress(t)
	ctx, cancel := context.WithCancel(context.Background())
	mgr, err := NewManager(ctx, env.Config, o, func(options *ctrl.Options) {
		options.Controller.SkipNameValidation = ptr.To(true)
	}, append([]string{"--metrics-bind-address=" + metrics, "--health-probe-bind-address=" + health}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return metrics, health, stop
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// get waits until the address answers.
func get(t *testing.T, url, token string) (int, string) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true} //nolint:gosec // self-signed
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := c.Do(request)
		if err != nil {
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
			continue
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.ProtoMajor != 1 {
			t.Errorf("%s: %s", url, response.Proto)
		}
		return response.StatusCode, string(body)
	}
}

func TestEndpoints(t *testing.T) {
	metrics, health, _ := running(t, testOptions())
	if code, body := get(t, "http://"+health+"/healthz", ""); code != http.StatusOK {
		t.Error(code, body)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if code, _ := get(t, "http://"+health+"/readyz", ""); code == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("not ready")
		}
	}

	url := "https://" + metrics + "/metrics"
	if code, _ := get(t, url, ""); code != http.StatusUnauthorized {
		t.Errorf("anonymous: %d", code)
	}
	if code, _ := get(t, url, token(t, "stranger")); code != http.StatusForbidden {
		t.Errorf("without the right: %d", code)
	}
	scraper := token(t, "scraper")
	grant(t, "scraper")
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		code, body := get(t, url, scraper)
		if code == http.StatusOK && strings.Contains(body, "controller_runtime_") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("with the right: %d %s", code, body)
		}
	}

	metrics, _, _ = running(t, testOptions(), "--metrics-secure=false")
	if code, _ := get(t, "http://"+metrics+"/metrics", ""); code != http.StatusOK {
		t.Errorf("not secured: %d", code)
	}
}

// token is a service account's.
func token(t *testing.T, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	if err := env.Client.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	if err := env.Client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// grant lets a service account read metrics, as the role metrics-reader does.
func grant(t *testing.T, name string) {
	t.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: name}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := env.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// The one that waits is ready, and leads soon after the other has stopped.
func TestLeaderElection(t *testing.T) {
	leaders := make(chan string, 2)
	member := func(name string) Options {
		o := testOptions()
		o.Setup = func(mgr ctrl.Manager) error {
			return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
				leaders <- name
				<-ctx.Done()
				return nil
			}))
		}
		return o
	}
	args := []string{"--leader-elect", "--leader-election-namespace=default"}
	_, _, stop := running(t, member("first"), args...)
	expectLeader(t, leaders, "first")
	_, health, _ := running(t, member("second"), args...)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if code, _ := get(t, "http://"+health+"/readyz", ""); code == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the second is not ready")
		}
	}
	stop()
	begin := time.Now()
	expectLeader(t, leaders, "second")
	// Without a lease that is handed back it takes the 15 seconds until it expires.
	if waited := time.Since(begin); waited > 6*time.Second {
		t.Errorf("the second leads after %s", waited)
	}
}

func expectLeader(t *testing.T, leaders <-chan string, want string) {
	t.Helper()
	select {
	case got := <-leaders:
		if got != want {
			t.Fatalf("%s leads, want %s", got, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("%s does not lead", want)
	}
}
