{{- /* secure, plain or off; YAML reads an unquoted off as false. */}}
{{- define "ipu-operator.metricsMode" -}}
{{- $mode := .Values.metrics.mode | default "off" -}}
{{- if and (eq $mode "secure") .Values.controller.watchNamespace }}off{{ else }}{{ $mode }}{{ end -}}
{{- end -}}

{{- define "ipu-operator.metricsService" -}}
{{- include "ipu-operator.fullname" . }}-controller-manager-metrics
{{- end -}}

{{- /* Label matchers of this installation's series, for alerts. */}}
{{- define "ipu-operator.series" -}}
namespace="{{ .Release.Namespace }}",job="{{ include "ipu-operator.metricsService" . }}"
{{- end -}}
