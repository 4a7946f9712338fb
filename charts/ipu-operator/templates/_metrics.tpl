{{- /* How the metrics are told: secure, plain or off. */}}
{{- define "ipu-operator.metricsMode" -}}
{{- if and (eq .Values.metrics.mode "secure") .Values.controller.watchNamespace }}off{{ else }}{{ .Values.metrics.mode }}{{ end -}}
{{- end -}}

{{- define "ipu-operator.metricsService" -}}
{{- include "ipu-operator.fullname" . }}-controller-manager-metrics
{{- end -}}

{{- /* What the series of this installation have in common, for alerts. */}}
{{- define "ipu-operator.series" -}}
namespace="{{ .Release.Namespace }}",job="{{ include "ipu-operator.metricsService" . }}"
{{- end -}}
