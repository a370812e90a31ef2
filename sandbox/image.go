// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/example/web-operators/sandbox/internal/build"
	"github.com/example/web-operators/sandbox/internal/images"
)

const imageUsage = `usage:
  sandbox image build -tag NAME -out FILE [-entrypoint PATH] [-user UID] TARGET=SOURCE…
                                   make an image archive from files
  sandbox image push FILE NAME     put an archive into the running cluster's registry
  sandbox image publish FILE NAME  push an archive to the registry that NAME says
  sandbox image memcached          put Debian's memcached into the running cluster's registry, print its name`

func (a app) image(args []string) error {
	switch {
	case len(args) > 0 && args[0] == "build":
		return buildImage(args[1:])
	case len(args) == 3 && args[0] == "push":
		return a.pushImage(args[1], args[2])
	case len(args) == 3 && args[0] == "publish":
		image, err := images.Load(args[1])
		if err != nil {
			return err
		}
		return images.PushRemote(image, args[2])
	case len(args) == 1 && args[0] == "memcached":
		return a.pushMemcached()
	}
	return errors.New(imageUsage)
}

func buildImage(args []string) error {
	flags := flag.NewFlagSet("image build", flag.ContinueOnError)
	tag := flags.String("tag", "", "the image's name")
	out := flags.String("out", "", "the archive to write")
	entrypoint := flags.String("entrypoint", "", "the program to run")
	user := flags.String("user", "65532:65532", "the user to run it as")
	if err := flags.Parse(args); err != nil {
		return err
	}
	recipe := images.Recipe{Files: map[string]string{}, User: *user}
	if *entrypoint != "" {
		recipe.Entrypoint = []string{*entrypoint}
	}
	for _, arg := range flags.Args() {
		target, source, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is not TARGET=SOURCE", arg)
		}
		recipe.Files[target] = source
	}
	if *tag == "" || *out == "" || len(recipe.Files) == 0 {
		return errors.New(imageUsage)
	}
	image, err := recipe.Build()
	if err != nil {
		return err
	}
	if err := images.Save(image, *tag, *out); err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	fmt.Printf("%s is %s in %s\n", *tag, digest, *out)
	return nil
}

func (a app) registry() (string, error) {
	if !a.layout.IsRunning() {
		return "", fmt.Errorf("no cluster is running in %s: make cluster-up starts one", a.layout.Dir)
	}
	spec, err := a.layout.ReadSpec()
	return fmt.Sprintf("127.0.0.1:%d", spec.RegistryPort), err
}

func (a app) pushImage(file, tag string) error {
	address, err := a.registry()
	if err != nil {
		return err
	}
	image, err := images.Load(file)
	if err != nil {
		return err
	}
	return images.Push(image, tag, address)
}

func (a app) pushMemcached() error {
	address, err := a.registry()
	if err != nil {
		return err
	}
	cache, err := build.CacheDir()
	if err != nil {
		return err
	}
	recipe, version, err := images.Memcached(cache)
	if err != nil {
		return err
	}
	image, err := recipe.Build()
	if err != nil {
		return err
	}
	tag := images.MemcachedRepository + ":" + version
	if err := images.Push(image, tag, address); err != nil {
		return err
	}
	fmt.Println(tag)
	return nil
}
