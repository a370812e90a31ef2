// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"reflect"
	"strings"
	"testing"

	"golang.org/x/text/language"
)

func TestBuiltInLanguagesAreComplete(t *testing.T) {
	for _, tag := range []string{"en", "ja", "ko", "zh-Hans", "de", "fr", "es", "pt"} {
		if _, ok := builtIn.texts[language.MustParse(tag)]; !ok {
			t.Errorf("%s is missing", tag)
		}
	}
	for tag, text := range builtIn.texts {
		fields := reflect.ValueOf(text)
		for i := range fields.NumField() {
			if got := fields.Field(i).String(); got == "" || got != clean(got) {
				t.Errorf("%s: %s is empty or has white space around it: %q", tag, fields.Type().Field(i).Name, got)
			}
		}
	}
}

func TestLanguageOfTheAnswer(t *testing.T) {
	own := &Settings{Translations: map[string]Translation{
		"nl":     {Title: "nl title"},
		"ja":     {Title: "ja title"},
		"zh-CN":  {Title: "zh-CN title"},
		"ar":     {Message: "ar message"},
		"no tag": {Title: "left out"},
		"und":    {Title: "left out too"},
	}}
	for _, c := range []struct {
		name, accept string
		settings     *Settings
		want         string
		says         []string
	}{
		{"nothing said", "", &Settings{}, "en", []string{"We’ll be back soon"}},
		{"any", "*", &Settings{}, "en", nil},
		{"unknown", "tlh", &Settings{}, "en", nil},
		{"unreadable", "%%%", &Settings{}, "en", nil},
		{"Japanese", "ja-JP,ja;q=0.9,en;q=0.8", &Settings{}, "ja", []string{"メンテナンス"}},
		{"Korean", "ko", &Settings{}, "ko", []string{"점검"}},
		{"Austrian German", "de-AT", &Settings{}, "de", []string{"Wartungsarbeiten"}},
		{"Mexican Spanish", "es-MX", &Settings{}, "es", nil},
		{"Swiss French", "fr-CH, fr;q=0.9", &Settings{}, "fr", nil},
		{"Brazilian", "pt-BR", &Settings{}, "pt", nil},
		{"of Portugal", "pt-PT", &Settings{}, "pt", nil},
		{"Chinese of the mainland", "zh-CN", &Settings{}, "zh-Hans", []string{"系统"}},
		{"Chinese of Taiwan", "zh-TW", &Settings{}, "zh-Hant", []string{"系統"}},
		{"the best of several", "tlh, nl;q=0.3, fr;q=0.7, de;q=0.5", &Settings{}, "fr", nil},
		{"refused", "de;q=0, fr;q=0.1", &Settings{}, "fr", nil},
		{"own language", "nl-BE", own, "nl", []string{"nl title", "We are carrying out"}},
		{"own words", "ja", own, "ja", []string{"ja title", "ご不便"}},
		{"own words, a variant", "zh-CN", own, "zh-CN", []string{"zh-CN title", "我们正在"}},
		{"own message only", "ar", own, "ar", []string{"We’ll be back soon", "ar message"}},
		{"own title for all", "de", &Settings{Title: "mine"}, "de", []string{"mine", "Wartungsarbeiten"}},
		{
			"a translation is better", "de",
			&Settings{Title: "mine", Message: "my message", Translations: map[string]Translation{"de": {Title: "meiner"}}},
			"de", []string{"meiner", "my message"},
		},
	} {
		answer := ask(t, with(t, c.settings), "GET", "Accept-Language", c.accept)
		if got := answer.Header().Get("Content-Language"); got != c.want {
			t.Errorf("%s: %q gets %s, not %s", c.name, c.accept, got, c.want)
		}
		for _, words := range c.says {
			if !strings.Contains(answer.Body.String(), words) {
				t.Errorf("%s: not %q but\n%s", c.name, words, answer.Body)
			}
		}
		if strings.Contains(answer.Body.String(), "left out") {
			t.Errorf("%s: a translation without a language is served", c.name)
		}
	}
}

func TestDirection(t *testing.T) {
	for tag, want := range map[string]string{
		"en": "ltr", "ja": "ltr", "ar": "rtl", "he": "rtl", "fa-IR": "rtl", "ur": "rtl", "az": "ltr", "az-Arab": "rtl", "dv": "rtl", "yi": "rtl",
	} {
		if got := direction(language.MustParse(tag)); got != want {
			t.Errorf("%s is %s, not %s", tag, got, want)
		}
	}
}
