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

{{- /* Replicas on different nodes, where there are several. A constraint that names no pods is about the replicas: it would count none. */}}
{{- define "ipu-operator.topologySpread" -}}
{{- $replicas := dict "matchLabels" (include "ipu-operator.selectorLabels" (dict "root" . "component" "controller-manager") | fromYaml) -}}
{{- $spread := list (dict "maxSkew" 1 "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" "ScheduleAnyway") -}}
{{- $constraints := list -}}
{{- range .Values.controller.topologySpreadConstraints | default $spread -}}
{{- $constraints = append $constraints (hasKey . "labelSelector" | ternary . (set (deepCopy .) "labelSelector" $replicas)) -}}
{{- end -}}
{{- toYaml $constraints -}}
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
