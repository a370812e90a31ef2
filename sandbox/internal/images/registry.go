// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// ByNamespace lets one registry stand in for all. A node asks it for
// library/memcached and tells in the parameter ns that the name began with
// docker.io; the images of each registry are kept apart below its name. Names
// that begin with the registry's own address are what they are.
func ByNamespace(registry http.Handler, address string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ns := r.URL.Query().Get("ns"); ns != "" && ns != address {
			if rest, ok := strings.CutPrefix(r.URL.Path, "/v2/"); ok && rest != "" {
				r.URL.Path = "/v2/" + repositoryHost(ns) + "/" + rest
			}
		}
		registry.ServeHTTP(w, r)
	})
}

// repositoryHost is a registry's host as part of a repository's name, which
// cannot have the colon of a port.
func repositoryHost(host string) string {
	if host == name.DefaultRegistry {
		host = "docker.io" // what nodes call it
	}
	return strings.ReplaceAll(host, ":", "_")
}

// Push puts an image into the sandbox's registry at address, under the name
// that a user would write in a manifest.
func Push(image v1.Image, tag, address string) error {
	wanted, err := name.ParseReference(tag)
	if err != nil {
		return err
	}
	target := fmt.Sprintf("%s/%s/%s:%s", address, repositoryHost(wanted.Context().RegistryStr()), wanted.Context().RepositoryStr(), wanted.Identifier())
	ref, err := name.ParseReference(target, name.Insecure)
	if err != nil {
		return err
	}
	if err := remote.Write(ref, image); err != nil {
		return fmt.Errorf("pushing %s: %w", tag, err)
	}
	return nil
}
