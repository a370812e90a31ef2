// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/testenv"
)

var env *testenv.Environment

func TestMain(m *testing.M) {
	testenv.Main(m, &env)
}

// memcached is the manifest of a Memcached with a spec in YAML's flow style.
func memcached(name, spec string) string {
	return fmt.Sprintf("apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: %s}\nspec: %s\n", name, spec)
}

func TestAdmission(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		name string // of the resource; "sample" when not given
		spec string
		want string // part of the message; accepted when empty
	}{
		"empty spec":                {spec: `{}`},
		"size 0":                    {spec: `{size: 0}`},
		"size null":                 {spec: `{size: null}`},
		"size negative":             {spec: `{size: -1}`, want: "spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0"},
		"size not a number":         {spec: `{size: many}`, want: "spec.size"},
		"unknown field":             {spec: `{sizes: 3}`, want: `unknown field "spec.sizes"`},
		"image empty":               {spec: `{image: ""}`, want: "spec.image"},
		"port 0":                    {spec: `{containerPort: 0}`, want: "spec.containerPort"},
		"port too high":             {spec: `{containerPort: 65536}`, want: "spec.containerPort"},
		"port highest":              {spec: `{containerPort: 65535}`},
		"workload StatefulSet":      {spec: `{workload: StatefulSet}`},
		"workload DaemonSet":        {spec: `{workload: DaemonSet}`, want: `supported values: "Deployment", "StatefulSet"`},
		"connections 0":             {spec: `{maxConnections: 0}`, want: "spec.maxConnections"},
		"threads 0":                 {spec: `{threads: 0}`, want: "spec.threads"},
		"threads 65":                {spec: `{threads: 65}`, want: "spec.threads"},
		"minReadySeconds negative":  {spec: `{minReadySeconds: -1}`, want: "spec.minReadySeconds"},
		"name of 52 characters":     {name: strings.Repeat("a", 52), spec: `{}`},
		"name of 53 characters":     {name: strings.Repeat("a", 53), spec: `{}`, want: "choose a shorter name"},
		"name that begins with 1":   {name: "1st", spec: `{}`, want: "metadata.name must start with a letter"},
		"name with a dot":           {name: "a.b", spec: `{}`, want: "metadata.name must start with a letter"},
		"memory 8Mi":                {spec: `{memory: 8Mi}`},
		"memory 100M":               {spec: `{memory: 100M}`},
		"memory as a plain number":  {spec: `{memory: 67108864}`},
		"memory without its unit":   {spec: `{memory: 64}`, want: "memory must be at least 8Mi"},
		"memory too small":          {spec: `{memory: 7Mi}`, want: "memory must be at least 8Mi"},
		"memory negative":           {spec: `{memory: -64Mi}`, want: "memory must be at least 8Mi"},
		"memory no quantity":        {spec: `{memory: lots}`, want: "spec.memory"},
		"item size half of memory":  {spec: `{memory: 8Mi, maxItemSize: 4Mi}`},
		"item size above half":      {spec: `{memory: 8Mi, maxItemSize: 4608Ki}`, want: "maxItemSize must be at most half of memory"},
		"item size above default":   {spec: `{maxItemSize: 33Mi}`, want: "maxItemSize must be at most half of memory"},
		"item size 1Ki":             {spec: `{maxItemSize: 1Ki}`},
		"item size 1024":            {spec: `{maxItemSize: 1024}`},
		"item size below 1Ki":       {spec: `{maxItemSize: 512}`, want: "maxItemSize must be from 1Ki to 1Gi"},
		"item size 0":               {spec: `{maxItemSize: 0}`, want: "maxItemSize must be from 1Ki to 1Gi"},
		"item size 1Gi":             {spec: `{memory: 2Gi, maxItemSize: 1Gi}`},
		"item size above 1Gi":       {spec: `{memory: 4Gi, maxItemSize: 1025Mi}`, want: "maxItemSize must be from 1Ki to 1Gi"},
		"item size 3Ki":             {spec: `{maxItemSize: 3Ki}`, want: "maxItemSize must be a multiple of 512Ki"},
		"item size 1M":              {spec: `{maxItemSize: 1M}`, want: "maxItemSize must be a multiple of 512Ki"},
		"item size not whole":       {spec: `{maxItemSize: "1024.5"}`, want: "maxItemSize must be a multiple of 512Ki"},
		"item size 1536Ki":          {spec: `{maxItemSize: 1536Ki}`},
		"memory limit larger":       {spec: `{resources: {limits: {memory: 128Mi}}}`},
		"memory limit equal":        {spec: `{resources: {limits: {memory: 64Mi}}}`, want: "resources.limits.memory must be larger than memory"},
		"CPU limit alone":           {spec: `{resources: {limits: {cpu: 1}, requests: {memory: 70Mi}}}`},
		"resource claims":           {spec: `{resources: {claims: [{name: gpu}]}}`, want: "resources.claims is not supported"},
		"tls":                       {spec: `{tls: {secretName: cert, clientAuth: Require}}`},
		"tls without Secret":        {spec: `{tls: {clientAuth: Require}}`, want: "spec.tls.secretName: Required value"},
		"tls with an empty name":    {spec: `{tls: {secretName: ""}}`, want: "spec.tls.secretName"},
		"tls with another mode":     {spec: `{tls: {secretName: cert, clientAuth: Maybe}}`, want: "spec.tls.clientAuth"},
		"auth":                      {spec: `{auth: {secretName: users}}`},
		"auth without Secret":       {spec: `{auth: {}}`, want: "spec.auth.secretName: Required value"},
		"ClusterIP":                 {spec: `{service: {type: ClusterIP}}`},
		"ClusterIP and StatefulSet": {spec: `{service: {type: ClusterIP}, workload: StatefulSet}`, want: "set service.type to Headless"},
		"NodePort":                  {spec: `{service: {type: NodePort}}`, want: "spec.service.type"},
		"discovery":                 {spec: `{discovery: {}}`},
		"discovery ports equal":     {spec: `{discovery: {port: 9000, httpPort: 9000}}`, want: "discovery.port and discovery.httpPort must differ"},
		"discovery and monitoring":  {spec: `{discovery: {}, monitoring: {}}`},
		"service monitor":           {spec: `{monitoring: {serviceMonitor: {labels: {release: prometheus}}}}`},
		"disruption":                {spec: `{disruption: {}}`},
		"disruption 50%":            {spec: `{disruption: {maxUnavailable: "50%"}}`},
		"disruption 0":              {spec: `{disruption: {maxUnavailable: 0}}`, want: "maxUnavailable must be a number of at least 1"},
		"disruption 0%":             {spec: `{disruption: {maxUnavailable: "0%"}}`, want: "maxUnavailable must be a number of at least 1"},
		"disruption as text":        {spec: `{disruption: {maxUnavailable: "1"}}`, want: "maxUnavailable must be a number of at least 1"},
		"network policy":            {spec: `{networkPolicy: {from: [{podSelector: {matchLabels: {app: web}}}]}}`},
		"warmup":                    {spec: `{warmup: {}, workload: StatefulSet}`},
		"warmup with a Deployment":  {spec: `{warmup: {}}`, want: "warmup needs workload StatefulSet"},
		"warmup above 100":          {spec: `{warmup: {hitRatePercent: 101}, workload: StatefulSet}`, want: "spec.warmup.hitRatePercent"},
		"flush":                     {spec: `{flush: {token: "2030-01-31", pauseSeconds: 0}}`},
		"flush without token":       {spec: `{flush: {}}`, want: "spec.flush.token: Required value"},
		"pod labels":                {spec: `{podMetadata: {labels: {team: web}, annotations: {a: b}}}`},
		"pod label app":             {spec: `{podMetadata: {labels: {app: web}}}`, want: "use another label"},
		"pod label memcached_cr":    {spec: `{podMetadata: {labels: {memcached_cr: web}}}`, want: "use another label"},
		"scheduling": {spec: `{nodeSelector: {disk: ssd}, tolerations: [{operator: Exists}], priorityClassName: high,
			affinity: {nodeAffinity: {}}, imagePullSecrets: [{name: pull}], serviceAccountName: cache,
			topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}`},
	}
	for description, test := range tests {
		t.Run(description, func(t *testing.T) {
			t.Parallel()
			if test.name == "" {
				test.name = "sample"
			}
			_, err := env.Admit(t.Context(), memcached(test.name, test.spec))
			checkAnswer(t, err, test.want)
		})
	}
}

