{{- /* Not empty if the chart may create cluster-scoped objects. */}}
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

{{- /* Spreads replicas across nodes. A constraint without labelSelector would match no pods, so it gets that of the replicas. */}}
{{- define "ipu-operator.topologySpread" -}}
{{- $replicas := dict "matchLabels" (include "ipu-operator.selectorLabels" (dict "root" . "component" "controller-manager") | fromYaml) -}}
{{- $spread := list (dict "maxSkew" 1 "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" "ScheduleAnyway") -}}
{{- $constraints := list -}}
{{- range .Values.controller.topologySpreadConstraints | default $spread -}}
{{- $constraints = append $constraints (hasKey . "labelSelector" | ternary . (set (deepCopy .) "labelSelector" $replicas)) -}}
{{- end -}}
{{- toYaml $constraints -}}
{{- end -}}

{{- /* The distinct ports of the V-IPU controllers. */}}
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

{{- /* `from` of a NetworkPolicy for connections from the nodes, which no selector can match. */}}
{{- define "ipu-operator.nodePeers" -}}
{{- range .Values.networkPolicy.nodeNetworks }}
- ipBlock:
    cidr: {{ . }}
{{- end -}}
{{- end -}}
