// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Save writes an image as an archive that `docker load` and `kind load
// image-archive` take too.
func Save(image v1.Image, tag, file string) error {
	ref, err := name.NewTag(tag)
	if err != nil {
		return err
	}
	return tarball.WriteToFile(file, ref, image)
}

// Load reads such an archive.
func Load(file string) (v1.Image, error) {
	return tarball.ImageFromPath(file, nil)
}

// PushRemote pushes an image to the registry that its name says, with the
// credentials of the user's Docker configuration.
func PushRemote(image v1.Image, tag string) error {
	ref, err := name.ParseReference(tag)
	if err != nil {
		return err
	}
	if err := remote.Write(ref, image, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("pushing %s: %w", tag, err)
	}
	return nil
}