func TestExtraArgs(t *testing.T) {
	t.Parallel()
	tests := map[string]string{ // the arguments, and part of the message; accepted when empty
		`[]`:                          "",
		`["-o", "modern", "-v"]`:      "",
		`["-vv", "-R", "40"]`:         "",
		`["-o", "hashpower=20"]`:      "",
		`["--max-reqs-per-event=40"]`: "",
		`["--listen-backlog=2048"]`:   "",
		`["--disable-cas"]`:           "",
		`["--verbose"]`:               "",
		`["-F", "-X", "-n", "96"]`:    "",
		`["-m", "64"]`:                "set spec.memory",
		`["-m64"]`:                    "set spec.memory",
		`["-m=64"]`:                   "set spec.memory",
		`["-vm64"]`:                   "set spec.memory",
		`["--memory-limit=64"]`:       "set spec.memory",
		`["--memory-l", "64"]`:        "set spec.memory",
		`["-v", "-p", "1"]`:           "spec.extraArgs[1]",
		`["-p1"]`:                     "set spec.containerPort",
		`["--port=1"]`:                "set spec.containerPort",
		`["-c", "1"]`:                 "set spec.maxConnections",
		`["--conn-limit=1"]`:          "set spec.maxConnections",
		`["-t1"]`:                     "set spec.threads",
		`["--threads", "1"]`:          "set spec.threads",
		`["-I", "2m"]`:                "set spec.maxItemSize",
		`["--max-item-size=2m"]`:      "set spec.maxItemSize",
		`["-Z"]`:                      "set spec.tls",
		`["-vZ"]`:                     "set spec.tls",
		`["--enable-ssl"]`:            "set spec.tls",
		`["-o", "ssl_key=/x"]`:        "set spec.tls",
		`["-o", "modern,ssl_key=/x"]`: "set spec.tls",
		`["-ossl_key=/x"]`:            "set spec.tls",
		`["-Y", "/x"]`:                "set spec.auth",
		`["--auth-file=/x"]`:          "set spec.auth",
		`["-S"]`:                      "set spec.auth",
		`["--enable-sasl"]`:           "set spec.auth",
		`["-U", "11211"]`:             "listens on spec.containerPort only",
		`["--udp-port=1"]`:            "listens on spec.containerPort only",
		`["-l", "notls:0.0.0.0"]`:     "listens on spec.containerPort only",
		`["--listen=0.0.0.0"]`:        "listens on spec.containerPort only",
		`["--listen", "0.0.0.0"]`:     "listens on spec.containerPort only",
		`["-s", "/x"]`:                "listens on spec.containerPort only",
		`["--unix-socket=/x"]`:        "listens on spec.containerPort only",
		`["-a", "700"]`:               "listens on spec.containerPort only",
		`["-B", "binary"]`:            "listens on spec.containerPort only",
		`["--protocol=binary"]`:       "listens on spec.containerPort only",
		`["-d"]`:                      "runs in the foreground",
		`["-vd"]`:                     "runs in the foreground",
		`["--daemon"]`:                "runs in the foreground",
		`["-u", "root"]`:              "runs in the foreground",
		`["--user=root"]`:             "runs in the foreground",
		`["-P", "/x"]`:                "runs in the foreground",
		`["-h"]`:                      "runs in the foreground",
		`["-V"]`:                      "runs in the foreground",
		`["--version"]`:               "runs in the foreground",
		`["--license"]`:               "runs in the foreground",
		`["-e", "/x"]`:                "see spec.memory",
		`["--memory-file=/x"]`:        "see spec.memory",
		`["--"]`:                      "would ignore every argument",
		`[""]`:                        "spec.extraArgs[0]",
	}
	for args, want := range tests {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			_, err := env.Admit(t.Context(), memcached("sample", "{extraArgs: "+args+"}"))
			checkAnswer(t, err, want)
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

// TestSeedManifests applies what the documents that this API comes from tell their readers to apply, and our samples.
func TestSeedManifests(t *testing.T) {
	t.Parallel()
	manifests, err := filepath.Glob("testdata/seeds/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	manifests = append(manifests, "../../../config/samples/cache_v1alpha1_memcached.yaml")
	if len(manifests) < 5 {
		t.Fatalf("only %d manifests found", len(manifests))
	}
	for _, path := range manifests {
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
	for _, manifest := range []string{
		"apiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: no-spec}\n",
		memcached("empty-spec", "{}"),
		memcached("null-size", "{size: null}"),
	} {
		stored, err := env.Admit(t.Context(), manifest)
		if err != nil {
			t.Fatal(err)
		}
		var m v1alpha1.Memcached
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, &m); err != nil {
			t.Fatal(err)
		}
		if m.Spec.Size == nil || *m.Spec.Size != 1 {
			t.Errorf("%s: size is %v, want 1", m.Name, m.Spec.Size)
		}
		got := fmt.Sprint(m.Spec.ContainerPort, m.Spec.Workload, m.Spec.Memory.String(), m.Spec.MaxConnections,
			m.Spec.Threads, m.Spec.MaxItemSize.String(), m.Spec.Service.Type)
		want := fmt.Sprint(int32(11211), v1alpha1.WorkloadDeployment, "64Mi", int32(1024), int32(4), "1Mi", v1alpha1.ServiceHeadless)
		if got != want {
			t.Errorf("%s: defaults are %s, want %s", m.Name, got, want)
		}
		if m.Spec.TLS != nil || m.Spec.Auth != nil || m.Spec.Discovery != nil || m.Spec.Monitoring != nil ||
			m.Spec.Disruption != nil || m.Spec.NetworkPolicy != nil || m.Spec.Warmup != nil || m.Spec.Flush != nil {
			t.Errorf("%s: an optional block is there without being asked for: %+v", m.Name, m.Spec)
		}
	}
}

// TestSizeZeroSurvivesTypedClients guards against the zero being left out of the JSON, which the API server
// would turn into the default.
func TestSizeZeroSurvivesTypedClients(t *testing.T) {
	t.Parallel()
	zero := int32(0)
	m := &v1alpha1.Memcached{Spec: v1alpha1.MemcachedSpec{Size: &zero}}
	m.Name, m.Namespace = "zero", "default"
	if err := env.Client.Create(t.Context(), m, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if *m.Spec.Size != 0 {
		t.Errorf("size is %d, want 0", *m.Spec.Size)
	}
}

// TestChanges walks a stored resource through what users do to it: the scale subresource, the merge patch of the
// documents, another workload, and the status.
func TestChanges(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	three := int32(3)
	m := &v1alpha1.Memcached{Spec: v1alpha1.MemcachedSpec{Size: &three}}
	m.Name, m.Namespace = "changes", "default"
	if err := env.Client.Create(ctx, m); err != nil {
		t.Fatal(err)
	}

	m.Status = v1alpha1.MemcachedStatus{Size: 2, Selector: "app=memcached,memcached_cr=changes", Ready: "2/3", Phase: v1alpha1.PhaseUpdating}
	if err := env.Client.Status().Update(ctx, m); err != nil {
		t.Fatal(err)
	}
	scale := &autoscalingv1.Scale{}
	if err := env.Client.SubResource("scale").Get(ctx, m, scale); err != nil {
		t.Fatal(err)
	}
	if scale.Spec.Replicas != 3 || scale.Status.Replicas != 2 || scale.Status.Selector != m.Status.Selector {
		t.Errorf("scale is %+v %+v", scale.Spec, scale.Status)
	}
	scale.Spec.Replicas = 4
	if err := env.Client.SubResource("scale").Update(ctx, m, client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
	if err := env.Client.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
		t.Fatal(err)
	}
	if *m.Spec.Size != 4 {
		t.Errorf("size is %d after scaling, want 4", *m.Spec.Size)
	}

	for patch, want := range map[string]string{
		`{"spec":{"size": 5}}`:                                    "",
		`{"spec":{"size": -5}}`:                                   "greater than or equal to 0",
		`{"spec":{"workload": "StatefulSet"}}`:                    "",
		`{"spec":{"memory": "1Mi"}}`:                              "memory must be at least 8Mi",
		`{"spec":{"tls": {"clientAuth": "Require"}}}`:             "spec.tls.secretName: Required value",
		`{"spec":{"containerPort": 11212, "image": "memcached"}}`: "",
	} {
		err := env.Client.Patch(ctx, m.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch)), client.DryRunAll)
		checkAnswer(t, err, want)
	}

	m.Status.Phase = "Confused"
	checkAnswer(t, env.Client.Status().Update(ctx, m), "status.phase")
}
