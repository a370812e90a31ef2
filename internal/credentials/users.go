// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"fmt"
	"strings"
)

// Keys of the Secret with the users: one user, or several.
const (
	UsernameKey = "username"
	PasswordKey = "password"
	UsersKey    = "users"
)

// UsersKeys are all that may be in it.
var UsersKeys = []string{UsernameKey, PasswordKey, UsersKey}

const (
	// maxUsers is how many memcached reads; it forgets the others without a word.
	maxUsers = 8
	// maxUser is for the name and the password together. memcached takes what is beyond
	// 255 bytes of a line for the next one.
	maxUser = 200
)

// User is somebody that the nodes know.
type User struct {
	Name, Password string
}

// Users are all of them. A name may be there twice, with an old and a new password.
type Users []User

// ParseUsers reads the users, and checks that memcached will read the same.
func ParseUsers(files Files) (Users, error) {
	list, several := files[UsersKey]
	if !several {
		return parseOne(files)
	}
	for _, key := range []string{UsernameKey, PasswordKey} {
		if _, both := files[key]; both {
			return nil, &KeyError{UsersKey, "is there beside " + key + ": keep one of them"}
		}
	}
	var all Users
	for line := range bytes.Lines(list) {
		text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
		if text == "" {
			continue
		}
		name, password, ok := strings.Cut(text, ":")
		u := User{name, password}
		if problem := u.problem(); !ok || problem != "" {
			if !ok {
				problem = "is not name:password"
			}
			return nil, &KeyError{UsersKey, fmt.Sprintf("is wrong: user %d %s", len(all)+1, problem)}
		}
		all = append(all, u)
	}
	switch {
	case len(all) == 0:
		return nil, &KeyError{UsersKey, "is empty: write one name:password in each line"}
	case len(all) > maxUsers:
		return nil, &KeyError{UsersKey, fmt.Sprintf("has %d users, and memcached knows at most %d", len(all), maxUsers)}
	}
	return all, nil
}

func parseOne(files Files) (Users, error) {
	for _, key := range []string{UsernameKey, PasswordKey} {
		if _, ok := files[key]; !ok {
			return nil, &KeyError{key, fmt.Sprintf("is missing; a Secret has %s and %s, or %s", UsernameKey, PasswordKey, UsersKey)}
		}
		if bytes.ContainsAny(files[key], "\r\n") {
			return nil, &KeyError{key, "has a line break: make it without, such as with `printf %s`"}
		}
	}
	u := User{string(files[UsernameKey]), string(files[PasswordKey])}
	if problem := u.problem(); problem != "" {
		return nil, &KeyError{UsernameKey, "or " + PasswordKey + " is wrong: the user " + problem}
	}
	return Users{u}, nil
}

// problem is what memcached would read in another way, or a client could not say.
func (u User) problem() string {
	isControl := func(r rune) bool { return r < ' ' || r == 0x7f }
	switch {
	case u.Name == "":
		return "has no name"
	case u.Password == "":
		return "has no password"
	case strings.Contains(u.Name, ":"):
		return "has a colon in the name"
	case strings.Contains(u.Name+u.Password, " "):
		return "has a space in the name or the password, where memcached takes it for the end"
	case strings.ContainsFunc(u.Name+u.Password, isControl):
		return "has a control character in the name or the password"
	case len(u.Name)+len(u.Password) > maxUser:
		return fmt.Sprintf("has more than %d bytes in name and password", maxUser)
	default:
		return ""
	}
}

// File is what memcached reads. The last line must have an end: memcached would lose
// the last character of the password.
func (all Users) File() []byte {
	var file bytes.Buffer
	for _, u := range all {
		fmt.Fprintf(&file, "%s:%s\n", u.Name, u.Password)
	}
	return file.Bytes()
}
