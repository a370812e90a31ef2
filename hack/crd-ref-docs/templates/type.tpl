{{- define "type" -}}
{{- $type := . -}}
{{- if markdownShouldRenderType $type }}
### {{ $type.Name }}

{{ $type.Doc | trim }}
{{ if $type.References }}
Used in:{{ range $i, $reference := $type.SortedReferences }}{{ if $i }},{{ end }} {{ markdownRenderTypeLink $reference }}{{ end }}
{{ end }}
{{- if $type.Members }}
| Field | Type | Default | Description |
| --- | --- | --- | --- |
{{ if $type.GVK -}}
| `apiVersion` | string | | `{{ $type.GVK.Group }}/{{ $type.GVK.Version }}` |
| `kind` | string | | `{{ $type.GVK.Kind }}` |
{{ end -}}
{{- range $type.Members -}}
| `{{ .Name }}`{{ if has "Required: {}" .Validation }}<br />required{{ end }} | {{ markdownRenderType .Type }} | {{ if and .Default (ne .Default "{  }") }}`{{ .Default }}`{{ end }} | {{ .Doc | trim | replace "\n" " " }} |
{{ end -}}
{{- end -}}
{{- if $type.EnumValues }}
| Value | Meaning |
| --- | --- |
{{ range $type.EnumValues -}}
| `{{ .Name }}` | {{ .Doc | trim | replace "\n" " " }} |
{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
