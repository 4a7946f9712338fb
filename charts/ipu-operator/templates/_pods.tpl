{{- define "ipu-operator.restrictedPod" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "ipu-operator.restrictedContainer" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* Merges security contexts: {under, over}. A field that is null is left to the cluster, as OpenShift requires. */}}
{{- define "ipu-operator.securityContext" -}}
{{- $fields := .under | fromYaml -}}
{{- range $field, $value := .over | default dict -}}
{{- if kindIs "invalid" $value -}}
{{- $_ := unset $fields $field -}}
{{- else if kindIs "map" $value -}}
{{- $_ := set $fields $field (mustMergeOverwrite (get $fields $field | default dict) (deepCopy $value)) -}}
{{- else -}}
{{- $_ := set $fields $field $value -}}
{{- end -}}
{{- end -}}
{{- toYaml $fields -}}
{{- end -}}

{{- /* Common fields of all pods with the operator's image, including hook pods: pull secrets, user and placement. */}}
{{- define "ipu-operator.ownPod" -}}
{{- with .Values.global.imagePullSecrets -}}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{ end -}}
securityContext:
  {{- include "ipu-operator.securityContext" (dict
    "under" (include "ipu-operator.restrictedPod" .) "over" .Values.controller.podSecurityContext) | nindent 2 }}
{{- range $field := list "nodeSelector" "tolerations" "affinity" }}
{{- with get $.Values.controller $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* Common fields of their containers. */}}
{{- define "ipu-operator.ownContainer" -}}
image: {{ include "ipu-operator.image" (dict "root" . "image" .Values.controller.image) }}
imagePullPolicy: {{ include "ipu-operator.pullPolicy" .Values.controller.image }}
command: [/usr/bin/ipu-operator]
securityContext:
  {{- include "ipu-operator.securityContext" (dict
    "under" (include "ipu-operator.restrictedContainer" .) "over" .Values.controller.securityContext) | nindent 2 }}
{{- end -}}
