// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/testenv"
)

var env *testenv.Environment

func TestMain(m *testing.M) {
	testenv.Main(m, &env)
}

// maintPage is the manifest of a MaintPage with a spec in YAML's flow style.
func maintPage(name, spec string) string {
	return fmt.Sprintf("apiVersion: maintpage.example.com/v1alpha1\nkind: MaintPage\nmetadata: {name: %s}\nspec: %s\n", name, spec)
}

const app = `appconfig: {appname: shop, appimage: shop:1}`

func TestAdmission(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		name string // of the resource; "sample" when not given
		spec string
		want string // part of the message; accepted when empty
	}{
		"built-in page":              {spec: `{` + app + `}`},
		"toggle alone":               {spec: `{maintpageconfig: {maintpagetoggle: true}, ` + app + `}`},
		"toggle null":                {spec: `{maintpageconfig: {maintpagetoggle: null}, ` + app + `}`},
		"own image":                  {spec: `{maintpageconfig: {maintpageimage: page:1}, ` + app + `}`},
		"own image, empty":           {spec: `{maintpageconfig: {maintpageimage: ""}, ` + app + `}`, want: "spec.maintpageconfig.maintpageimage"},
		"no spec":                    {spec: `null`, want: "spec: Required value"},
		"no application":             {spec: `{}`, want: "spec.appconfig: Required value"},
		"no appname":                 {spec: `{appconfig: {appimage: shop:1}}`, want: "spec.appconfig.appname: Required value"},
		"no appimage":                {spec: `{appconfig: {appname: shop}}`, want: "appconfig.appimage is required: set it, or set adopt to true"},
		"appname as the resource":    {name: "shop", spec: `{` + app + `}`, want: "appname must differ from metadata.name"},
		"appname of the page":        {name: "a", spec: `{appconfig: {appname: a-maintpage, appimage: shop:1}}`, want: "appname must not begin with metadata.name followed by -maintpage"},
		"appname with a digit first": {spec: `{appconfig: {appname: 1shop, appimage: shop:1}}`, want: "appname must start with a letter"},
		"appname with a dot":         {spec: `{appconfig: {appname: my.shop, appimage: shop:1}}`, want: "appname must start with a letter"},
		"appname too long":           {spec: `{appconfig: {appname: ` + strings.Repeat("a", 64) + `, appimage: shop:1}}`, want: "spec.appconfig.appname"},
		"name of 49 characters":      {name: strings.Repeat("a", 49), spec: `{` + app + `}`},
		"name of 50 characters":      {name: strings.Repeat("a", 50), spec: `{` + app + `}`, want: "choose a shorter name"},
		"name with a dot":            {name: "a.b", spec: `{` + app + `}`, want: "metadata.name must start with a letter"},
		"port and replicas":          {spec: `{appconfig: {appname: shop, appimage: shop:1, port: 80, replicas: 3}}`},
		"port 0":                     {spec: `{appconfig: {appname: shop, appimage: shop:1, port: 0}}`, want: "spec.appconfig.port"},
		"port too high":              {spec: `{appconfig: {appname: shop, appimage: shop:1, port: 65536}}`, want: "spec.appconfig.port"},
		"replicas 0":                 {spec: `{appconfig: {appname: shop, appimage: shop:1, replicas: 0}}`, want: "spec.appconfig.replicas"},
		"unknown field":              {spec: `{maintpageToggle: true, ` + app + `}`, want: `unknown field "spec.maintpageToggle"`},

		"adopt":              {spec: `{adopt: true, appconfig: {appname: shop}}`},
		"adopt and appimage": {spec: `{adopt: true, ` + app + `}`, want: "remove appconfig.appimage"},
		"adopt and replicas": {spec: `{adopt: true, appconfig: {appname: shop, replicas: 2}}`, want: "remove appconfig.replicas"},
		"adopt and port":     {spec: `{adopt: true, appconfig: {appname: shop, port: 80}}`, want: "remove appconfig.port"},

		"page":                    {spec: `{page: {title: Back soon, message: We move, contact: help@example.com, retryAfterSeconds: 60, replicas: 2}, ` + app + `}`},
		"page html":               {spec: `{page: {html: <p>}, ` + app + `}`},
		"page from ConfigMap":     {spec: `{page: {configMapRef: {name: page}}, ` + app + `}`},
		"page with two sources":   {spec: `{page: {html: <p>, configMapRef: {name: page}}, ` + app + `}`, want: "page.html and page.configMapRef cannot both be set"},
		"page ConfigMap nameless": {spec: `{page: {configMapRef: {}}, ` + app + `}`, want: "spec.page.configMapRef.name: Required value"},
		"page replicas 0":         {spec: `{page: {replicas: 0}, ` + app + `}`, want: "spec.page.replicas"},
		"page replicas 11":        {spec: `{page: {replicas: 11}, ` + app + `}`, want: "spec.page.replicas"},
		"page retry 0":            {spec: `{page: {retryAfterSeconds: 0}, ` + app + `}`, want: "spec.page.retryAfterSeconds"},
		"image and replicas":      {spec: `{maintpageconfig: {maintpageimage: page:1}, page: {replicas: 2}, ` + app + `}`},
		"image and title":         {spec: `{maintpageconfig: {maintpageimage: page:1}, page: {title: Hi}, ` + app + `}`, want: "brings its own page"},
		"image and html":          {spec: `{maintpageconfig: {maintpageimage: page:1}, page: {html: <p>}, ` + app + `}`, want: "brings its own page"},
		"image and retry":         {spec: `{maintpageconfig: {maintpageimage: page:1}, page: {retryAfterSeconds: 9}, ` + app + `}`, want: "brings its own page"},

		"drain 0":             {spec: `{drainSeconds: 0, ` + app + `}`},
		"drain negative":      {spec: `{drainSeconds: -1, ` + app + `}`, want: "spec.drainSeconds"},
		"scale to zero":       {spec: `{onPublish: ScaleToZero, ` + app + `}`},
		"onPublish unknown":   {spec: `{onPublish: Delete, ` + app + `}`, want: "spec.onPublish"},
		"outage":              {spec: `{publishOnOutage: {}, ` + app + `}`},
		"outage after 0":      {spec: `{publishOnOutage: {afterSeconds: 0}, ` + app + `}`, want: "spec.publishOnOutage.afterSeconds"},
		"outage return after": {spec: `{publishOnOutage: {returnAfterSeconds: 3601}, ` + app + `}`, want: "spec.publishOnOutage.returnAfterSeconds"},
	}
	for description, test := range tests {
		t.Run(description, func(t *testing.T) {
			t.Parallel()
			if test.name == "" {
				test.name = "sample"
			}
			_, err := env.Admit(t.Context(), maintPage(test.name, test.spec))
			checkAnswer(t, err, test.want)
		})
	}
}

