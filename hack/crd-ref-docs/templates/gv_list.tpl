{{- define "gvList" -}}
<!-- Generated from the types in api/ by `make docs-reference`. Do not edit. -->

# API reference

Every field of both APIs. `kubectl explain memcached.spec` prints the same from a cluster.
{{ range . }}{{ template "gvDetails" . }}
{{- end -}}
{{- end -}}
