{{- /* Not empty when objects without a namespace may be made. */}}
{{- define "ipu-operator.clusterWide" -}}
{{- if not .Values.controller.watchNamespace }}yes{{ end -}}
{{- end -}}

{{- define "ipu-operator.priorityClassName" -}}
{{- if .Values.controller.priorityClassName -}}
{{- .Values.controller.priorityClassName -}}
{{- else if .Values.priorityClass.create -}}
{{- include "ipu-operator.clusterName" . -}}
{{- end -}}
{{- end -}}

{{- /* Replicas on different nodes, where there are several. */}}
{{- define "ipu-operator.topologySpread" -}}
{{- with .Values.controller.topologySpreadConstraints -}}
{{- toYaml . -}}
{{- else -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "ipu-operator.selectorLabels" (dict "root" . "component" "controller-manager") | nindent 6 }}
{{- end -}}
{{- end -}}

{{- /* The ports of the V-IPU controllers, each once. */}}
{{- define "ipu-operator.vipuPorts" -}}
{{- $ports := list -}}
{{- range include "ipu-operator.vipuControllers" . | fromYamlArray -}}
{{- $port := 8090 -}}
{{- if kindIs "string" . -}}
{{- with regexFind "^:[0-9]+" (regexReplaceAll "^(\\[[^\\]]*\\]|[^:]*)" . "") }}{{ $port = trimPrefix ":" . | int }}{{ end -}}
{{- else -}}
{{- $port = .port | default 8090 | int -}}
{{- end -}}
{{- $ports = append $ports $port -}}
{{- end -}}
{{- uniq $ports | sortAlpha | toJson -}}
{{- end -}}

{{- /* Connections from the nodes themselves: `from` of a NetworkPolicy that has no other way to name them. */}}
{{- define "ipu-operator.nodePeers" -}}
{{- range .Values.networkPolicy.nodeNetworks }}
- ipBlock:
    cidr: {{ . }}
{{- end -}}
{{- end -}}