func TestScheduleAdmission(t *testing.T) {
	t.Parallel()
	cron := func(expression string) string {
		return fmt.Sprintf(`{name: w, cron: {expression: %q, duration: 1h}}`, expression)
	}
	tests := map[string]struct {
		windows string
		want    string // part of the message; accepted when empty
	}{
		"none":              {windows: ``, want: "spec.schedule.windows"},
		"once":              {windows: `{name: w, once: {start: "2030-01-31T22:00:00+01:00", end: "2030-02-01T00:00:00+01:00"}}`},
		"once, other zones": {windows: `{name: w, once: {start: "2030-01-31T22:00:00+01:00", end: "2030-01-31T21:30:00Z"}}`},
		"once, reversed":    {windows: `{name: w, once: {start: "2030-01-31T22:00:00Z", end: "2030-01-31T21:00:00Z"}}`, want: "end must be after start"},
		"once, empty":       {windows: `{name: w, once: {start: "2030-01-31T22:00:00Z", end: "2030-01-31T22:00:00Z"}}`, want: "end must be after start"},
		"once, endless":     {windows: `{name: w, once: {start: "2030-01-31T22:00:00Z"}}`, want: "once.end: Required value"},
		"once, no time":     {windows: `{name: w, once: {start: tonight, end: "2030-01-31T22:00:00Z"}}`, want: "once.start"},
		"cron":              {windows: cron("0 2 * * SUN")},
		"cron, steps":       {windows: cron("*/15 8-18 1,15 * 1-5")},
		"cron, macro":       {windows: cron("@daily")},
		"cron, four fields": {windows: cron("0 2 * *"), want: "five fields of cron"},
		"cron, six fields":  {windows: cron("0 0 2 * * *"), want: "five fields of cron"},
		"cron, words":       {windows: cron("every sunday at two"), want: "five fields of cron"},
		"cron, zone inside": {windows: cron("TZ=UTC 0 2 * *"), want: "field of its own, timeZone"},
		"cron, @every":      {windows: cron("@every 1h"), want: "five fields of cron"},
		"zone":              {windows: `{name: w, cron: {expression: "@daily", timeZone: America/Argentina/Buenos_Aires, duration: 1h}}`},
		"zone Etc":          {windows: `{name: w, cron: {expression: "@daily", timeZone: Etc/GMT+1, duration: 1h}}`},
		"zone Local":        {windows: `{name: w, cron: {expression: "@daily", timeZone: Local, duration: 1h}}`, want: "IANA name"},
		"zone path":         {windows: `{name: w, cron: {expression: "@daily", timeZone: ../etc/passwd, duration: 1h}}`, want: "IANA name"},
		"duration missing":  {windows: `{name: w, cron: {expression: "@daily"}}`, want: "cron.duration: Required value"},
		"duration short":    {windows: `{name: w, cron: {expression: "@daily", duration: 59s}}`, want: "duration must be from 1m to 168h"},
		"duration long":     {windows: `{name: w, cron: {expression: "@daily", duration: 169h}}`, want: "duration must be from 1m to 168h"},
		"duration mixed":    {windows: `{name: w, cron: {expression: "@daily", duration: 1h30m}}`},
		"duration as words": {windows: `{name: w, cron: {expression: "@daily", duration: 2 hours}}`, want: "cron.duration"},
		"neither":           {windows: `{name: w}`, want: "exactly one of once and cron"},
		"both": {windows: `{name: w, once: {start: "2030-01-31T22:00:00Z", end: "2030-01-31T23:00:00Z"},
			cron: {expression: "@daily", duration: 1h}}`, want: "exactly one of once and cron"},
		"nameless":   {windows: `{cron: {expression: "@daily", duration: 1h}}`, want: "name: Required value"},
		"odd name":   {windows: `{name: My Window, cron: {expression: "@daily", duration: 1h}}`, want: "a window's name must consist of"},
		"same names": {windows: cron("@daily") + "," + cron("@weekly"), want: "Duplicate value"},
	}
	for description, test := range tests {
		t.Run(description, func(t *testing.T) {
			t.Parallel()
			_, err := env.Admit(t.Context(), maintPage("sample", `{schedule: {windows: [`+test.windows+`]}, `+app+`}`))
			checkAnswer(t, err, test.want)
		})
	}
}

