// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/web-operators/internal/credentials"
)

func one(name, password string) credentials.Files {
	return credentials.Files{credentials.UsernameKey: []byte(name), credentials.PasswordKey: []byte(password)}
}

func several(list string) credentials.Files {
	return credentials.Files{credentials.UsersKey: []byte(list)}
}

func TestParseUsers(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, test := range []struct {
		name  string
		files credentials.Files
		file  string // what memcached reads; empty if the Secret is refused
		key   string
		words string
	}{
		{name: "one", files: one("u", "p"), file: "u:p\n"},
		{name: "several", files: several("a:1\nb:2\n"), file: "a:1\nb:2\n"},
		{name: "no last newline", files: several("a:1\nb:2"), file: "a:1\nb:2\n"},
		{name: "Windows", files: several("a:1\r\nb:2\r\n"), file: "a:1\nb:2\n"},
		{name: "empty lines", files: several("\na:1\n\n\nb:2\n\n"), file: "a:1\nb:2\n"},
		{name: "an old and a new password", files: several("a:1\na:2"), file: "a:1\na:2\n"},
		{name: "anything in a password", files: one("u", "a:b%$ü"), file: "u:a:b%$ü\n"},
		{name: "eight", files: several(strings.Repeat("a:1\n", 8)), file: strings.Repeat("a:1\n", 8)},
		{name: "the longest", files: one("u", long[1:]), file: "u:" + long[1:] + "\n"},

		{name: "nothing", files: credentials.Files{}, key: credentials.UsernameKey, words: "missing"},
		{name: "no password", files: credentials.Files{credentials.UsernameKey: []byte("u")}, key: credentials.PasswordKey, words: "missing"},
		{name: "empty name", files: one("", "p"), key: credentials.UsernameKey, words: "no name"},
		{name: "empty password", files: one("u", ""), key: credentials.UsernameKey, words: "no password"},
		{name: "a second user in a password", files: one("u", "p\nadmin:x"), key: credentials.PasswordKey, words: "line break"},
		{name: "a second user in a name", files: one("admin:x\nu", "p"), key: credentials.UsernameKey, words: "line break"},
		{name: "a newline at the end", files: one("u", "p\n"), key: credentials.PasswordKey, words: "line break"},
		{name: "a colon in a name", files: one("u:x", "p"), key: credentials.UsernameKey, words: "colon"},
		{name: "a space in a name", files: one("u x", "p"), key: credentials.UsernameKey, words: "space"},
		{name: "a space in a password", files: one("u", "p x"), key: credentials.UsernameKey, words: "space"},
		{name: "an end in a password", files: one("u", "p\x00x"), key: credentials.UsernameKey, words: "control"},
		{name: "too long", files: one("u", long), key: credentials.UsernameKey, words: "200 bytes"},
		{name: "both forms", files: credentials.Files{credentials.UsersKey: []byte("a:1"), credentials.PasswordKey: []byte("p")}, key: credentials.UsersKey, words: "keep one"},
		{name: "an empty list", files: several(""), key: credentials.UsersKey, words: "empty"},
		{name: "a list of empty lines", files: several("\n\r\n"), key: credentials.UsersKey, words: "empty"},
		{name: "no colon", files: several("a:1\nsecret"), key: credentials.UsersKey, words: "user 2 is not name:password"},
		{name: "no name in a list", files: several("a:1\n:secret"), key: credentials.UsersKey, words: "user 2 has no name"},
		{name: "an old end of line", files: several("a:1\rb:2"), key: credentials.UsersKey, words: "control"},
		{name: "nine", files: several(strings.Repeat("a:1\n", 9)), key: credentials.UsersKey, words: "at most 8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			users, err := credentials.ParseUsers(test.files)
			if test.file != "" {
				if err != nil || string(users.File()) != test.file {
					t.Errorf("%q, %v", users.File(), err)
				}
				return
			}
			var wrong *credentials.KeyError
			if !errors.As(err, &wrong) || wrong.Key != test.key || !strings.Contains(wrong.Problem, test.words) {
				t.Errorf("%v", err)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error tells a password: %v", err)
			}
		})
	}
}

func TestDirectories(t *testing.T) {
	directory := t.TempDir()
	// As the kubelet does it.
	for version, password := range map[string]string{"..1": "old", "..2": "new"} {
		if err := os.Mkdir(filepath.Join(directory, version), 0o700); err != nil {
			t.Fatal(err)
		}
		for key, value := range one("u", password) {
			if err := os.WriteFile(filepath.Join(directory, version, key), value, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for version, want := range map[string]string{"..1": "old", "..2": "new"} {
		os.Remove(filepath.Join(directory, "..data"))
		if err := os.Symlink(version, filepath.Join(directory, "..data")); err != nil {
			t.Fatal(err)
		}
		access, err := credentials.Directories{Auth: directory}.Read()
		if err != nil || access.Client("a:1").Password != want || access.Client("a:1").TLS != nil {
			t.Errorf("%s: %+v, %v", version, access, err)
		}
	}
	if access, err := (credentials.Directories{}).Read(); err != nil || access.Client("a:1").User != "" {
		t.Errorf("%+v, %v", access, err)
	}
	for _, d := range []credentials.Directories{{Auth: t.TempDir()}, {TLS: t.TempDir()}} {
		if access, err := d.Read(); err == nil {
			t.Errorf("%+v is %+v", d, access)
		}
	}
}
