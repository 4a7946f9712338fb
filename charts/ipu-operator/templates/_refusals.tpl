{{- /* What is wrong with the values beyond their schema: one line for each mistake, so that all are told at once. */}}
{{- define "ipu-operator.refusals" -}}
{{- include "ipu-operator.refusedVendorValues" . -}}
{{- include "ipu-operator.refusedImages" . -}}
{{- include "ipu-operator.refusedControllers" . -}}
{{- include "ipu-operator.refusedPodFields" . -}}
{{- include "ipu-operator.refusedNamespaced" . -}}
{{- end -}}

{{- /* A value that the vendor's chart had at that default asks for nothing. */}}
{{- define "ipu-operator.refusedVendorValues" -}}
{{- range $row := .Files.Get "vendor-values.yaml" | fromYamlArray -}}
{{- $given := $.Values -}}
{{- $asked := not (empty $row.refused) -}}
{{- range $key := splitList "." $row.value -}}
{{- $asked = and $asked (kindIs "map" $given) (hasKey $given $key) -}}
{{- if $asked }}{{ $given = get $given $key }}{{ end -}}
{{- end -}}
{{- if and $asked (not (and (hasKey $row "vendor") (eq (toJson $row.vendor) (toJson $given)))) }}
  {{ $row.value }}: {{ $row.refused }}{{ with $row.use }}; use {{ . }}{{ end }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The vendor's images, which cannot do this operator's work. */}}
{{- define "ipu-operator.refusedImages" -}}
{{- $controller := .Values.controller.image -}}
{{- range $row := list
  (list "controller.image.repository" $controller.repository "controller.image.tag" $controller.tag)
  (list "global.launcherImage" .Values.global.launcherImage "global.launcherImageTag" .Values.global.launcherImageTag) -}}
{{- if regexMatch "(^|/)ipu-operator-(controller|launcher|vipu-proxy)$" (index $row 1) -}}
{{- if not (hasPrefix "graphcore/" (index $row 1)) }}
  {{ index $row 0 }}: {{ index $row 1 }} is the vendor's image, which cannot do this operator's work; leave it out, or name a copy of this project's
{{- else if index $row 3 }}
  {{ index $row 2 }}: {{ index $row 3 }} is a version of the vendor's image; leave it out
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "ipu-operator.refusedControllers" -}}
{{- if kindIs "string" .Values.global.vipuControllers -}}
{{- range splitList "," .Values.global.vipuControllers -}}
{{- with trim . -}}
{{- if not (regexMatch "^(\\[[^\\]\\s]+\\]|[^:\\[\\]\\s]+)(:[0-9]{1,5})?(:[^:=\\s]+=\\S*)?$" .) }}
  global.vipuControllers: {{ quote . }} is not host:port:label=value
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The vendor's chart gave controller.securityContext to the pod. */}}
{{- define "ipu-operator.refusedPodFields" -}}
{{- range $field := keys .Values.controller.securityContext | sortAlpha -}}
{{- if has $field (list "fsGroup" "fsGroupChangePolicy" "supplementalGroups" "supplementalGroupsPolicy" "sysctls") }}
  controller.securityContext.{{ $field }}: only pods have it, not containers; use controller.podSecurityContext.{{ $field }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* What is no namespace, and what needs objects without one, beside controller.watchNamespace. */}}
{{- define "ipu-operator.refusedNamespaced" -}}
{{- with .Values.controller.watchNamespace -}}
{{- if regexMatch "[,\\s]" . }}
  controller.watchNamespace: {{ quote . }} are several; an operator runs the jobs of one namespace or of all. Install the chart once for each, in a namespace of its own, with another controller.partitionPrefix where they share a V-IPU controller
{{- else if not (regexMatch "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$" .) }}
  controller.watchNamespace: {{ quote . }} is no name of a namespace
{{- end -}}
{{- end -}}
{{- if .Values.controller.watchNamespace -}}
{{- range $value, $asked := dict "admissionWebhooks.enabled" .Values.admissionWebhooks.enabled
  "flowSchema.enabled" .Values.flowSchema.enabled "priorityClass.create" .Values.priorityClass.create -}}
{{- if $asked }}
  {{ $value }}: with controller.watchNamespace nothing is made outside of namespaces; turn it off
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
