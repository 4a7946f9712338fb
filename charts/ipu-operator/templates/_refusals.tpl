{{- /* What is wrong with the values beyond their schema: one line for each mistake, so that all are told at once. */}}
{{- define "ipu-operator.refusals" -}}
{{- include "ipu-operator.refusedVendorValues" . -}}
{{- include "ipu-operator.refusedImages" . -}}
{{- include "ipu-operator.refusedControllers" . -}}
{{- include "ipu-operator.refusedPodFields" . -}}
{{- include "ipu-operator.refusedPorts" . -}}
{{- include "ipu-operator.refusedNamespaced" . -}}
{{- include "ipu-operator.refusedIdle" . -}}
{{- include "ipu-operator.refusedSecond" . -}}
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

{{- /* Those of the string one by one, and of string and list those that are there twice. */}}
{{- define "ipu-operator.refusedControllers" -}}
{{- $label := "([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?=([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?" -}}
{{- $port := "[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]" -}}
{{- $seen := dict -}}
{{- range include "ipu-operator.vipuControllers" . | fromYamlArray -}}
{{- $name := "" -}}
{{- if kindIs "map" . -}}
{{- $name = printf "%s:%d" .host (.port | default 8090 | int) -}}
{{- else if regexMatch (printf "^(\\[[A-Za-z0-9._:%%-]+\\]|[A-Za-z0-9._%%-]+)(:(%s))?(:(%s))?$" $port $label) . -}}
{{- $host := regexFind "^(\\[[^\\]]+\\]|[^:]+)" . -}}
{{- $name = printf "%s:%d" (trimAll "[]" $host) (regexFind "^:[0-9]+" (trimPrefix $host .) | trimPrefix ":" | default "8090" | int) -}}
{{- else }}
  global.vipuControllers: {{ quote . }} is not host:port:label=value
{{- end -}}
{{- if and $name (hasKey $seen $name) }}
  global.vipuControllers: {{ $name }} is there twice; give each controller once, with a label that all of its nodes have
{{- end -}}
{{- $_ := set $seen $name true -}}
{{- end -}}
{{- end -}}

{{- /* The vendor's chart gave controller.securityContext to the pod. */}}
{{- define "ipu-operator.refusedPodFields" -}}
{{- range $field := keys (.Values.controller.securityContext | default dict) | sortAlpha -}}
{{- if has $field (list "fsGroup" "fsGroupChangePolicy" "supplementalGroups" "supplementalGroupsPolicy" "sysctls") }}
  controller.securityContext.{{ $field }}: only pods have it, not containers; use controller.podSecurityContext.{{ $field }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* Of the operator's own pod. */}}
{{- define "ipu-operator.refusedPorts" -}}
{{- if .Values.admissionWebhooks.enabled -}}
{{- with get (dict "8081" "pages" "8443" "metrics") (toString .Values.admissionWebhooks.port) }}
  admissionWebhooks.port: the operator's pod has its {{ . }} at port {{ $.Values.admissionWebhooks.port }}; take another
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* What is asked for, and goes only with something that is turned off. */}}
{{- define "ipu-operator.refusedIdle" -}}
{{- $metrics := include "ipu-operator.metricsMode" . -}}
{{- if eq $metrics "off" -}}
{{- $why := ternary "with controller.watchNamespace there are no metrics but with metrics.mode=plain" "there are no metrics with metrics.mode=off" (ne .Values.metrics.mode "off") -}}
{{- range $value := list "serviceMonitor" "prometheusRule" "dashboard" -}}
{{- if (get $.Values.metrics $value).enabled }}
  metrics.{{ $value }}.enabled: {{ $why }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.admissionWebhooks.certManager.enabled (not .Values.admissionWebhooks.enabled) }}
  admissionWebhooks.certManager.enabled: without admissionWebhooks.enabled there is no certificate to make
{{- end -}}
{{- if and .Values.uninstall.drain (not .Values.uninstall.check) }}
  uninstall.drain: without uninstall.check nothing is done before the release goes
{{- end -}}
{{- end -}}

{{- /* Two operators for all namespaces would both run all jobs. Each is known by the binding of its cluster role; without a cluster,
as in `helm template`, none is found. */}}
{{- define "ipu-operator.refusedSecond" -}}
{{- if include "ipu-operator.clusterWide" . -}}
{{- range (lookup "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" "").items -}}
{{- $labels := .metadata.labels | default dict -}}
{{- if and (eq (get $labels "app.kubernetes.io/part-of") "ipu-operator")
  (eq (get $labels "app.kubernetes.io/component") "controller-manager") -}}
{{- $release := get $labels "app.kubernetes.io/instance" -}}
{{- $namespace := (first .subjects).namespace -}}
{{- if or (ne $release $.Release.Name) (ne $namespace $.Release.Namespace) }}
  controller.watchNamespace: release {{ $release }} in namespace {{ $namespace }} runs the jobs of all namespaces already, and two would both run each job; uninstall that one first, or give each a namespace of its own
{{- end -}}
{{- end -}}
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
