// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"embed"
	"encoding/json"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

// One file per language: adding a language is adding a file.
//
//go:embed languages/*.json
var languageFiles embed.FS

// builtIn are the languages that the page brings.
var builtIn = func() languages {
	files, err := fs.Glob(languageFiles, "languages/*.json")
	if err != nil {
		panic(err)
	}
	byTag := map[language.Tag]Translation{}
	for _, file := range files {
		data, err := languageFiles.ReadFile(file)
		if err != nil {
			panic(err)
		}
		var t Translation
		if err := json.Unmarshal(data, &t); err != nil {
			panic(file + ": " + err.Error())
		}
		name := strings.TrimSuffix(strings.TrimPrefix(file, "languages/"), ".json")
		byTag[language.MustParse(name)] = t
	}
	return newLanguages(byTag)
}()

// languages are texts by language, and the way to the ones that suit a visitor.
type languages struct {
	tags    []language.Tag // English first: it is the answer when nothing suits
	texts   map[language.Tag]Translation
	matcher language.Matcher
}

func newLanguages(texts map[language.Tag]Translation) languages {
	tags := slices.SortedFunc(maps.Keys(texts), func(a, b language.Tag) int {
		if (a == language.English) != (b == language.English) {
			if a == language.English {
				return -1
			}
			return 1
		}
		return strings.Compare(a.String(), b.String())
	})
	return languages{tags: tags, texts: texts, matcher: language.NewMatcher(tags)}
}

// choose finds the language for an Accept-Language header.
func (l languages) choose(accept string) (language.Tag, Translation) {
	tag := l.tags[match(l.matcher, accept, 0)]
	return tag, l.texts[tag]
}

// match is the index of the language that suits an Accept-Language header, or otherwise
// when none does. A header that cannot be read is as good as none.
func match(matcher language.Matcher, accept string, otherwise int) int {
	wanted, _, err := language.ParseAcceptLanguage(accept)
	if err != nil {
		return otherwise
	}
	_, index, confidence := matcher.Match(wanted...)
	if confidence == language.No {
		return otherwise
	}
	return index
}

// with adds the user's own texts. Those of settings stand for every language that has
// no better words of its own.
func (l languages) with(s *Settings, own map[language.Tag]Translation) languages {
	texts := maps.Clone(l.texts)
	for tag := range own {
		// The closest built-in language, such as Simplified Chinese for zh-CN.
		_, texts[tag] = l.choose(tag.String())
	}
	for tag, text := range texts {
		text = text.overlaid(Translation{Title: s.Title, Message: s.Message})
		texts[tag] = text.overlaid(own[tag])
	}
	return newLanguages(texts)
}

// overlaid is t with every text that is not empty in over.
func (t Translation) overlaid(over Translation) Translation {
	to, from := reflect.ValueOf(&t).Elem(), reflect.ValueOf(over)
	for i := range from.NumField() {
		if text := clean(from.Field(i).String()); text != "" {
			to.Field(i).SetString(text)
		}
	}
	return t
}

// rightToLeft are the scripts in use today that are written so.
var rightToLeft = map[string]bool{
	"Adlm": true, "Arab": true, "Aran": true, "Hebr": true, "Mand": true, "Mend": true,
	"Nkoo": true, "Rohg": true, "Samr": true, "Syrc": true, "Thaa": true,
}

// direction is the value of HTML's dir.
func direction(tag language.Tag) string {
	if script, _ := tag.Script(); rightToLeft[script.String()] {
		return "rtl"
	}
	return "ltr"
}

// clean takes control characters out of a text, which a terminal would obey, and the
// white space around it. Line breaks and tabs stay.
func clean(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return '\n'
		case r < ' ' || (r >= 0x7f && r < 0xa0):
			return -1
		default:
			return r
		}
	}, text)
	return strings.TrimSpace(text)
}
