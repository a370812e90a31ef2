// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package credentials reads the Secrets of a Memcached: the certificate that the nodes
// serve, and the users that they know. What is in a Secret is checked before memcached
// sees it, because memcached takes a part of a broken file, or stops.
package credentials

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// maxFile is the size of the largest Secret.
const maxFile = 1 << 20

// Files are the contents of a Secret by key.
type Files map[string][]byte

// KeyError says what is wrong with a key of a Secret. It never holds what is in it.
type KeyError struct {
	Key, Problem string
}

func (e *KeyError) Error() string { return fmt.Sprintf("key %s %s", e.Key, e.Problem) }

// ReadFiles reads those of the keys that there are from a directory where a Secret is
// mounted. The kubelet swaps all of them at once, by a link; so the link is followed
// once, and the files are of one version.
func ReadFiles(directory string, keys ...string) (Files, error) {
	version, err := filepath.EvalSymlinks(filepath.Join(directory, "..data"))
	if errors.Is(err, os.ErrNotExist) {
		version, err = directory, nil // not the kubelet's
	}
	if err != nil {
		return nil, err
	}
	files := Files{}
	for _, key := range keys {
		data, err := readFile(filepath.Join(version, key))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		files[key] = data
	}
	return files, nil
}

func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFile))
}

func firstCertificate(data []byte) (*x509.Certificate, error) {
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return nil, errors.New("there is none")
		}
		if block.Type == "CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
	}
}
