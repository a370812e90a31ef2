// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testenv starts a real API server with this project's CRDs, for tests of one package.
//
// Call it from TestMain, so that all tests of the package share the server:
//
//	var env *testenv.Environment
//
//	func TestMain(m *testing.M) {
//		testenv.Main(m, &env)
//	}
package testenv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	cachev1alpha1 "github.com/example/web-operators/api/cache/v1alpha1"
	maintpagev1alpha1 "github.com/example/web-operators/api/maintpage/v1alpha1"
)

// AssetsVariable names the environment variable that overrides where the programs of the control plane are.
const AssetsVariable = "KUBEBUILDER_ASSETS"

// Environment is a running etcd and API server.
type Environment struct {
	// Config connects to the API server with all rights.
	Config *rest.Config

	// Client uses Config. It refuses unknown fields, so that a misspelled one fails a test instead of being dropped.
	Client client.Client

	control *envtest.Environment
}

// Main starts an environment, points env to it, runs the tests of m and exits with their result.
func Main(m *testing.M, env **Environment) {
	os.Exit(run(m, env))
}

// run returns instead of exiting, so that its deferred stop happens: os.Exit would leave the servers behind.
func run(m *testing.M, env **Environment) (code int) {
	started, err := Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := started.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}()
	*env = started
	return m.Run()
}

// Start starts etcd and an API server and installs the CRDs of config/crd/bases. The caller must Stop it.
func Start() (*Environment, error) {
	root, err := RepositoryRoot()
	if err != nil {
		return nil, err
	}
	assets, err := assetsDirectory(root, os.Getenv(AssetsVariable))
	if err != nil {
		return nil, err
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	control := &envtest.Environment{
		BinaryAssetsDirectory: assets,
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	config, err := control.Start()
	if err != nil {
		// A half-started environment still has an etcd that would outlive the test.
		return nil, errors.Join(fmt.Errorf("start the API server of %s: %w", assets, err), control.Stop())
	}
	unchecked, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, errors.Join(err, control.Stop())
	}
	return &Environment{
		Config:  config,
		Client:  client.WithFieldValidation(unchecked, metav1.FieldValidationStrict),
		control: control,
	}, nil
}

// Stop ends the API server and etcd and removes their data.
func (e *Environment) Stop() error {
	if err := e.control.Stop(); err != nil {
		return fmt.Errorf("stop the API server: %w", err)
	}
	return nil
}

// newScheme knows the types of Kubernetes and of both operators.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, cachev1alpha1.AddToScheme, maintpagev1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// assetsDirectory finds the directory with etcd and kube-apiserver: the one given, or bin/k8s below root.
// Without the check envtest would look in /usr/local/kubebuilder/bin and name only that in its error.
func assetsDirectory(root, given string) (string, error) {
	directory, advice := given, "correct or unset "+AssetsVariable
	if directory == "" {
		directory, advice = filepath.Join(root, "bin", "k8s"), "type: make bin/k8s"
	}
	for _, program := range []string{"etcd", "kube-apiserver"} {
		path := filepath.Join(directory, program)
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("these tests need a real API server, but %s cannot be used (%w); %s", path, err, advice)
		}
	}
	return directory, nil
}

// RepositoryRoot is the directory that holds config/crd/bases. Tests run in their package's directory, so they find
// files of the project from here.
func RepositoryRoot() (string, error) {
	// The working directory decides, not the source file's name: with -trimpath that is an import path.
	directory, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(directory, "config", "crd", "bases")); err == nil {
			return directory, nil
		}
		parent := filepath.Dir(directory)
		if parent == directory {
			return "", errors.New("no config/crd/bases in the working directory or above it")
		}
		directory = parent
	}
}
