// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package companion

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/web-operators/internal/companion/nodelist"
	"github.com/example/web-operators/internal/credentials"
	"github.com/example/web-operators/internal/credentials/credentialstest"
)

// A node that speaks TLS and wants a certificate and a password is asked like any other,
// and with what is in the Secrets at the time.
func TestMetricsWithSecrets(t *testing.T) {
	authority := credentialstest.NewAuthority(t, "authority")
	secrets := credentials.Directories{TLS: t.TempDir(), Auth: t.TempDir()}
	write := func(directory string, files credentials.Files) {
		t.Helper()
		for key, data := range files {
			if err := os.WriteFile(filepath.Join(directory, key), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(secrets.TLS, authority.Issue(t))
	served, err := credentials.ParseTLS(authority.Issue(t), true)
	if err != nil {
		t.Fatal(err)
	}
	n := listen(t, "c-0", func(conn net.Conn) {
		secure := tls.Server(conn, &tls.Config{Certificates: served.ClientConfig().Certificates, ClientAuth: tls.RequireAnyClientCert})
		in := bufio.NewReader(secure)
		line := func() string {
			text, _ := in.ReadString('\n')
			return strings.TrimSpace(text)
		}
		if !strings.HasPrefix(line(), "set auth ") || line() != "u new" {
			fmt.Fprint(secure, "CLIENT_ERROR authentication failure\r\n")
			return
		}
		fmt.Fprint(secure, "STORED\r\n")
		for line() != "" {
			fmt.Fprint(secure, "END\r\n")
		}
	})
	handler := metricsHandler(reader(t, nodelist.List{Version: 1, Nodes: []nodelist.Node{n}}), secrets)
	get := func() (code int, body string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
		return w.Code, w.Body.String()
	}
	if code, said := get(); code != http.StatusInternalServerError || !strings.Contains(said, "key username is missing") {
		t.Errorf("without users: %d %s", code, said)
	}
	for password, up := range map[string]string{"old": "0", "new": "1"} {
		write(secrets.Auth, credentials.Files{credentials.UsernameKey: []byte("u"), credentials.PasswordKey: []byte(password)})
		if _, said := get(); !strings.Contains(said, `memcached_up{node="c-0"} `+up+"\n") {
			t.Errorf("with the %s password: %s", password, said)
		}
	}
	write(secrets.TLS, credentialstest.NewAuthority(t, "another").Issue(t))
	if _, said := get(); !strings.Contains(said, `memcached_up{node="c-0"} 0`+"\n") {
		t.Errorf("a node of another authority: %s", said)
	}
}
