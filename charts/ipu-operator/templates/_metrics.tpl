{{- /* How the metrics are told: secure, plain or off, which YAML takes for false when it has no quotes. */}}
{{- define "ipu-operator.metricsMode" -}}
{{- $mode := .Values.metrics.mode | default "off" -}}
{{- if and (eq $mode "secure") .Values.controller.watchNamespace }}off{{ else }}{{ $mode }}{{ end -}}
{{- end -}}

{{- define "ipu-operator.metricsService" -}}
{{- include "ipu-operator.fullname" . }}-controller-manager-metrics
{{- end -}}

{{- /* What the series of this installation have in common, for alerts. */}}
{{- define "ipu-operator.series" -}}
namespace="{{ .Release.Namespace }}",job="{{ include "ipu-operator.metricsService" . }}"
{{- end -}}
