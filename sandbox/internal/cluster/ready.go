// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// WaitForAPI waits until the API server at an address says that it is ready.
func WaitForAPI(ctx context.Context, l Layout, host string, port int) error {
	p, err := l.PKI()
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(p.Cert("ca"))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	// A new connection each time: one that was accepted before the server was
	// there would be waited on until it times out.
	client := http.Client{
		Timeout:   2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true},
	}
	url := fmt.Sprintf("https://%s:%d/readyz", host, port)
	for {
		last := askReady(ctx, client, url)
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server is not ready: %w (its log is %s)", last, l.Log("kube-apiserver"))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func askReady(ctx context.Context, client http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		return fmt.Errorf("%s: %s", resp.Status, said)
	}
	return nil
}
