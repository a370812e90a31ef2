{{- define "gvDetails" -}}
{{- $gv := . }}
## {{ $gv.GroupVersionString }}

Kinds:{{ range $gv.SortedKinds }} {{ $gv.TypeForKind . | markdownRenderTypeLink }}{{ end }}
{{ range $gv.SortedTypes }}{{ template "type" . }}{{ end }}
{{- end -}}