// checkAnswer fails the test when the API server's answer is not the one wanted: a message that holds want, or
// acceptance when want is empty.
func checkAnswer(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("accepted, want a refusal with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("refused with another message\ngot:  %v\nwant: %s", err, want)
	}
}

// TestSeedManifests applies what the document that this API comes from tells its readers to apply, and our sample.
func TestSeedManifests(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"testdata/seeds/004-create.yaml", "../../../config/samples/maintpage_v1alpha1_maintpage.yaml"} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			manifest, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := env.Admit(t.Context(), string(manifest)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	stored, err := env.Admit(t.Context(), maintPage("sample", `{publishOnOutage: {}, page: {configMapRef: {name: page}},
		schedule: {windows: [{name: w, cron: {expression: "@daily", duration: 1h}}]}, `+app+`}`))
	if err != nil {
		t.Fatal(err)
	}
	var m v1alpha1.MaintPage
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, &m); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(m.Spec.MaintPageConfig.MaintPageToggle, m.Spec.Adopt, m.Spec.OnPublish, *m.Spec.DrainSeconds, m.Spec.Page.Replicas,
		m.Spec.Page.ConfigMapRef.Key, m.Spec.Schedule.Windows[0].Cron.TimeZone, m.Spec.PublishOnOutage.AfterSeconds, m.Spec.PublishOnOutage.ReturnAfterSeconds)
	want := fmt.Sprint(false, false, v1alpha1.OnPublishKeep, 30, 1, "index.html", "UTC", 30, 60)
	if got != want {
		t.Errorf("defaults are %s, want %s", got, want)
	}
	if m.Spec.AppConfig.Replicas != nil {
		t.Errorf("replicas is %d without being given, which would fight an autoscaler", *m.Spec.AppConfig.Replicas)
	}
}

// TestChanges walks a stored resource through what users and the operator do to it.
func TestChanges(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m := &v1alpha1.MaintPage{Spec: v1alpha1.MaintPageSpec{AppConfig: v1alpha1.AppConfig{AppName: "shop", AppImage: "shop:1"}}}
	m.Name, m.Namespace = "changes", "default"
	if err := env.Client.Create(ctx, m); err != nil {
		t.Fatal(err)
	}

	for patch, want := range map[string]string{
		`{"spec":{"maintpageconfig":{"maintpagetoggle":true}}}`:             "",
		`{"spec":{"appconfig":{"appimage":"shop:2"}}}`:                      "",
		`{"spec":{"appconfig":{"appname":"store"}}}`:                        "appname cannot be changed",
		`{"spec":{"adopt":true,"appconfig":{"appimage":null}}}`:             "",
		`{"spec":{"maintpageconfig":{"maintpageimage":"page:1"}}}`:          "",
		`{"spec":{"maintpageconfig":null}}`:                                 "",
		`{"spec":{"page":null,"schedule":null,"publishOnOutage":{}}}`:       "",
		`{"spec":{"schedule":{"suspend":true,"windows":[{"name":"new"}]}}}`: "exactly one of once and cron",
	} {
		err := env.Client.Patch(ctx, m.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch)), client.DryRunAll)
		checkAnswer(t, err, want)
	}

	for _, status := range []v1alpha1.MaintPublishStatus{v1alpha1.StatusPublished, v1alpha1.StatusNotPublished} {
		m.Status.MaintPublishStatus = status
		if err := env.Client.Status().Update(ctx, m); err != nil {
			t.Error(err)
		}
	}
	m.Status.MaintPublishStatus = "published"
	checkAnswer(t, env.Client.Status().Update(ctx, m), "status.maintpublishstatus")

	m.Status = v1alpha1.MaintPageStatus{}
	for len(m.Status.History) < v1alpha1.HistoryLimit {
		m.Status.History = append(m.Status.History, v1alpha1.Switch{
			To: v1alpha1.StatusPublished, Cause: v1alpha1.CauseOutage, StartTime: metav1.NewTime(time.Unix(1, 0)),
		})
	}
	checkAnswer(t, env.Client.Status().Update(ctx, m), "")
	m.Status.History = append(m.Status.History, m.Status.History[0])
	checkAnswer(t, env.Client.Status().Update(ctx, m), "status.history: Too many")
}
